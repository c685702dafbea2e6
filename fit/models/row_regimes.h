// Axes of a sub-table: row regimes, wave regimes and loop anchors, chosen from
// what clients ask for.
//
// Why row regimes: a single row of tiles (decode) streams weights once and is
// bound by memory. The same G from a square grid reuses them in cache. A nearly
// empty row differs again (docs/decisions/0001).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_MODELS_ROW_REGIMES_H_
#define WAVETUNE_FIT_MODELS_ROW_REGIMES_H_

#include <vector>

#include "absl/types/span.h"
#include "model/kernel/mapping.h"
#include "model/table/table.h"

namespace wavetune {

// The least share of the weight that a row regime is worth having, and
// measuring, for.
inline constexpr double kLeastRegimeShare = 0.02;

// Coordinates of the representative problems under one candidate.
struct RepresentativeView {
  absl::Span<const Coordinates> at;
  absl::Span<const double> weights;  // As many, > 0.
};

// Returns the row regimes in the order of a sub-table, the last without limits.
// {1 row} and {2 rows} are there where at least kLeastRegimeShare falls into
// them under some candidate. {1 row, a quarter full} is there where that holds
// under every candidate, so that no choice of tile avoids it. Without
// representative problems there are {1} and {2}. Where `has_rows` is false
// there is the last alone. Cannot fail.
std::vector<RowRegime> ChooseRowRegimes(
    bool has_rows, absl::Span<const RepresentativeView> candidates);

// Returns {1, no limit}: below and above one full wave. A third regime gains
// nothing (docs/decisions/0001). Cannot fail.
std::vector<int64_t> WaveRegimes();

// Returns the powers of two that span the representative mean loops, 1 to 512
// without representative problems. Cannot fail.
std::vector<double> ChooseLoopAnchors(
    absl::Span<const RepresentativeView> candidates);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_MODELS_ROW_REGIMES_H_
