// ReplayDevice: one recorded device; see replay_backend.h.
#ifndef WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_DEVICE_H_
#define WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_DEVICE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler_agent/backend.h"

namespace wavetune {

class ReplayDevice : public Device {
 public:
  ReplayDevice(DeviceFacts facts, std::vector<std::string> folders);

  const DeviceFacts& facts() const override { return facts_; }

  // Reads the trace of the kernel of that name. Errors: INVALID_ARGUMENT when
  // there is none, or when it does not fit the kernel.
  absl::Status Load(LoadedKernel kernel) override;

  // Returns the recorded candidate; there is nothing to check. Errors:
  // NOT_FOUND when the configuration was not recorded.
  absl::StatusOr<Candidate> Prepare(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems) override;

  // Every launch takes the recorded latency. Errors: NOT_FOUND when the pair
  // was not recorded.
  absl::StatusOr<LaunchTimes> Measure(const Configuration& configuration,
                                      const Problem& problem, int warmup,
                                      int launches) override;

 private:
  absl::StatusOr<std::string> FolderOf(const std::string& kernel) const;
  absl::Status ReadTraces(const KernelSpec& spec, const std::string& folder);
  absl::Status NotRecorded(const Configuration& configuration,
                           const Problem& problem) const;

  DeviceFacts facts_;
  std::vector<std::string> folders_;
  std::optional<LoadedKernel> kernel_;
  std::map<Configuration, Candidate> candidates_;
  std::map<Configuration, std::map<Problem, double>> latencies_us_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_DEVICE_H_
