// Robust non-negative least squares on relative error, for the coefficients of
// a wave model.
//
//   std::vector<Equation> equations = ...;        // One per observation.
//   TermVector theta = FitRelative(equations);    // latency ~ terms . theta
//
// Why non-negative: every term is work that takes time. Without the constraint
// coefficients of opposite sign cancel at the anchors and nowhere else
// (docs/decisions/0001).
//
// Binary64 + - * / sqrt in one fixed order: the same bits everywhere. The order
// of the equations is part of the input; callers sort them.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_ROBUST_FIT_H_
#define WAVETUNE_FIT_MODELS_ROBUST_FIT_H_

#include <array>
#include <cstddef>

#include "absl/types/span.h"

namespace wavetune {

// As many as any model has; those that are zero in every equation stay zero.
inline constexpr size_t kTerms = 13;
using TermVector = std::array<double, kTerms>;
using TermMatrix = std::array<TermVector, kTerms>;

// One observation: latency_us ~ terms . theta.
struct Equation {
  TermVector terms{};
  double latency_us = 1;  // > 0.
  double weight = 1;      // > 0.
};

// Returns the theta >= 0 that minimises the robust relative error: nine
// weighted solves, which approach the least sum of |ratio - 1| / sqrt(ratio).
// There ratio is predicted / measured, so that half and double cost 0.71 alike.
// Relative to the measured value they would cost 0.5 and 1, and a few samples
// that disagree would pull the fit down (docs/decisions/0001). A small ridge on
// the normalised equations decides where columns coincide or equations are
// fewer than terms.
//
// Shapes: any number of equations; without any theta is zero. Cannot fail.
// Cost: O(equations).
// Source: arXiv 2604.10187, section 4.3 (weighted least squares). Deviations:
// relative error, reweighting, non-negativity.
TermVector FitRelative(absl::Span<const Equation> equations);

// Returns the theta >= 0 that minimises the sum of weight[i] times the squared
// relative error of equation i, as above but once; the equations' own weights
// are not read. Shapes: as many weights as equations, each > 0. Cannot fail.
TermVector SolveRelative(absl::Span<const Equation> equations,
                         absl::Span<const double> weight);

// Returns |ratio - 1| / sqrt(ratio), which takes half and double for equally
// wrong. Shapes: ratio > 0. Cannot fail.
double ErrorOfRatio(double ratio);

// What the robust error makes of one equation.
struct RobustError {
  double error = 0;   // ErrorOfRatio(predicted / measured), at least of 0.1.
  double weight = 0;  // For the next solve.
};

// Returns the error of predicting `predicted_us` for `equation`. Cannot fail.
RobustError RobustErrorOf(const Equation& equation, double predicted_us);

// Returns the x >= 0 that minimises x'Ax / 2 - b'x. `a` must be symmetric and
// positive definite. At most 3 * kTerms outer steps. Cannot fail.
// Source: Lawson and Hanson, Solving Least Squares Problems, chapter 23.
TermVector SolveNonNegative(const TermMatrix& a, const TermVector& b);

// Returns the sum of products, first term first.
double Dot(const TermVector& x, const TermVector& y);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_ROBUST_FIT_H_
