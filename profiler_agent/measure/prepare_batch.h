// Compiles and checks many candidates on several workers of one device at once.
//
// Why several: a compile takes a third of a second of one core (PoCL) up to
// seconds (NVRTC), and a space has a hundred candidates. The workers share the
// cache of compiled programs, so the one that measures later finds what the
// others compiled.
//
// Thread safety: one call per device at a time.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_PREPARE_BATCH_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_PREPARE_BATCH_H_

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/kernel/sample.h"
#include "profiler_agent/measure/backend.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

// How many workers of a device prepare at once, from batch to batch. It halves
// each time that something ran out beside others, and grows by one after a
// batch in which nothing did.
class PrepareWidth {
 public:
  explicit PrepareWidth(size_t most) : most_(most), now_(most) {}

  size_t now() const { return now_; }
  void Halve() { now_ = now_ > 1 ? now_ / 2 : 1; }
  void Grow() { now_ = now_ < most_ ? now_ + 1 : most_; }

 private:
  size_t most_;
  size_t now_;
};

struct PrepareBatch {
  LoadedKernel kernel;
  std::vector<Configuration> configurations;
  // Where every candidate for which they are legal is checked, as the manifest
  // declares them.
  std::vector<Problem> correctness_problems;
  // Checks each candidate at the edges of its own tiles, too
  // (model/kernel/correctness_problems.h). Not where nothing is launched.
  bool check_edges = true;
};

// Called once per configuration, in any order, from one thread at a time. A
// failure is a Candidate with an excluded_reason.
using CandidateCallback =
    std::function<void(size_t index, const Candidate& candidate)>;

// Called in place of CandidateCallback, in the same way, for a configuration of
// which nothing is known: something of the environment ran out, also when it
// was tried alone. `reason` says what, and what to do.
using EnvironmentCallback =
    std::function<void(size_t index, const std::string& reason)>;

struct PrepareOptions {
  // Empty: such a configuration is a Candidate with an excluded_reason, too.
  EnvironmentCallback on_environment;
  PrepareWidth* width = nullptr;  // nullptr: all devices, at first.
  // Called before something is tried alone: frees what it might want.
  std::function<void()> make_room = [] {};
};

// So many devices are warmed up at a time: processes that open one driver wait
// for each other, and the first are to begin early.
inline constexpr int kMostStarting = 4;

// Prepares every configuration on `devices` (>= 1), one thread each; blocks
// until all are reported. Devices begin one after the other, kMostStarting at a
// time, and those do not for which nothing is left by then.
//
// A configuration that ran out of something, crashed or failed by an internal
// error is tried again at the end, alone. It runs in a fresh process, after
// those of the other devices ended. If it fails once more it is excluded,
// unless something ran out again: that is the environment's fault. After three
// of these in a row the rest is not tried. From the first such failure on fewer
// devices are used at once. A configuration with which a device was lost is
// tried again after the others, and excluded when that happens once more while
// the device otherwise works.
//
// Errors: CANCELLED; UNAVAILABLE when every device was lost; INVALID_ARGUMENT
// when the kernel cannot be loaded; UNIMPLEMENTED when its reference is missing
// or broken. Reported configurations stay valid.
absl::Status RunPrepareBatch(absl::Span<Device* const> devices,
                             const PrepareBatch& batch,
                             const CandidateCallback& on_candidate,
                             const std::stop_token& cancel,
                             const PrepareOptions& options = {});

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_PREPARE_BATCH_H_
