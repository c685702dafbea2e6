#include "server/jobs/profiling_functions.h"

namespace wavetune {

ProfilingFunctions ModelProfilingFunctions() {
  ProfilingFunctions functions;
  functions.plan_next = PlanNext;
  functions.fit_table = FitTable;
  functions.plan_verification = [](const ProfileInput& input,
                                   const Table& table, const Table* incumbent) {
    return PlanVerification(input, table, incumbent);
  };
  functions.judge_verification = JudgeVerification;
  return functions;
}

}  // namespace wavetune
