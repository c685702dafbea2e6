// Rank margins: how much slower than predicted a candidate competes.
//
//   std::vector<CandidateModel> models = FitCandidates(...);
//   SetRankMargins(specialisation, models);   // before PredictMatrix
//
// Of many candidates the one that is predicted too low wins, most of all one
// that was hardly measured: of 96 for gemm_bf16 on an H200 one with four
// samples in its segment was predicted at 8.1 and took 10.3 us, where 8.0 was
// the best. So each competes with its prediction and a margin on top: what
// nobody has looked at twice must be better by more.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_RANK_MARGINS_H_
#define WAVETUNE_FIT_MODELS_RANK_MARGINS_H_

#include <vector>

#include "fit/models/candidate_model.h"
#include "fit/models/profile_state.h"

namespace wavetune {

// Observations that the spread of all candidates counts as, beside a
// candidate's own.
inline constexpr double kSharedSpreadWeight = 20;

// Standard errors of a margin.
inline constexpr double kMarginErrors = 1.5;

// Fewest observations at representative problems that prove a segment, and what
// one that is not proven competes with on top: predictions from anchors alone
// are 3 to 5 % off at what clients ask for.
inline constexpr int kProvingObservations = 2;
inline constexpr double kUnprovenMargin = 0.03;

// Residuals beyond this count as this: robust fits leave outliers alone.
inline constexpr double kMostResidual = 0.3;

// Sets the rank margins of the segments of a specialisation's models where its
// form is kOverlap: kMarginErrors standard errors s / sqrt(n + 1), and
// kUnprovenMargin where representative problems were named and the segment has
// fewer than kProvingObservations trusted ones at them, in kRankMarginUnit,
// rounded. n is the
// importance of the candidate's observations in the segment, each times its
// weight, and s^2 the mean square of their residuals, drawn towards that of all
// candidates in the segment (kSharedSpreadWeight). Zero in segments without
// observations: kUnmeasuredMargin stands for these. Models of the serving table
// keep the margins that they have there, if any. Shapes: one model per
// candidate; those without rows are left out. Cannot fail.
//
// Five profiles, each judged by what five H200 measured at 94 unseen and 68
// known shapes (gemm_bf16, portfolios of 96, 2026-11): with half a standard
// error choices were 98.9 % of the best in the mean of unseen and known ones,
// as with one, two or none; but the worst of all choices was at 77.6 % with
// half of one or none, at 89.4 with three quarters to two. In a Python replica
// of the fit neither refusing segments by their count or error nor shares of
// the error bounds gained as much. As a sum nothing was gained (98.8 % on the
// H200 Triton GEMM trace with and without; 98.9 and 99.0 % on its attention).
//
// Later (gemm_bf16 on three H200, 2026-11-24, research/gemm_bf16/refit.py),
// three profiles, two of them run live, each eight times, seven of them
// with 0.6 % of noise and without 8 % of the samples: one standard error alone
// chose at 98.78, 98.76 and 98.60 % (worst choice 88 % in the mean), with
// kUnprovenMargin at 98.90, 98.91 and 98.73 %, with 1.5 of them as well at
// 98.89, 98.94 and 98.81 % (92 %); two and 2.5 were as good.
void SetRankMargins(const SpecialisationState& specialisation,
                    std::vector<CandidateModel>& models);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_RANK_MARGINS_H_
