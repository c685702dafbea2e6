// Latency over G at fixed L: the fitted steps of a row, and the samples
// there.
//
// Thread safety: pure function.
#ifndef WAVETUNE_CLI_REPORT_STEP_CURVES_H_
#define WAVETUNE_CLI_REPORT_STEP_CURVES_H_

#include <cstdint>
#include <vector>

#include "cli/report/placed_samples.h"
#include "model/table/table.h"

namespace wavetune::cli {

// An end of a step.
struct FittedPoint {
  int64_t tiles = 1;  // G
  double latency_us = 0;
  double relative_bound = 0;
  bool extrapolated = false;
};

// One row of the coefficient table at one L.
struct StepCurve {
  int group = 0;
  int row_regime = 0;
  int64_t tiles_per_wave = 1;
  double iterations = 1;     // L
  int64_t longest_loop = 1;  // Lx
  // Both ends of every step, ascending; beyond kStepsDrawn steps only some.
  std::vector<FittedPoint> fit;
  std::vector<const PlacedSample*> measured;  // At this L.
};

// Steps of a curve that are all drawn; farther out they are thinner than a
// pixel, and a page of them is large.
inline constexpr int kStepsDrawn = 64;

// Returns up to four curves for each (group, row regime): at the L with the
// most distinct G among the samples. Samples within 2 % of an L count as at it
// (mean loops of causal attention are hardly ever equal). Where no row has any
// sample: at some loop anchors, over eight waves. Cannot fail.
std::vector<StepCurve> StepCurves(const SubTable& sub, const SampleGrid& grid);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_STEP_CURVES_H_
