// ReplayBackend: answers from recorded traces, for deterministic tests.
//
// A trace is a folder (formats/trace_folder.h, docs/traces.md). Anchors and
// representative problems are answered; judged ones, so that nothing is ever
// fitted to them by mistake, only when asked for. Where two files hold the same
// (configuration, problem) the first of them counts. Nothing is compiled, run
// or made up: a pair that was not recorded is an error that names the nearest
// problem that was.
//
// It can pretend several devices like the recorded one, and take time: with
// both a node of eight devices is rehearsed on any machine. What it then shows
// is how work is spread and waited for, not how well anything is measured.
#ifndef WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_BACKEND_H_
#define WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

class ReplayBackend : public Backend {
 public:
  struct Options {
    std::vector<std::string> folders = {};  // Several may be of one device.
    bool judged = false;  // Answer at the problems that quality is judged on.
    // How many to pretend of each recorded device, >= 1. The first has the
    // recorded UUID, the others end in "-b2", "-b3", ...; all answer alike.
    int devices = 1;
    // A burst takes so many times the time that was recorded; 0: no time.
    double pace = 0;
  };

  explicit ReplayBackend(Options options);

  std::string name() const override { return "replay"; }
  Enumeration Enumerate() override;
  absl::StatusOr<std::unique_ptr<Device>> Open(
      const std::string& device_uuid, const std::string& cache_dir) override;

  // "GPU-1-b3" for copy 3 of GPU-1; copy 1 is the device itself.
  static std::string CopyUuid(const std::string& device_uuid, int copy);

 private:
  // Facts of all copies of the device in a folder.
  absl::StatusOr<std::vector<DeviceFacts>> DevicesOf(
      const std::string& folder) const;

  const Options options_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_REPLAY_REPLAY_BACKEND_H_
