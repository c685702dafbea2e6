// What the inputs of a checked launch hold.
//
// Random data alone does not show every fault: where a part of a sum is wrong,
// the rest hides it. So candidates are also checked on data whose partial sums
// cancel.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_CHECK_INPUTS_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_CHECK_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/kernel/argument.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// e^88.7 is the largest power in fp32, and its half is met often.
inline constexpr double kLargeScale = 128;

enum class CheckData : uint8_t {
  // As InputValues.
  kRandom,
  // The same, but floats without a declared content are kLargeScale times as
  // large. Exponentials, squares and differences of large values overflow, or
  // lose their digits, where a kernel lets them.
  kLarge,
  // Multiples of 1/8 in [-1, 1] without 0. Along the loop's dimension the
  // second half mirrors the first; in the first input that has this dimension
  // it also has the other sign. So each half of a sum of products is large, and
  // both together leave only the middle of the loop. All products and sums of
  // two such inputs are exact in fp32 and tf32, in any order. So a kernel with
  // sums in fp32 has no error, and one that rounds or loses a part of a split
  // sum is off by more than the result.
  kCancelling,
};

// Whether some input holds other values as `data` than as kRandom: floats whose
// manifest says what they hold never do.
bool HasDataOf(const KernelSpec& spec, CheckData data);

// Returns the content of argument number `argument`, which holds values before
// a launch, of `elements` elements. Integers, and floats whose manifest says
// what they hold, are as InputValues. A buffer is taken for row-major in the
// order in which its manifest multiplies dimensions. Where the loop's dimension
// is no such factor of any input, the whole of the first one is mirrored. Equal
// seeds give equal bytes on every machine.
std::string CheckInput(const KernelSpec& spec, size_t argument,
                       const Problem& problem,
                       const Configuration& configuration, size_t elements,
                       CheckData data, uint64_t seed);

// Returns `content` with the sign of every float taken away.
std::string Magnitudes(ElementType type, std::string content);

// Returns `content` with every float moved by up to `share` of itself, at
// random, and by half a step of a bfloat16 at least. Integers stay.
std::string Nudged(ElementType type, std::string content, double share,
                   uint64_t seed);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_CHECK_INPUTS_H_
