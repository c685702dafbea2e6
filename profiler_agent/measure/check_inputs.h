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

enum class CheckData : uint8_t {
  // Floats uniform in [-1, 1), as InputValues.
  kRandom,
  // Multiples of 1/8 in [-1, 1] without 0. Along the loop's dimension the
  // second half mirrors the first; in the first input that has this dimension
  // it also has the other sign. So each half of a sum of products is large, and
  // both together leave only the middle of the loop. All products and sums of
  // two such inputs are exact in fp32 and tf32, in any order: a kernel with
  // sums in fp32 has no error, and one that rounds or loses a part of a split
  // sum is off by more than the result.
  kCancelling,
};

// Returns the content of argument number `argument`, which holds values before
// a launch, of `elements` elements. Integers are as InputValues. A buffer is
// taken for row-major in the order in which its manifest multiplies dimensions;
// where the loop's dimension is no such factor of any input, the whole of the
// first one is mirrored. Equal seeds give equal bytes on every machine.
std::string CheckInput(const KernelSpec& spec, size_t argument,
                       const Problem& problem,
                       const Configuration& configuration, size_t elements,
                       CheckData data, uint64_t seed);

// Returns `content` with the sign of every float taken away.
std::string Magnitudes(ElementType type, std::string content);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_CHECK_INPUTS_H_
