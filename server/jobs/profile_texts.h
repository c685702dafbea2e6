// What a profiling job's message says of its fit, for people.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_JOBS_PROFILE_TEXTS_H_
#define WAVETUNE_SERVER_JOBS_PROFILE_TEXTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "fit/build/fit_table.h"
#include "model/kernel/sample.h"
#include "server/jobs/profile_candidates.h"
#include "server/store/records.h"

namespace wavetune {

// Returns what the fit rests on: "; 1843 samples of 120 candidates (15.4 each)
// and 1790 of earlier profiles, 2410 at w <= 8"; nothing where it used none.
// `usable` counts the candidates that compile.
std::string CoverageText(const FitReport& report, int64_t usable);

// Returns how many candidates compute wrong results, and how often the others
// were checked: "; 2 of 12 checked candidates compute wrong results, the first:
// BM=64: wrong result: ..."; nothing where none does.
std::string WrongText(const CheckedCandidates& counts);

// Returns why a table of throttled samples does not serve, and what to do.
std::string ThrottledText(const FitReport& report,
                          const std::vector<Sample>& samples);

// What a profile still takes, in seconds of device time; 0: not known.
struct TimeLeft {
  double first_table_s = 0;  // The least that makes a table.
  double all_s = 0;          // All that is planned.
};

// Returns the text for a job whose budget was spent before a table could be
// fitted (`why_not`): how many of `samples_planned` the budget paid for, and
// what more it takes.
std::string BudgetTooSmallText(const JobRecord& job, int64_t samples_planned,
                               const TimeLeft& left,
                               const std::string& why_not);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_PROFILE_TEXTS_H_
