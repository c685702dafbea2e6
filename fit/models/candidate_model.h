// CandidateModel: the wave models of one candidate, one per (row regime, wave
// regime).
//
//   CandidateModel model = FitCandidate(axes, tiles_per_wave, multiprocessors,
//   seen); double latency_us = PredictUs(axes, model, MapProblem(...));
//
// `axes` is a sub-table of which only form, row_regimes and max_waves are
// read.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_CANDIDATE_MODEL_H_
#define WAVETUNE_FIT_MODELS_CANDIDATE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "fit/samples/observation.h"
#include "model/table/power_limit_slowdown.h"
#include "model/table/table.h"

namespace wavetune {

// How well one segment fits the observations of its row and wave regime.
struct SegmentQuality {
  int own = 0;           // So many.
  double residuals = 0;  // Sum of their |predicted / measured - 1|.
};

// How sure a segment's predictions are (fit/models/uncertainty.h). Standard
// deviations, relative to the prediction.
struct Uncertainty {
  double scatter = 0;  // Measurements about the segment's true value.
  double bias = 0;     // The segment's value about its true one.
};

struct CandidateModel {
  int64_t tiles_per_wave = 1;
  int observations = 0;
  // [row regime]; segments [wave regime]. The micro tables and bounds are left
  // for SubTableBuilder, the rank margins for SetUncertainty.
  std::vector<GroupModel> models;
  std::vector<std::vector<SegmentQuality>> quality;
  // The same, once SetUncertainty has set it.
  std::vector<std::vector<Uncertainty>> uncertainty;
};

// Returns the model of a candidate.
//
// As a sum, a segment takes the observations of its wave regime, or all of the
// candidate where those are fewer than kFewestObservations
// (fit/models/eligibility.h). Those of other row regimes weigh 0.05, or 0.25 in
// the first wave regime where they have more than 1.25 times as many tiles as
// any of its own. As an overlap all observations are fitted together, and the
// segments of equal rows have equal coefficients (fit/models/overlap_fit.h).
// The floor is half of the fastest observation of the wave regime. The measured
// range is that of the wave regime's observations, a quarter wider; [0, 0]
// iterations where nothing was measured in the segment itself. Its last wave is
// that of the largest launch that is no outlier (kMostResidual,
// fit/models/uncertainty.h).
//
// Shapes: observations in canonical order (their sum is order dependent); none
// gives a model that predicts a floor of 1 us. Cannot fail.
// Source: arXiv 2604.10187, section 4.3. Deviations: row regimes share
// observations; below a full device the step is one tile per multiprocessor.
CandidateModel FitCandidate(const SubTable& axes, int64_t tiles_per_wave,
                            int64_t multiprocessors,
                            absl::Span<const Observation> observations);

// Returns the predicted latency in microseconds, > 0 and finite. Cannot fail.
double PredictUs(const SubTable& axes, const CandidateModel& model,
                 const Coordinates& at);

// Where coordinates lie in the tables of a candidate.
struct SegmentPlace {
  size_t row_regime;
  size_t wave_regime;

  friend bool operator==(const SegmentPlace&, const SegmentPlace&) = default;
};
SegmentPlace PlaceAt(const SubTable& axes, int64_t tiles_per_wave,
                     const Coordinates& at);

// Returns the latency that a candidate competes with where it has been
// measured: the prediction and the rank margin of its segment. Cannot fail.
double RankUs(const SubTable& axes, const CandidateModel& model,
              const Coordinates& at);

// The error of a model over observations, each by weight times importance.
struct WeightedError {
  double sum = 0;  // Sum of RobustErrorOf (fit/models/robust_fit.h).
  double weight = 0;

  double Mean() const { return weight > 0 ? sum / weight : 0; }
};

// Returns the error of predicting `observations`, both as launches take under
// `load`. Shapes: latencies of short launches; axes and model as for
// FitCandidate. Cannot fail.
WeightedError ErrorOf(const SubTable& axes, const CandidateModel& model,
                      absl::Span<const Observation> observations,
                      const PowerLimitSlowdown& load = {});

// Return the segment that predicts `at`, and its uncertainty. Cannot fail.
const WaveSegment& SegmentAt(const SubTable& axes, const CandidateModel& model,
                             const Coordinates& at);
const Uncertainty& UncertaintyAt(const SubTable& axes,
                                 const CandidateModel& model,
                                 const Coordinates& at);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_CANDIDATE_MODEL_H_
