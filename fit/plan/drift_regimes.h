// Names of the regimes that drift is judged by: a table's row and wave regimes.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_DRIFT_REGIMES_H_
#define WAVETUNE_FIT_PLAN_DRIFT_REGIMES_H_

#include <cstdint>
#include <string>

#include "model/table/table.h"
#include "wavetune/configuration.h"
#include "wavetune/coordinates.h"
#include "wavetune/problem.h"

namespace wavetune {

// Returns the name of the regime that a launch of `tiles_per_wave` (>= 1)
// belongs to: "one row of tiles, past the first wave"; of a sub-table without
// regimes "all problems". Equal names are equal regimes.
std::string DriftRegimeName(const SubTable& sub, const Coordinates& at,
                            int64_t tiles_per_wave);

// Returns the sub-table of a specialisation, or nullptr.
const SubTable* FindSubTable(const Table& table,
                             const std::string& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_DRIFT_REGIMES_H_
