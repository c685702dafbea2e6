// ResidualClasses: how much of what a fit misses goes with one coordinate.
//
// Launches are cut into up to eight classes of equal size along the coordinate.
// Each class is corrected by the median of measured / predicted, and the gain
// is by how much that brings the launches of *other* problems closer. So noise
// gains nothing, and no shape of the relation is assumed: a slope, a step and a
// hump are all seen.
//
//   ResidualClasses classes = ClassifyResiduals(points, values);
//   if (classes.IsSure() && classes.gain >= 0.02) ...  // 2 % of a latency.
//
// Binary64 + - * / sqrt in one fixed order: the same result everywhere.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_BUILD_RESIDUAL_CLASSES_H_
#define WAVETUNE_FIT_BUILD_RESIDUAL_CLASSES_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace wavetune {

// One measured launch against its prediction.
struct ResidualPoint {
  double ratio = 1;    // Measured / predicted, finite and > 0.
  double weight = 1;   // > 0.
  size_t problem = 0;  // Launches of one problem stay together: what they have
                       // in common is no evidence for a coordinate.
};

// Launches with alike values of the coordinate.
struct ResidualClass {
  double value = 0;  // Median.
  double ratio = 1;  // Median of measured / predicted, over that of all.
};

struct ResidualClasses {
  // Ascending by value, none empty; fewer than eight where values are alike.
  std::vector<ResidualClass> classes;
  std::vector<size_t> class_of;  // Of each point, an index into `classes`.
  double error = 0;  // Mean error of the predictions: |ratio - 1| / sqrt(ratio)
                     // (fit/models/robust_fit.h).
  double gain = 0;   // What is gone of it once the classes are known.
  double standard_error = 0;  // Of the gain, over problems.

  // Whether the gain is none by chance: one-sided, at 95 %.
  bool IsSure() const { return gain > 0 && gain >= 1.645 * standard_error; }
};

// Returns the classes of `points` along `values`. Without a gain and without
// classes where there are too few problems to tell. Shapes: as many values as
// points, all finite. Cannot fail. Cost: O(n log n).
ResidualClasses ClassifyResiduals(absl::Span<const ResidualPoint> points,
                                  absl::Span<const double> values);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_RESIDUAL_CLASSES_H_
