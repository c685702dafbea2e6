#include "fit/models/candidate_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "fit/models/eligibility.h"
#include "fit/models/overlap_fit.h"
#include "fit/models/robust_fit.h"
#include "fit/models/uncertainty.h"
#include "model/table/wave_arithmetic.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

// Weight of observations of other row regimes: enough to say how costs grow
// where a regime has few of its own, too little to outvote these. 0.05, 0.1 and
// 0.2 chose at 98.7, 98.6 and 98.7 % of the best on the H200 Triton GEMM trace,
// and at 90.0, 90.0 and 82.9 % on a GEMM of two CPU cores, where one row of
// tiles streams cold weights (docs/decisions/0001).
constexpr double kOtherRowsWeight = 0.05;
// In the first wave regime, where they have far more tiles than any of the row
// regime's own: there they alone say how multiprocessors slow down as they fill
// up. With 0.05 a fit of that trace to m <= 2,048, whose square grids end at
// half a wave, chose at 96.1 % of the best beyond, with 0.2 to 1 at 98.1 %; 0.5
// and 1 cost causal attention 0.2 %. In later wave regimes it lost 3 %
// (docs/decisions/0001).
constexpr double kBeyondOwnWeight = 0.25;
// A model is trusted this much beyond the largest and below the smallest, loops
// and latencies alike (docs/decisions/0037).
constexpr double kRangeAbove = 1.25;
constexpr double kRangeBelow = 0.5;

TermVector TermsOf(const Coordinates& at, int64_t step_tiles) {
  const double s = static_cast<double>(Waves(at.tiles, step_tiles));
  const double longest = static_cast<double>(at.longest_loop);
  const double g = static_cast<double>(at.tiles);
  return {1, s, longest, s * longest, g, g * at.iterations, at.cold_mib};
}

WaveCoefficients CoefficientsOf(const TermVector& theta) {
  return {.delta = theta[0],
          .delta_w = theta[1],
          .gamma = theta[2],
          .gamma_w = theta[3],
          .beta = theta[4],
          .alpha = theta[5],
          .cold = theta[6]};
}

// One observation with the regimes that it belongs to.
struct Placed {
  const Observation* observation;
  size_t row_regime;
  size_t wave_regime;
};

double FitWeight(const Observation& observation) {
  return observation.weight * observation.importance;
}

std::vector<Placed> PlaceAll(const SubTable& axes, int64_t tiles_per_wave,
                             absl::Span<const Observation> observations) {
  std::vector<Placed> placed;
  placed.reserve(observations.size());
  for (const Observation& o : observations) {
    const SegmentPlace place = PlaceAt(axes, tiles_per_wave, o.at);
    placed.push_back({&o, place.row_regime, place.wave_regime});
  }
  return placed;
}

// The observations that a segment is fitted to.
std::vector<Placed> OfWaveRegime(const std::vector<Placed>& all, size_t wave) {
  std::vector<Placed> chosen;
  for (const Placed& p : all) {
    if (p.wave_regime == wave) chosen.push_back(p);
  }
  return chosen.size() < kFewestObservations ? all : chosen;
}

// What counts as far beyond a regime's own observations.
double OwnReach(const std::vector<Placed>& placed, size_t row_regime) {
  int64_t most_tiles = 0;
  for (const Placed& p : placed) {
    if (p.row_regime != row_regime) continue;
    most_tiles = std::max(most_tiles, p.observation->at.tiles);
  }
  return static_cast<double>(most_tiles) * kRangeAbove;
}

std::vector<Equation> EquationsOf(const std::vector<Placed>& placed,
                                  size_t row_regime, size_t wave_regime,
                                  int64_t step_tiles) {
  const double own_reach = OwnReach(placed, row_regime);
  const auto share_of = [&](const Placed& p) {
    const bool any_own = own_reach > 0;
    if (p.row_regime == row_regime || !any_own) return 1.0;
    const bool below_a_wave = wave_regime == 0 && p.wave_regime == 0;
    const bool beyond =
        static_cast<double>(p.observation->at.tiles) > own_reach;
    return below_a_wave && beyond ? kBeyondOwnWeight : kOtherRowsWeight;
  };
  std::vector<Equation> equations;
  equations.reserve(placed.size());
  for (const Placed& p : placed) {
    equations.push_back({.terms = TermsOf(p.observation->at, step_tiles),
                         .latency_us = p.observation->latency_us,
                         .weight = FitWeight(*p.observation) * share_of(p)});
  }
  return equations;
}

// Row regimes of equal rows share memory terms, however full the rows are; so
// do those beyond the last class.
std::vector<size_t> MemoryClasses(const SubTable& axes) {
  std::vector<size_t> classes;
  for (size_t r = 0; r < axes.row_regimes.size(); ++r) {
    const bool same = r > 0 && axes.row_regimes[r].max_rows ==
                                   axes.row_regimes[r - 1].max_rows;
    const size_t next = r == 0 ? 0 : classes.back() + (same ? 0 : 1);
    classes.push_back(std::min(next, kMemoryClasses - 1));
  }
  return classes;
}

std::vector<OverlapEquation> OverlapEquationsOf(
    const std::vector<Placed>& placed, const std::vector<size_t>& classes,
    int64_t tiles_per_wave, int64_t step_tiles) {
  std::vector<OverlapEquation> equations;
  equations.reserve(placed.size());
  for (const Placed& p : placed) {
    const Coordinates& at = p.observation->at;
    equations.push_back(
        {.waves = LaunchWavesOf(at.tiles, tiles_per_wave, step_tiles),
         .loop = LoopLengthsOf(at),
         .memory_class = classes[p.row_regime],
         .latency_us = p.observation->latency_us,
         .weight = FitWeight(*p.observation)});
  }
  return equations;
}

// As far below the fastest as a model is trusted.
double FloorOf(const std::vector<Placed>& used) {
  if (used.empty()) return 1;
  double fastest_us = used[0].observation->latency_us;
  for (const Placed& p : used) {
    fastest_us = std::min(fastest_us, p.observation->latency_us);
  }
  return fastest_us * kRangeBelow;
}

// Each observation by the segment that predicts it.
void JudgeAll(const SubTable& axes, const std::vector<Placed>& all,
              CandidateModel& model) {
  model.quality.assign(model.models.size(),
                       std::vector<SegmentQuality>(axes.max_waves.size()));
  for (const Placed& p : all) {
    const double predicted_us = PredictLatencyUs(
        axes.form, model.tiles_per_wave,
        model.models[p.row_regime].segments[p.wave_regime], p.observation->at);
    SegmentQuality& quality = model.quality[p.row_regime][p.wave_regime];
    ++quality.own;
    quality.residuals += std::abs(predicted_us / p.observation->latency_us - 1);
  }
}

// Where the segment counts as measured.
void SetRange(WaveForm form, const std::vector<Placed>& all,
              const CandidateModel& model, size_t row, size_t wave,
              WaveSegment& segment) {
  segment.min_wave = segment.max_wave = 1;
  segment.min_iterations = segment.max_iterations = 0;
  if (model.quality[row][wave].own == 0) return;
  int64_t most_tiles = 1;
  bool first = true;
  for (const Placed& p : all) {
    const double iterations = p.observation->at.iterations;
    if (first || iterations < segment.min_iterations) {
      segment.min_iterations = iterations;
    }
    segment.max_iterations = std::max(segment.max_iterations, iterations);
    first = false;
    if (p.wave_regime != wave) continue;
    const Coordinates& at = p.observation->at;
    const WaveSegment& own = model.models[p.row_regime].segments[wave];
    // An outlier does not widen the range: tiles of 96 rows of gemm_bf16, whose
    // blocks drift apart in launches of 70 waves and more on an H200, take 1.3
    // to 2 times as long (docs/decisions/0007).
    if (p.observation->latency_us >
        (1 + kMostResidual) *
            PredictLatencyUs(form, model.tiles_per_wave, own, at)) {
      continue;
    }
    most_tiles = std::max(most_tiles, at.tiles);
  }
  segment.min_iterations *= kRangeBelow;
  segment.max_iterations *= kRangeAbove;
  const auto reach =
      static_cast<int64_t>(static_cast<double>(most_tiles) * kRangeAbove);
  segment.max_wave = Waves(reach, model.tiles_per_wave);
}

}  // namespace

CandidateModel FitCandidate(const SubTable& axes, int64_t tiles_per_wave,
                            int64_t multiprocessors,
                            absl::Span<const Observation> observations) {
  CandidateModel model;
  model.tiles_per_wave = tiles_per_wave;
  model.observations = static_cast<int>(observations.size());
  const int64_t spread =
      std::min(tiles_per_wave, std::max<int64_t>(1, multiprocessors));
  const std::vector<Placed> all = PlaceAll(axes, tiles_per_wave, observations);
  const std::vector<size_t> classes = MemoryClasses(axes);
  std::array<WaveCoefficients, kMemoryClasses> overlap;
  if (axes.form == WaveForm::kOverlap) {
    overlap =
        FitOverlap(OverlapEquationsOf(all, classes, tiles_per_wave, spread));
  }
  for (size_t r = 0; r < axes.row_regimes.size(); ++r) {
    GroupModel& of_regime = model.models.emplace_back();
    for (size_t w = 0; w < axes.max_waves.size(); ++w) {
      const std::vector<Placed> used = OfWaveRegime(all, w);
      WaveSegment& segment = of_regime.segments.emplace_back();
      if (axes.form == WaveForm::kOverlap) {
        segment.step_tiles = spread;
        segment.coefficients = overlap[classes[r]];
      } else {
        segment.step_tiles = w == 0 ? spread : tiles_per_wave;
        segment.coefficients = CoefficientsOf(
            FitRelative(EquationsOf(used, r, w, segment.step_tiles)));
      }
      segment.floor_us = FloorOf(used);
    }
  }
  JudgeAll(axes, all, model);
  for (size_t r = 0; r < model.models.size(); ++r) {
    for (size_t w = 0; w < axes.max_waves.size(); ++w) {
      SetRange(axes.form, all, model, r, w, model.models[r].segments[w]);
    }
  }
  return model;
}

SegmentPlace PlaceAt(const SubTable& axes, int64_t tiles_per_wave,
                     const Coordinates& at) {
  return {static_cast<size_t>(RowRegimeIndex(axes, at.rows, at.row_fill)),
          static_cast<size_t>(
              WaveRegimeIndex(axes, Waves(at.tiles, tiles_per_wave)))};
}

const WaveSegment& SegmentAt(const SubTable& axes, const CandidateModel& model,
                             const Coordinates& at) {
  const SegmentPlace place = PlaceAt(axes, model.tiles_per_wave, at);
  return model.models[place.row_regime].segments[place.wave_regime];
}

const Uncertainty& UncertaintyAt(const SubTable& axes,
                                 const CandidateModel& model,
                                 const Coordinates& at) {
  const SegmentPlace place = PlaceAt(axes, model.tiles_per_wave, at);
  return model.uncertainty[place.row_regime][place.wave_regime];
}

double PredictUs(const SubTable& axes, const CandidateModel& model,
                 const Coordinates& at) {
  return PredictLatencyUs(axes.form, model.tiles_per_wave,
                          SegmentAt(axes, model, at), at);
}

double RankUs(const SubTable& axes, const CandidateModel& model,
              const Coordinates& at) {
  return RankOf(axes.form, SegmentAt(axes, model, at),
                PredictUs(axes, model, at), /*extrapolated=*/false);
}

WeightedError ErrorOf(const SubTable& axes, const CandidateModel& model,
                      absl::Span<const Observation> observations,
                      const PowerLimitSlowdown& load) {
  WeightedError error;
  for (const Observation& o : observations) {
    const Equation equation{.terms = {},
                            .latency_us = PowerLimitedUs(load, o.latency_us)};
    const double predicted_us =
        PowerLimitedUs(load, PredictUs(axes, model, o.at));
    const double counts = o.weight * o.importance;
    error.sum += counts * RobustErrorOf(equation, predicted_us).error;
    error.weight += counts;
  }
  return error;
}

}  // namespace wavetune
