// Fit of WaveForm::kOverlap (model/table.h).
//
// The form is a maximum of sums, not a sum. It is homogeneous: scaling the
// coefficients scales the latency, so at any coefficients the latency is the
// sum of the terms that decide there. Each round solves for these terms
// (Gauss-Newton), which moves the points where another part decides.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_OVERLAP_FIT_H_
#define WAVETUNE_MODEL_OVERLAP_FIT_H_

#include "absl/types/span.h"
#include "model/table.h"
#include "model/wave_form.h"

namespace wavetune {

// One observation.
struct OverlapRow {
  double full_waves = 0;
  StepTiles wave{1, 1};  // A full one.
  StepTiles last{1, 1};
  LoopLengths loop{1, 1};
  double latency_us = 1;  // > 0.
  double weight = 1;      // > 0.
};

// Returns the coefficients >= 0 with the least robust relative error
// (model/robust_fit.h) that was seen from two starts: memory decides wherever
// more than half a wave runs, and compute does. They can end in different local
// minima. Shapes: any number of rows; without rows all are zero. Cannot fail.
// Cost: 18 solves.
WaveCoefficients FitOverlap(absl::Span<const OverlapRow> rows);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_OVERLAP_FIT_H_
