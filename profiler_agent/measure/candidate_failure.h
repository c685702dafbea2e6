// Whose fault a failed Prepare or Measure is.
//
// Device's error codes (backend.h) and those a worker's death adds
// (worker/remote_device.h: ABORTED for a crash, DEADLINE_EXCEEDED for a hang)
// become decisions here, once.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_CANDIDATE_FAILURE_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_CANDIDATE_FAILURE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace wavetune {

// Returns whether the device itself is gone, so that the rest of a batch cannot
// be done on it.
bool IsDeviceLost(const absl::Status& status);

// Returns whether no candidate of the kernel can be checked, so that the batch
// ends and nobody is excluded.
bool IsReferenceBroken(const absl::Status& status);

// Returns whether the same request may well succeed alone. So it may if
// something ran out beside other workers, the worker crashed (perhaps for want
// of memory), or the error says nothing about the candidate.
bool MayPass(const absl::Status& status);

// Marks an error that came before the candidate was tried: no worker could be
// started for it.
absl::Status NotTried(absl::Status status);
bool WasTried(const absl::Status& status);

// Returns whether the candidate must not be used again: it does not compile,
// computes wrong results, crashed or hung. False for failures of this problem
// or this moment alone (out of memory, cannot be launched, not recorded).
bool ExcludesCandidate(const absl::Status& status);

// Most bytes of a compiler's or driver's message in a reason: a few screens.
inline constexpr size_t kMaxFailureBytes = size_t{16} << 10;

// Returns the reason for people: "does not compile: ...". Where something ran
// out it says what to do. UTF-8 of bounded length (base/printable_text.h).
// `status` is not OK.
std::string FailureReason(const absl::Status& status);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_CANDIDATE_FAILURE_H_
