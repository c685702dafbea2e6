// BuildComparison: whether a job's new table is slower than the serving one
// because its build of the kernel is: the sources were edited, or the compiler
// is another one.
//
//   ASSIGN_OR_RETURN(BuildComparison builds,
//                    BuildComparison::Load(samples, job, incumbent));
//   Measure(builds.Missing(table, input.samples));
//   const std::string slower = builds.WhySlower(table, input.samples);
//
// Verification compares both tables in the build that is there now, and so does
// not see it (docs/decisions/0056).
//
// Thread safety: none; used by the job's worker thread.
#ifndef WAVETUNE_SERVER_JOBS_BUILD_COMPARISON_H_
#define WAVETUNE_SERVER_JOBS_BUILD_COMPARISON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/measure_item.h"
#include "model/kernel/sample.h"
#include "server/jobs/incumbent.h"
#include "server/store/records.h"
#include "server/store/sample_store.h"

namespace wavetune {

class BuildComparison {
 public:
  // Reads what was measured of the serving table in its own build. Compares
  // nothing where that is the job's build, was measured under another driver
  // (a build may be slower there without being worse), or the job promotes
  // slower ones. Errors: the store's.
  static absl::StatusOr<BuildComparison> Load(SampleStore& samples,
                                              const JobRecord& job,
                                              const Incumbent& incumbent);

  // Returns what is to be measured for a verdict, beside the samples of the
  // job. Cannot fail.
  std::vector<MeasureItem> Missing(const CompiledTable& table,
                                   absl::Span<const Sample> now) const;

  // Returns why what the table chooses is slower than what the serving one
  // chose; empty where it is not, or nothing is known. Cannot fail.
  std::string WhySlower(const CompiledTable& table,
                        absl::Span<const Sample> now) const;

 private:
  BuildComparison() = default;

  Incumbent before_;             // Not comparable: compares nothing.
  std::vector<Sample> samples_;  // Of before.
  std::string kernel_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_BUILD_COMPARISON_H_
