#include "model/overlap_fit.h"

#include <cstddef>
#include <vector>

#include "model/robust_fit.h"

namespace wavetune {
namespace {

constexpr int kRounds = 9;  // 13 gained nothing (gemm_bf16 on an H200, 2026-11).

// Terms in the order delta, delta_w, gamma, gamma_w, beta, alpha.
enum Term : size_t { kDelta, kDeltaW, kGamma, kGammaW, kBeta, kAlpha };

WaveCoefficients CoefficientsOf(const TermVector& theta) {
  return {.delta = theta[kDelta],
          .delta_w = theta[kDeltaW],
          .gamma = theta[kGamma],
          .gamma_w = theta[kGammaW],
          .beta = theta[kBeta],
          .alpha = theta[kAlpha]};
}

// How much of each part F(x) takes.
struct Shares {
  double tile = 0;
  double steps = 0;
  double memory = 0;
};

constexpr Shares kTile = {1, 0, 0};
constexpr Shares kSteps = {0, 1, 0};
constexpr Shares kMemory = {0, 0, 1};

// What decides F(x) at these coefficients.
Shares SharesAt(const WaveCoefficients& c, const StepTiles& x,
                const LoopLengths& loop) {
  const OverlapParts parts = OverlapPartsOf(c, x, loop);
  const double value = OverlapUs(parts);
  double compute = 0;
  double memory = 0;
  if (value > parts.compute && value > parts.memory) {
    compute = memory = kOverlapShare;
  } else if (parts.compute >= parts.memory) {
    compute = 1;
  } else {
    memory = 1;
  }
  const bool tile = parts.tile >= parts.steps;
  return {tile ? compute : 0, tile ? 0 : compute, memory};
}

void AddTerms(const Shares& shares, const StepTiles& x, const LoopLengths& loop,
              double count, TermVector& terms) {
  terms[kGamma] += count * shares.tile * loop.longest;
  terms[kGammaW] += count * shares.steps * x.steps * loop.longest;
  terms[kBeta] += count * shares.memory * x.tiles;
  terms[kAlpha] += count * shares.memory * x.tiles * loop.mean;
}

TermVector TermsOf(const OverlapRow& row, const Shares& wave,
                   const Shares& last) {
  TermVector terms{1, row.full_waves, 0, 0, 0, 0};
  AddTerms(wave, row.wave, row.loop, row.full_waves, terms);
  AddTerms(last, row.last, row.loop, 1, terms);
  return terms;
}

// First guesses of what decides.
TermVector MemoryBound(const OverlapRow& row) {
  const bool few = row.last.tiles < row.wave.tiles / 2;
  return TermsOf(row, kMemory, few ? kTile : kMemory);
}

TermVector ComputeBound(const OverlapRow& row) {
  const auto shares = [](const StepTiles& x) {
    return x.steps > 1 ? kSteps : kTile;
  };
  return TermsOf(row, shares(row.wave), shares(row.last));
}

class Fit {
 public:
  explicit Fit(absl::Span<const OverlapRow> rows)
      : rows_(rows), linear_(rows.size()), weight_(rows.size()) {}

  void From(TermVector (*start)(const OverlapRow&)) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      linear_[i] = {.terms = start(rows_[i]),
                    .latency_us = rows_[i].latency_us,
                    .weight = rows_[i].weight};
      weight_[i] = rows_[i].weight;
    }
    for (int round = 0; round < kRounds; ++round) Round();
  }

  const WaveCoefficients& best() const { return best_; }

 private:
  void Round() {
    const WaveCoefficients c = CoefficientsOf(SolveRelative(linear_, weight_));
    double error = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const OverlapRow& row = rows_[i];
      const double predicted_us =
          OverlapLatencyUs(c, row.full_waves, row.wave, row.last, row.loop);
      const RobustError robust = RobustErrorOf(linear_[i], predicted_us);
      error += row.weight * robust.error;
      weight_[i] = robust.weight;
      linear_[i].terms = TermsOf(row, SharesAt(c, row.wave, row.loop),
                                 SharesAt(c, row.last, row.loop));
    }
    if (!any_ || error < least_error_) {
      best_ = c;
      least_error_ = error;
      any_ = true;
    }
  }

  absl::Span<const OverlapRow> rows_;
  std::vector<FitRow> linear_;
  std::vector<double> weight_;
  WaveCoefficients best_;
  double least_error_ = 0;
  bool any_ = false;
};

}  // namespace

WaveCoefficients FitOverlap(absl::Span<const OverlapRow> rows) {
  Fit fit(rows);
  fit.From(MemoryBound);
  fit.From(ComputeBound);
  return fit.best();
}

}  // namespace wavetune
