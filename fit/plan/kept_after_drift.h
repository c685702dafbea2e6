// Which samples of before hold in another environment, where some drifted.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_KEPT_AFTER_DRIFT_H_
#define WAVETUNE_FIT_PLAN_KEPT_AFTER_DRIFT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fit/plan/drift_report.h"
#include "model/kernel/sample.h"
#include "model/table/table.h"
#include "wavetune/configuration.h"

namespace wavetune {

// Returns tiles per wave of a candidate of a specialisation; 0: unknown.
using TilesPerWave = std::function<int64_t(const std::string& specialisation,
                                           const Configuration& configuration)>;

// Returns the samples of before that a refit may rest on, as they would be
// measured now: those of regimes that did not drift, times the ratio of all. A
// configuration that was not judged is taken to have drifted where it has a
// parameter's value that was judged only in configurations that did. Their
// device time is 0: nobody spends it again. Cannot fail.
std::vector<Sample> KeptAfterDrift(const Table& table,
                                   const DriftReport& report,
                                   absl::Span<const Sample> before,
                                   const TilesPerWave& tiles_per_wave);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_KEPT_AFTER_DRIFT_H_
