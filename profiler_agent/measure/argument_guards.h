// Poison around an argument of a checked launch: a write outside of the
// argument changes it, and a read there makes the result NaN.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_ARGUMENT_GUARDS_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_ARGUMENT_GUARDS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Bytes of poison before and behind an argument; whole elements.
struct Guards {
  size_t front = 0;
  size_t behind = 0;
};

// Guards of usual memory: longer than a row of a tile, and a multiple of every
// alignment that kernels ask for.
inline constexpr Guards kUsualGuards = {.front = 64 << 10, .behind = 64 << 10};

// Returns `content` with poison around it.
std::string Guarded(ElementType type, const Guards& guards,
                    absl::string_view content);

// Returns the argument without its guards; points into `whole`.
absl::string_view WithoutGuards(const Guards& guards, absl::string_view whole);

// Compares the guards of an argument after a launch with what they were.
// Errors: DATA_LOSS naming the argument, how many elements were written and how
// far outside the nearest one lies.
absl::Status CheckGuards(const KernelSpec& spec, const Argument& argument,
                         const Problem& problem, const Guards& guards,
                         absl::string_view initial, absl::string_view whole);

// Compares an input after a launch with what it was, and its guards. Errors: as
// CheckGuards; DATA_LOSS saying where it was written.
absl::Status CheckInputUnchanged(const KernelSpec& spec,
                                 const Argument& argument,
                                 const Problem& problem, const Guards& guards,
                                 absl::string_view initial,
                                 absl::string_view whole);

// Compares a workspace that is zeroed once, after a launch, with `initial`:
// zeros. Errors: DATA_LOSS saying where it is not, and what to do.
absl::Status CheckLeftZero(const KernelSpec& spec, const Argument& argument,
                           const Problem& problem, const Guards& guards,
                           absl::string_view initial, absl::string_view whole);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_ARGUMENT_GUARDS_H_
