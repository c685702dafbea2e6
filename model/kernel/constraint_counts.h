// ConstraintCounts: which constraint excludes how much of a kernel's space. For
// authors: a constraint that excludes nothing, or everything, is a slip.
//
//   // BLOCK_M * VECTORS <= 24 excludes 64 of 256 combinations by itself; 36
//   // configurations are excluded by it alone.
//   const ConstraintCounts counts =
//       CountConstraints(spec, EnumerateSpace(spec));
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_CONSTRAINT_COUNTS_H_
#define WAVETUNE_MODEL_KERNEL_CONSTRAINT_COUNTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wavetune {

struct KernelSpace;
struct KernelSpec;

struct ConstraintCount {
  // Combinations that it excludes, whatever the others do; absent where its own
  // parameters have too many values to try them all.
  std::optional<int64_t> alone;
  // Configurations that only it excludes: so many more the space would have
  // without it. Absent where a space is too large to be counted.
  std::optional<int64_t> only;
};

struct ConstraintCounts {
  // Combinations of the parameters' values, saturated at kExpressionLimit; or
  // the configurations that a manifest lists.
  int64_t combinations = 0;
  std::vector<ConstraintCount> constraints;  // In the order of the spec.
};

// Parameter indices must be valid; `space` is the spec's. Cannot fail. Cost:
// for each constraint the values of its own parameters, multiplied, and one
// EnumerateSpaceWithout.
ConstraintCounts CountConstraints(const KernelSpec& spec,
                                  const KernelSpace& space);

// Returns a remark on each constraint that excludes everything, nothing, or
// nothing that the others do not exclude anyway: "'A <= B' excludes nothing:
// …". `counts` are of `spec`. What excludes nothing is not odd where
// `needed_elsewhere` (by constraint; may be empty) says that another
// specialisation's space needs it. Cannot fail.
std::vector<std::string> ConstraintRemarks(
    const KernelSpec& spec, const ConstraintCounts& counts,
    const std::vector<bool>& needed_elsewhere = {});

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_CONSTRAINT_COUNTS_H_
