#include "server/jobs/failed_pairs.h"

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_space.h"

namespace wavetune {

void FailedPairs::Take(const KernelSpec& spec, const MeasureItem& item,
                       const JobDevice::Result& result) {
  // No failure and no sample: the budget ended before it.
  if (result.sample || result.excluded || result.failure.empty()) return;
  ++count_;
  if (!first_.empty()) return;
  first_ =
      absl::StrCat(FormatConfiguration(spec, item.configuration), " at ",
                   FormatProblem(spec, item.problem), ": ", result.failure);
}

std::string FailedPairs::Text() const {
  if (count_ == 0) return "";
  return absl::StrCat("; ", count_, count_ == 1 ? " pair" : " pairs",
                      " could not be measured, the first: ", first_);
}

}  // namespace wavetune
