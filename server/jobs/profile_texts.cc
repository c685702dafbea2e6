#include "server/jobs/profile_texts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/kernel/throttling.h"

namespace wavetune {

std::string CoverageText(const FitReport& report, int64_t usable) {
  if (usable == 0 || report.samples_used == 0) return "";
  const int64_t own = report.samples_used - report.earlier_samples;
  const std::string earlier =
      report.earlier_samples > 0 ? absl::StrCat(" and ", report.earlier_samples,
                                                " of earlier profiles")
                                 : "";
  return absl::StrFormat(
      "; %d samples of %d candidates (%.1f each)%s, %d at w <= 8", own, usable,
      static_cast<double>(own) / static_cast<double>(usable), earlier,
      report.samples_within_8_waves);
}

std::string WrongText(const CheckedCandidates& counts) {
  if (counts.wrong == 0) return "";
  return absl::StrCat("; ", counts.wrong, " of ", counts.wrong + counts.right,
                      counts.wrong == 1 ? " checked candidates computes"
                                        : " checked candidates compute",
                      " wrong results, the first: ", counts.first_wrong);
}

std::string ThrottledText(const FitReport& report,
                          const std::vector<Sample>& samples) {
  uint32_t reasons = 0;
  for (const Sample& sample : samples) {
    if (sample.throttled) reasons |= sample.throttle_reasons;
  }
  const std::string text = ThrottleText(reasons);
  return absl::StrFormat(
      "%.0f %% of what was measured was measured while the device was "
      "throttled%s, again and again. Look at its cooling and power, then "
      "reprofile: throttled samples are measured anew",
      100 * report.throttled_share, text.empty() ? "" : " (" + text + ")");
}

std::string BudgetTooSmallText(const JobRecord& job, int64_t samples_planned,
                               const TimeLeft& left,
                               const std::string& why_not) {
  std::string needed = "It needs more";
  if (left.first_table_s > 0) {
    const double first_s = std::ceil(left.first_table_s);
    needed = absl::StrCat("A first table needs about ", first_s, " s more");
    if (std::ceil(left.all_s) > first_s) {
      absl::StrAppend(&needed, ", all that is planned about ",
                      std::ceil(left.all_s), " s");
    }
  }
  return absl::StrCat("the budget of ", job.options.budget_s,
                      " s of device time was too small: ", job.samples,
                      " of some ", std::max(samples_planned, job.samples),
                      " samples were taken, which make no table (", why_not,
                      "). ", needed, ": wavetune reprofile --kernel ",
                      job.kernel,
                      " --budget SECONDS; what was measured is kept");
}

}  // namespace wavetune
