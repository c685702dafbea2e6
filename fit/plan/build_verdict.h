// BuildVerdict: whether a kernel became slower with another build of it (its
// sources were edited, or the compiler is another one).
//
// Why beside verification: that compares two tables in the build that is there
// now, and so promotes a table that makes the best of a worse build.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FIT_PLAN_BUILD_VERDICT_H_
#define WAVETUNE_FIT_PLAN_BUILD_VERDICT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/measure_item.h"
#include "model/kernel/sample.h"

namespace wavetune {

// A table with the samples of the build that it was measured with.
struct MeasuredBuild {
  const CompiledTable* table = nullptr;
  absl::Span<const Sample> samples;
};

struct BuildVerdict {
  // With fewer there is no verdict.
  static constexpr int kFewestProblems = 6;

  bool slower = false;
  int problems = 0;    // That were compared.
  double ratio = 1;    // Geometric mean of latency now / before.
  std::string reason;  // Of a slower one; for people.
};

// Compares what each table chooses in its own build, at the problems where both
// choices were measured; of a pair the last sample counts. Slower: by
// more than 3 % and twice the standard error of the mean, at 6 problems or
// more. Cannot fail.
BuildVerdict JudgeBuild(const MeasuredBuild& before, const MeasuredBuild& now);

// Returns at how many problems what the table chooses was measured in its
// build. Cannot fail.
int CountChosenMeasured(const MeasuredBuild& build);

// Returns what is to be measured of the build that is there now so that
// JudgeBuild has twice its fewest problems: what the new table chooses at
// problems where that was done for the table before, those that took the least
// first. Empty where it has enough, or nothing is known of before. Cannot fail.
std::vector<MeasureItem> PlanBuildComparison(const MeasuredBuild& before,
                                             const MeasuredBuild& now);

}  // namespace wavetune

#endif  // WAVETUNE_FIT_PLAN_BUILD_VERDICT_H_
