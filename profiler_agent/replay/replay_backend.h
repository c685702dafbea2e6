// ReplayBackend: answers from recorded traces, for deterministic tests.
//
// A trace is a folder: `manifest.textproto` (the kernel), `device.textproto`
// (DeviceFacts) and one or more `*.csv` or `*.csv.gz` (model/trace.h). Where
// files hold the same (configuration, problem) the first in name order counts.
// Nothing is compiled, run or made up: what was not recorded is an error that
// names the nearest problem that was.
#ifndef WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_BACKEND_H_
#define WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "profiler_agent/backend.h"

namespace wavetune {

class ReplayBackend : public Backend {
 public:
  // Folders of traces; several may be of one device.
  explicit ReplayBackend(std::vector<std::string> folders);

  std::string name() const override { return "replay"; }
  Enumeration Enumerate() override;
  absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& device_uuid, const std::string& cache_dir) override;

 private:
  std::vector<std::string> folders_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_BACKEND_H_
