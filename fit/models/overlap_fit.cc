#include "fit/models/overlap_fit.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "fit/models/robust_fit.h"

namespace wavetune {
namespace {

constexpr int kRounds = 9;  // 13 gained nothing (docs/decisions/0002).

// Terms; those of the memory classes follow one another.
enum Term : size_t {
  kDelta,
  kDeltaW,
  kGamma,
  kGammaW,
  kBeta,
  kAlpha,
  kAlphaRow,
  kEnd
};
constexpr size_t kOfMemory = kEnd - kBeta;
static_assert(kBeta + kOfMemory * kMemoryClasses == kTerms);

WaveCoefficients CoefficientsOf(const TermVector& theta, size_t memory_class) {
  return {.delta = theta[kDelta],
          .delta_w = theta[kDeltaW],
          .gamma = theta[kGamma],
          .gamma_w = theta[kGammaW],
          .beta = theta[kBeta + kOfMemory * memory_class],
          .alpha = theta[kAlpha + kOfMemory * memory_class],
          .alpha_row = theta[kAlphaRow + kOfMemory * memory_class]};
}

// How much of each part F(x) takes.
struct Shares {
  double tile = 0;
  double steps = 0;
  double memory = 0;
};

constexpr Shares kTile = {1, 0, 0};
constexpr Shares kShareSteps = {0, 1, 0};
constexpr Shares kMemory = {0, 0, 1};
constexpr Shares kTileAndMemory = {kOverlapLonger, 0, kOverlapShorter};
constexpr Shares kStepsAndMemory = {0, kOverlapLonger, kOverlapShorter};

// What decides F(x) at these coefficients.
Shares SharesAt(const WaveCoefficients& c, const StepTiles& x,
                const LoopLengths& loop) {
  const OverlapParts parts = OverlapPartsOf(c, x, loop);
  const double value = OverlapUs(parts);
  const bool computes = parts.compute > parts.memory;
  const bool both = value > parts.compute && value > parts.memory;
  const double longer = both ? kOverlapLonger : 1;
  const double shorter = both ? kOverlapShorter : 0;
  const double compute = computes ? longer : shorter;
  const double memory = computes ? shorter : longer;
  const bool tile = parts.tile >= parts.steps;
  return {tile ? compute : 0, tile ? 0 : compute, memory};
}

void AddTerms(const OverlapEquation& equation, const Shares& shares,
              const StepTiles& x, double count, TermVector& terms) {
  const size_t memory = kOfMemory * equation.memory_class;
  const double loads = count * shares.memory * x.tiles * equation.loop.mean;
  terms[kGamma] += count * shares.tile * equation.loop.longest;
  terms[kGammaW] += count * shares.steps * x.steps * equation.loop.longest;
  terms[kBeta + memory] += count * shares.memory * x.tiles;
  terms[kAlpha + memory] += loads;
  terms[kAlphaRow + memory] += loads * equation.loop.row_share;
}

TermVector TermsOf(const OverlapEquation& equation, const Shares& wave,
                   const Shares& last) {
  TermVector terms{1, equation.waves.full_waves};
  AddTerms(equation, wave, equation.waves.wave, equation.waves.full_waves,
           terms);
  AddTerms(equation, last, equation.waves.last, 1, terms);
  return terms;
}

// The most tiles that ran at once in each memory class.
using MostTiles = std::array<double, kMemoryClasses>;

MostTiles MostTilesOf(absl::Span<const OverlapEquation> equations) {
  MostTiles most{};
  for (const OverlapEquation& equation : equations) {
    const StepTiles& fullest = equation.waves.full_waves > 0
                                   ? equation.waves.wave
                                   : equation.waves.last;
    most[equation.memory_class] =
        std::max(most[equation.memory_class], fullest.tiles);
  }
  return most;
}

// First guesses of what decides. A part that decides nowhere has no terms and
// never comes back, so the guesses differ in what they leave out.
using Guess = TermVector (*)(const OverlapEquation&, const MostTiles&);

// Memory, but where less than half of the most tiles run.
TermVector MemoryBound(const OverlapEquation& equation, const MostTiles& most) {
  const bool few = equation.waves.last.tiles < most[equation.memory_class] / 2;
  return TermsOf(equation, kMemory, few ? kTile : kMemory);
}

TermVector ComputeBound(const OverlapEquation& equation, const MostTiles&) {
  const auto shares = [](const StepTiles& x) {
    return x.steps > 1 ? kShareSteps : kTile;
  };
  return TermsOf(equation, shares(equation.waves.wave),
                 shares(equation.waves.last));
}

// Both everywhere, computing being the longer. Without this guess the memory
// terms of a candidate that is nowhere bound by memory alone ended at zero.
TermVector Balanced(const OverlapEquation& equation, const MostTiles&) {
  const auto shares = [](const StepTiles& x) {
    return x.steps > 1 ? kStepsAndMemory : kTileAndMemory;
  };
  return TermsOf(equation, shares(equation.waves.wave),
                 shares(equation.waves.last));
}

// Of two equally near the later: more rows.
size_t NearestSeen(const std::array<bool, kMemoryClasses>& seen,
                   size_t wanted) {
  for (size_t distance = 0; distance < kMemoryClasses; ++distance) {
    const size_t above = wanted + distance;
    if (above < kMemoryClasses && seen[above]) return above;
    if (distance <= wanted && seen[wanted - distance]) return wanted - distance;
  }
  return wanted;
}

class Fit {
 public:
  explicit Fit(absl::Span<const OverlapEquation> equations)
      : equations_(equations),
        most_(MostTilesOf(equations)),
        linear_(equations.size()),
        weight_(equations.size()) {}

  void From(Guess guess) {
    for (size_t i = 0; i < equations_.size(); ++i) {
      linear_[i] = {.terms = guess(equations_[i], most_),
                    .latency_us = equations_[i].latency_us,
                    .weight = equations_[i].weight};
      weight_[i] = equations_[i].weight;
    }
    for (int round = 0; round < kRounds; ++round) Round();
  }

  const TermVector& best() const { return best_; }

 private:
  void Round() {
    const TermVector theta = SolveRelative(linear_, weight_);
    double error = 0;
    for (size_t i = 0; i < equations_.size(); ++i) {
      const OverlapEquation& equation = equations_[i];
      const WaveCoefficients c = CoefficientsOf(theta, equation.memory_class);
      const double predicted_us =
          OverlapLatencyUs(c, equation.waves, equation.loop);
      const RobustError robust = RobustErrorOf(linear_[i], predicted_us);
      error += equation.weight * robust.error;
      weight_[i] = robust.weight;
      linear_[i].terms =
          TermsOf(equation, SharesAt(c, equation.waves.wave, equation.loop),
                  SharesAt(c, equation.waves.last, equation.loop));
    }
    if (!any_ || error < least_error_) {
      best_ = theta;
      least_error_ = error;
      any_ = true;
    }
  }

  absl::Span<const OverlapEquation> equations_;
  const MostTiles most_;
  std::vector<Equation> linear_;
  std::vector<double> weight_;
  TermVector best_{};
  double least_error_ = 0;
  bool any_ = false;
};

}  // namespace

std::array<WaveCoefficients, kMemoryClasses> FitOverlap(
    absl::Span<const OverlapEquation> equations) {
  Fit fit(equations);
  fit.From(MemoryBound);
  fit.From(ComputeBound);
  fit.From(Balanced);
  std::array<bool, kMemoryClasses> seen{};
  for (const OverlapEquation& equation : equations)
    seen[equation.memory_class] = true;
  std::array<WaveCoefficients, kMemoryClasses> coefficients;
  for (size_t m = 0; m < kMemoryClasses; ++m) {
    coefficients[m] = CoefficientsOf(fit.best(), NearestSeen(seen, m));
  }
  return coefficients;
}

}  // namespace wavetune
