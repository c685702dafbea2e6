// Compiles and checks many candidates on several workers of one device at once.
//
// Why several: a compile takes a third of a second of one core (PoCL) up to
// seconds (NVRTC), and a space has a hundred candidates. The workers share the
// cache of compiled programs, so the one that measures later finds what the
// others compiled.
//
// Thread safety: one call per device at a time.
#ifndef WAVETUNE_PROFILER_AGENT_PREPARE_BATCH_H_
#define WAVETUNE_PROFILER_AGENT_PREPARE_BATCH_H_

#include <cstddef>
#include <functional>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/kernel/configuration.h"
#include "model/kernel/problem.h"
#include "model/samples/sample.h"
#include "profiler_agent/backend.h"

namespace wavetune {

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

// Prepares every configuration on `devices` (>= 1), one thread each; blocks
// until all are reported. What failed for want of memory, by an internal error
// or with the loss of a device is tried again behind the others, and excluded
// when it fails so once more; for a loss only where the device is in order
// otherwise. Errors: CANCELLED; UNAVAILABLE when every device was lost;
// INVALID_ARGUMENT when the kernel cannot be loaded; UNIMPLEMENTED when its
// reference is missing or broken. What was reported stays valid.
absl::Status RunPrepareBatch(absl::Span<Device* const> devices,
                             const PrepareBatch& batch,
                             const CandidateCallback& on_candidate,
                             const std::stop_token& cancel);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_PREPARE_BATCH_H_
