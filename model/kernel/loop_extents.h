// LoopExtents: the extents of a loop's dimension that come near a wanted number
// of iterations, with all other extents of a problem as they are.
//
// Thread safety: immutable.
#ifndef WAVETUNE_MODEL_KERNEL_LOOP_EXTENTS_H_
#define WAVETUNE_MODEL_KERNEL_LOOP_EXTENTS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "model/kernel/mapping_structure.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;
struct Mapping;

class LoopExtents {
 public:
  // All are borrowed. Nothing may be asked of a structure without a loop's
  // dimension.
  LoopExtents(const KernelSpec& spec, const MappingStructure& structure,
              const Mapping& mapping, const Configuration& configuration)
      : spec_(spec),
        structure_(structure),
        mapping_(mapping),
        configuration_(configuration) {}

  // Returns the largest extent within the limits, which the smallest is.
  int64_t Highest(Problem problem) const;

  // Returns the dimension's minimum, or where the loop has a floor no higher
  // than `highest` that.
  int64_t Lowest(const Problem& problem, int64_t highest) const;

  // Returns the extents up to `highest` around so many iterations, the nearer
  // first; the last iteration of each is full.
  std::vector<int64_t> Nearest(Problem problem, int64_t highest,
                               double iterations) const;

  // Moves the loop to the end of its last iteration, if the problem stays legal
  // there: after a predicate has moved it.
  void FillLast(Problem& problem, int64_t highest) const;

 private:
  int64_t& ExtentOf(Problem& problem) const;
  // The iterations at an extent. Both change the loop's extent.
  double IterationsAt(Problem& problem, int64_t extent) const;
  // Returns the largest x in [low, high] for which `holds`, which is true at
  // `low` and turns false once at most.
  int64_t Last(Problem& problem, int64_t low, int64_t high,
               absl::FunctionRef<bool(const Problem&)> holds) const;
  // Returns the largest extent with no more iterations than `iterations`: the
  // last of them is full.
  int64_t LastUpTo(Problem& problem, int64_t low, int64_t high,
                   double iterations) const;

  const KernelSpec& spec_;
  const MappingStructure& structure_;
  const Mapping& mapping_;
  const Configuration& configuration_;
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_LOOP_EXTENTS_H_
