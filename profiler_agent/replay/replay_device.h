// ReplayDevice: one recorded device; see replay_backend.h.
#ifndef WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_DEVICE_H_
#define WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_DEVICE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/trace_folder.h"
#include "profiler_agent/measure/backend.h"

namespace wavetune {

class ReplayDevice : public Device {
 public:
  struct Options {
    std::vector<std::string> folders = {};
    bool judged = false;
    double pace = 0;  // As in ReplayBackend::Options.
    // Blocks for so many microseconds.
    std::function<void(double)> sleep_us = SleepUs;
  };

  ReplayDevice(DeviceFacts facts, Options options);

  const DeviceFacts& facts() const override { return facts_; }

  // Reads the trace of the kernel of that name, once for all specialisations.
  // Errors: INVALID_ARGUMENT when there is none, or when it is of another
  // kernel than this (CheckSameKernel); as LoadTraceFolder.
  absl::Status Load(LoadedKernel kernel) override;

  // Returns the recorded candidate; there is nothing to check. Errors:
  // NOT_FOUND when the configuration was not recorded, or was excluded then.
  absl::StatusOr<Candidate> Prepare(
      const Configuration& configuration,
      const std::vector<Problem>& correctness_problems) override;

  // Every launch takes the recorded latency; a sample that was suspect then is
  // reported as throttled. Errors: NOT_FOUND when the pair was not recorded.
  // Cost: none, or the recorded time at the options' pace.
  absl::StatusOr<LaunchTimes> Measure(const Configuration& configuration,
                                      const Problem& problem, int warmup,
                                      int launches) override;

 private:
  struct Recorded {
    double latency_us = 0;
    bool suspect = false;
  };

  static void SleepUs(double us);
  absl::StatusOr<std::string> FolderOf(const std::string& kernel) const;
  absl::Status ReadTrace(const KernelSpec& spec);
  void Take(const std::vector<Sample>& samples);
  absl::Status NotRecorded(const Configuration& configuration,
                           const Problem& problem) const;

  const DeviceFacts facts_;
  const Options options_;
  std::optional<LoadedKernel> kernel_;
  // By specialisation and configuration.
  std::map<std::pair<std::string, Configuration>, Candidate> candidates_;
  std::map<Configuration, std::map<Problem, Recorded>> latencies_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_DEVICE_H_
