// Candidates of a trace, as comma-separated values: one line per
// (specialisation, configuration). So the lines of measurements name a
// candidate by its number instead of repeating a dozen values (docs/traces.md).
//
//   candidate,BLOCK_M,BLOCK_N,capacity,blocks_per_sm,excluded
//   0,64,64,264,2,
//   1,64,128,0,0,does not compile: ...
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_TRACE_CANDIDATES_H_
#define WAVETUNE_FORMATS_TRACE_CANDIDATES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/device.h"
#include "model/kernel/sample.h"

namespace wavetune {

struct KernelSpec;

struct TraceCandidate {
  std::string specialisation;  // Empty where the kernel has none.
  Candidate candidate;         // May be excluded.

  friend bool operator==(const TraceCandidate&,
                         const TraceCandidate&) = default;
};

// Returns the candidates by number. The first line names the columns:
// `candidate` (0, 1, 2, ... in order), `specialisation` where the kernel has
// any, the parameters (case ignored). Optional are `capacity` (tiles in flight;
// without it multiprocessors * blocks_per_sm), `blocks_per_sm`,
// `registers_per_thread`, `shared_memory_bytes`, `excluded` (why it may not be
// used; empty: it may). Other columns are ignored.
//
// Errors: INVALID_ARGUMENT with the line number and column: as ParseTrace
// (formats/trace.h); a number out of order, an unknown specialisation, a
// candidate named twice.
absl::StatusOr<std::vector<TraceCandidate>> ParseTraceCandidates(
    const KernelSpec& spec, const DeviceFacts& device, absl::string_view text);

// Returns the text that ParseTraceCandidates reads. Of a reason the first 200
// characters are kept, in one line, without commas. Cannot fail.
std::string FormatTraceCandidates(
    const KernelSpec& spec, const std::vector<TraceCandidate>& candidates);

// Returns the usable candidates by specialisation, in the order of
// spec.SpecialisationNames(), as ProfileInput wants them. Cannot fail.
std::vector<std::vector<Candidate>> UsableBySpecialisation(
    const KernelSpec& spec, const std::vector<TraceCandidate>& candidates);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_TRACE_CANDIDATES_H_
