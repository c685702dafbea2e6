// ProfilingFunctions: the pure half of profiling (fit/profile.h) as
// values, so that a test of the job's half can script it.
#ifndef WAVETUNE_SERVER_JOBS_PROFILING_FUNCTIONS_H_
#define WAVETUNE_SERVER_JOBS_PROFILING_FUNCTIONS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "fit/build/fit_table.h"
#include "fit/plan/plan_next.h"
#include "fit/plan/verification.h"
#include "fit/profile.h"

namespace wavetune {

struct ProfilingFunctions {
  std::function<ProfileStep(const ProfileInput&,
                            const std::vector<MeasureItem>& failed,
                            const std::vector<MeasureItem>& pending)>
      plan_next;
  std::function<absl::StatusOr<FitResult>(const ProfileInput&)> fit_table;
  std::function<VerificationPlan(const ProfileInput&, const Table&,
                                 const Table* incumbent)>
      plan_verification;
  std::function<Verdict(const VerificationPlan&, const std::vector<Sample>&)>
      judge_verification;
};

// Returns the model's own.
ProfilingFunctions ModelProfilingFunctions();

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_PROFILING_FUNCTIONS_H_
