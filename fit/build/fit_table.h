// FitTable: samples to table.
#ifndef WAVETUNE_FIT_BUILD_FIT_TABLE_H_
#define WAVETUNE_FIT_BUILD_FIT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fit/profile.h"
#include "model/table/table.h"

namespace wavetune {

// A quarter: the fit gives such samples a tenth of the weight, so that fewer
// of them hardly move it.
inline constexpr double kMostThrottledShare = 0.25;

// What the fit has to say beside the table.
struct FitReport {
  std::vector<std::string>
      notes;  // Dropped samples, pooled regimes, widened bounds; one line each.
  // Those of them that speak against the table, the worst first; a few.
  std::vector<std::string> warnings;
  int64_t samples_used = 0;     // Those of earlier profiles included.
  int64_t earlier_samples = 0;  // From earlier profiles.
  int64_t samples_dropped = 0;
  int64_t samples_within_8_waves = 0;  // Samples with w <= 8.
  // Share of the (candidate, problem) pairs that are known from throttled
  // samples alone. Above kMostThrottledShare the table should not serve: it
  // compares candidates under clocks that differ.
  double throttled_share = 0;
  double expected_regret = 0;        // Over representative problems.
  double median_relative_error = 0;  // That of the fit on its own samples.
};

struct FitResult {
  Table table;
  FitReport report;
};

// Fits wave models, selects the portfolio and compiles the dual tables. A pure
// function of its input, order of samples and candidates included out: the same
// bytes on every machine. Errors: FAILED_PRECONDITION when no candidate has
// enough usable samples (says which and why); INVALID_ARGUMENT for an
// inconsistent input.
absl::StatusOr<FitResult> FitTable(const ProfileInput& input);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_BUILD_FIT_TABLE_H_
