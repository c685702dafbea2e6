// Moving a problem's extents so that predicates hold, within intervals that
// keep its grid.
#ifndef WAVETUNE_MODEL_KERNEL_LEGAL_EXTENTS_H_
#define WAVETUNE_MODEL_KERNEL_LEGAL_EXTENTS_H_

#include <cstdint>
#include <vector>

#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Where one extent may move. `element` is the index into Problem::repeated, or
// -1 for a plain dimension.
struct ExtentRange {
  int32_t dimension = 0;
  int32_t element = -1;
  int64_t low = 1;
  int64_t high = 1;
  bool prefer_down = false;  // Multiples are rounded down, or else up.
};

// Moves extents of `problem`, those first in `ranges` first, until every
// predicate of the spec holds. Multiples are rounded up or else down (unless
// prefer_down), comparisons met at the nearest extent. Returns whether all
// hold; where not, `problem` is left with some extents moved. Deterministic.
bool MakeLegal(const KernelSpec& spec, const Configuration& configuration,
               const std::vector<ExtentRange>& ranges, Problem& problem);

// Returns the index of the kernel's repeated dimension, or -1.
int RepeatedDimensionOf(const KernelSpec& spec);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_LEGAL_EXTENTS_H_
