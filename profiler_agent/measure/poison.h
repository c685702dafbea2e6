// Poison: what outputs hold before a checked launch. An element that still
// depends on it afterwards was not written.
//
// Every backend poisons outputs and the bytes around arguments alike, so that
// "written" means the same everywhere.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_POISON_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_POISON_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"

namespace wavetune {

// Returns `elements` elements that no kernel computes: NaN, or the least
// integer. An output that is not written, or written in part, fails the
// comparison.
std::string PoisonValues(ElementType type, size_t elements);

// Returns `elements` elements of another poison, of an integer type. Integers
// have no value that cannot be computed, but a computed value is the same
// whatever its place held before.
std::string OtherPoison(ElementType type, size_t elements);

// Returns the index of the first integer that depends on its old value, or -1
// if none does. An integer depends on it if a byte was not written, or if
// something was added to it or a half of it. `after_poison` was computed on
// PoisonValues, `after_other` on OtherPoison. Equal sizes.
int64_t FirstThatFollowsPoison(ElementType type, absl::string_view after_poison,
                               absl::string_view after_other);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_POISON_H_
