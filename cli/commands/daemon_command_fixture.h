// DaemonCommandFixture: jobs and a kernel for a fake daemon to answer with. For
// tests.
#ifndef WAVETUNE_CLI_COMMANDS_DAEMON_COMMAND_FIXTURE_H_
#define WAVETUNE_CLI_COMMANDS_DAEMON_COMMAND_FIXTURE_H_

#include <cstdint>

#include "cli/command_line_fixture.h"
#include "formats/kernel_folder.h"
#include "tests/lib/source_paths.h"

namespace wavetune::cli {

class DaemonCommandFixture : public CommandLineFixture {
 protected:
  static v1::JobInfo Job(uint64_t id, v1::JobState state) {
    v1::JobInfo job;
    job.set_id(id);
    job.set_kind("reprofile");
    job.set_kernel("gemm_f32");
    job.set_device_uuid("GPU-1");
    job.set_state(state);
    job.set_phase(v1::SAMPLING);
    job.set_done(3);
    job.set_total(10);
    job.set_message("because");
    if (state == v1::SUCCEEDED) job.set_digest(std::string(64, 'e'));
    return job;
  }

  // The kernel that comes with the project, as the daemon would list it.
  void AddGemm() {
    const KernelFolder folder =
        LoadKernelFolder(WAVETUNE_SOURCE_DIR "/kernels/gemm_f32").value();
    *daemon_->kernels.add_kernels()->mutable_spec() = folder.proto;
    parameters_ = static_cast<int>(folder.spec.parameters.size());
  }

  v1::MeasuredConfiguration Measured(int64_t value, double latency_us) const {
    v1::MeasuredConfiguration measured;
    for (int i = 0; i < parameters_; ++i)
      measured.mutable_configuration()->add_values(value);
    measured.set_latency_us(latency_us);
    return measured;
  }

  int parameters_ = 0;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_DAEMON_COMMAND_FIXTURE_H_
