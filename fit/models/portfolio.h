// Portfolio selection: the few candidates that a table may choose from.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_PORTFOLIO_H_
#define WAVETUNE_FIT_MODELS_PORTFOLIO_H_

#include <cstddef>
#include <vector>

#include "fit/models/latency_matrix.h"
#include "fit/models/profile_state.h"

namespace wavetune {

// Returns how many candidates a table may have at most: what the options say,
// else the kernel, within the format's limit. Cannot fail.
size_t PortfolioSize(const ProfileInput& input);

// When a portfolio is chosen, predictions of two candidates of one macro
// configuration count as equal within this, since the model tells their grids
// apart better than their stages (docs/decisions/0003). Micro tables go by
// fit/models/standing.h.
inline constexpr double kMicroTie = 0.015;

// Returns the indices of at most `size` of the `eligible` candidates in the
// order in which they were chosen, most useful first. Each lowers the weighted
// mean of the regret (capped at 100 %) over the representative problems most.
// Ends early where nothing is gained.
//
// Among candidates of one macro configuration the lowest index within kMicroTie
// takes the best prediction and the others pay the margin.
//
// Where a candidate that is legal for every problem is eligible the portfolio
// has one, in the place of the least useful if need be. Where none is the
// result has none. Empty only if nothing is eligible. Cannot fail. Source:
// arXiv 2604.10187, section 4.4. Deviation: greedy on expected regret.
std::vector<size_t> SelectPortfolio(const SpecialisationState& specialisation,
                                    const LatencyMatrix& latencies,
                                    const std::vector<bool>& eligible,
                                    size_t size);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_PORTFOLIO_H_
