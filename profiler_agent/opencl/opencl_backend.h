// OpenClBackend: CPUs through PoCL, and whatever else has an OpenCL driver.
//
// Limits: one-dimensional launches; capacity assumes one resident group per
// compute unit; throttling is not reported by OpenCL.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_BACKEND_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_BACKEND_H_

#include <memory>
#include <optional>
#include <string>

#include "base/host_resources.h"
#include "profiler_agent/measure/backend.h"
#include "profiler_agent/worker/program_folder.h"

namespace wavetune {

// Tells PoCL by the environment how many threads it may start and whether they
// stay on their cores, but for what the environment says already. `host_cpus`
// are all the machine's. PoCL reads it at the first OpenCL call. Call before
// another thread starts.
void SetPoclThreads(const HostResources& host, int host_cpus);

class OpenClBackend : public Backend {
 public:
  // `cache_dir` is where PoCL keeps its own cache (POCL_CACHE_DIR, unless the
  // environment sets it already), where it can be written to
  // (program_folder.h); empty: PoCL's default. Construct before
  // another thread starts. `skip_nvidia`: leaves NVIDIA's GPUs to the CUDA
  // backend, which measures them better. `guard_pages`: as OpenClDevice::Open.
  explicit OpenClBackend(const std::string& cache_dir = "",
                         bool skip_nvidia = false, bool guard_pages = false);

  std::string name() const override { return "opencl"; }
  Enumeration Enumerate() override;
  absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& device_uuid, const std::string& cache_dir) override;
  // Whether PoCL can still write what it compiles.
  absl::Status CheckHost() override;

 private:
  bool skip_nvidia_;
  bool guard_pages_;
  std::optional<ProgramFolder> programs_;  // PoCL's own.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_BACKEND_H_
