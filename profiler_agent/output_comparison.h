// How a candidate's outputs are judged against the reference's, on every
// backend.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_OUTPUT_COMPARISON_H_
#define WAVETUNE_PROFILER_AGENT_OUTPUT_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/problem.h"

namespace wavetune {

// Poisoned elements behind each output: a tile that is not masked writes into
// them. Elements, not bytes, so that alignment does not matter.
inline constexpr size_t kGuardElements = 2048;

// Returns what a checked launch finds in a buffer of `elements`: random inputs,
// or an output's poison with its guard.
std::string CheckedContent(const KernelSpec& spec, const Argument& argument,
                           const Problem& problem, size_t elements,
                           uint64_t seed);

// Returns the error of a reference that cannot be compiled or run, which is not
// the candidate's fault: UNIMPLEMENTED, or `status` where the device is lost or
// out of memory.
absl::Status BrokenReference(const absl::Status& status);

// Compares an output with the reference's; both end with kGuardElements
// elements that must still be poison. `spec` has a reference. Errors: DATA_LOSS
// naming the output and its error; as BrokenReference where the reference wrote
// past the end.
absl::Status CompareOutputs(const KernelSpec& spec, const Argument& argument,
                            const Problem& problem, absl::string_view out,
                            absl::string_view reference);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OUTPUT_COMPARISON_H_
