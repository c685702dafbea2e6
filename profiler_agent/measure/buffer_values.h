// What a kernel's inputs hold before a launch, and how large its buffers are.
//
// Every backend fills inputs alike, and the same on every machine: equal seeds
// give equal bytes. What outputs hold is in poison.h, how they are judged in
// output_comparison.h.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_BUFFER_VALUES_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_BUFFER_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/argument.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// SplitMix64's finaliser (Steele, Lea, Flood: Fast splittable pseudorandom
// number generators, OOPSLA 2014): a hash, the same everywhere.
constexpr uint64_t SplitMixHash(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Returns the bytes of `make(i)` for i from 0 to `elements` - 1.
template <typename T, typename Make>
std::string GenerateValues(size_t elements, Make make) {
  std::string bytes(elements * sizeof(T), '\0');
  for (size_t i = 0; i < elements; ++i) {
    const T value = make(i);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

// Returns `elements` random elements of an argument: floats as it declares
// them, else uniform in [-1, 1) times `scale`; integers of any bits. Equal
// seeds give equal bytes on every machine. Cost: about 1 ns an element, 5 ns
// where they are normal.
std::string RandomValues(const Argument& argument, size_t elements,
                         uint64_t seed, double scale = 1);

// Whether `scale` changes what RandomValues returns.
bool IsScaled(const Argument& argument);

// Returns the largest magnitude that RandomValues, or values below `below`,
// have; at least 1.
double MostMagnitude(const Argument& argument, std::optional<int64_t> below);

// Returns `elements` integers from 0 to `below` - 1: each once in random order,
// then again in the same order. So as many in a row as there are values, from
// wherever on, are all different: slots that are written by one block each.
// `below` >= 1; of INT32 at most 2^31 count. Cost: about 20 ns an element.
std::string IndexValues(ElementType type, size_t elements, int64_t below,
                        uint64_t seed);

// Returns the argument's exclusive bound of its values at a problem, >= 1;
// nothing where it declares none.
std::optional<int64_t> BelowOf(const Argument& argument, const Problem& problem,
                               const Configuration& configuration);

// Returns the argument's rows of a block at a configuration, >= 1; nothing
// where it describes no blocks.
std::optional<int64_t> BlockOf(const Argument& argument,
                               const Configuration& configuration);

// Whether the argument's content is the problem's, to be written for each one:
// the repeated dimension's elements, or blocks of them.
bool FollowsElements(const KernelSpec& spec, const Argument& argument);

// Returns values with which to fill a memory of `bytes` over and over. They are
// as many, or a prime number of elements below 2^22, so that no two rows of a
// matrix are equal. `below` is the argument's BelowOf.
std::string ValuePattern(const Argument& argument, std::optional<int64_t> below,
                         size_t bytes, uint64_t seed);

// Returns the content of an argument that holds values before a launch: random
// ones, within its bound where it declares one. An integer input that is named
// as the kernel's repeated dimension holds that dimension's elements (tokens
// per expert), as the kernel cannot know them otherwise. One that describes
// blocks of them holds the values that kernel.proto names. `scale` is
// RandomValues'.
std::string InputValues(const KernelSpec& spec, const Argument& argument,
                        const Problem& problem,
                        const Configuration& configuration, size_t elements,
                        uint64_t seed, double scale = 1);

// Returns the bytes of a buffer argument at a problem. Errors:
// RESOURCE_EXHAUSTED when they exceed what one launch may use (the evaluation
// saturated).
absl::StatusOr<size_t> BufferBytes(const Argument& argument,
                                   const Problem& problem,
                                   const Configuration& configuration);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_BUFFER_VALUES_H_
