// ReplayBackend: answers from recorded traces, for deterministic tests.
//
// A trace is a folder (formats/trace_folder.h, docs/traces.md). Anchors
// and representative problems are answered; judged ones, so that nothing is
// ever fitted to them by mistake, only when asked for. Where two files hold the
// same (configuration, problem) the first of them counts. Nothing is compiled,
// run or made up: what was not recorded is an error that names the nearest
// problem that was.
#ifndef WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_BACKEND_H_
#define WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

class ReplayBackend : public Backend {
 public:
  // Folders of traces; several may be of one device. `judged`: answer at the
  // problems that quality is judged on, too.
  explicit ReplayBackend(std::vector<std::string> folders, bool judged = false);

  std::string name() const override { return "replay"; }
  Enumeration Enumerate() override;
  absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& device_uuid, const std::string& cache_dir) override;

 private:
  const std::vector<std::string> folders_;
  const bool judged_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_BACKEND_H_
