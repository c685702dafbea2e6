// Fit of WaveForm::kOverlap (model/kernel/wave_form.h).
//
// A tile's own pace does not depend on the rows of tiles around it; what memory
// delivers does. A single row streams its weights from memory, further rows
// find them in cache, and within both the row share decides. So the row regimes
// of a candidate are fitted together, with memory terms of their own: a
// candidate has too few samples to fit them apart (docs/decisions/0002).
//
// The form is a maximum of sums, not a sum. It is homogeneous: scaling the
// coefficients scales the latency, so at any coefficients the latency is the
// sum of the terms that decide there. Each round solves for these terms
// (Gauss-Newton), which moves the points where another part decides.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_OVERLAP_FIT_H_
#define WAVETUNE_FIT_MODELS_OVERLAP_FIT_H_

#include <array>
#include <cstddef>

#include "absl/types/span.h"
#include "model/table/table.h"
#include "model/table/wave_arithmetic.h"

namespace wavetune {

// One observation.
struct OverlapEquation {
  LaunchWaves waves{0, {1, 1}, {1, 1}};
  LoopLengths loop{1, 1};
  size_t memory_class = 0;  // One of kMemoryClasses.
  double latency_us = 1;    // > 0.
  double weight = 1;        // > 0.
};

// Sets of memory terms that one fit tells apart.
inline constexpr size_t kMemoryClasses = 3;

// Returns the coefficients of each memory class, all >= 0, with the least
// robust relative error (fit/models/robust_fit.h) that was seen from three
// guesses of what decides where. One guess may end in a poor local minimum
// (docs/decisions/0002). Classes differ in beta, alpha and alpha_row only; a
// class without equations takes those of the nearest class that has any.
// Shapes: any number of equations; without any all are zero. Cannot fail.
// Cost: 27 solves.
std::array<WaveCoefficients, kMemoryClasses> FitOverlap(
    absl::Span<const OverlapEquation> equations);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_OVERLAP_FIT_H_
