#include "profiler_agent/measure/backend.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace wavetune {

LoadedKernel LoadedKernel::Of(const std::string& wanted) const {
  return {.spec = spec.Of(wanted),
          .fingerprint = fingerprint,
          .files = files,
          .specialisation = wanted,
          .source_bytes = source_bytes};
}

double LaunchTimes::DeviceTimeUs() const {
  double sum_us = 0;
  for (const double one_us : launch_us) {
    sum_us += one_us * std::max(1, launches_per_timing);
  }
  if (std::isfinite(warmup_us) && warmup_us > 0) sum_us += warmup_us;
  return sum_us;
}

absl::StatusOr<LaunchTimes> Device::MeasureVendorBaseline(
    const std::string& library, const Problem& /*problem*/, int /*warmup*/,
    int /*launches*/) {
  return absl::UnimplementedError(absl::StrCat(
      "the backend '", facts().backend, "' has no library '", library, "'"));
}

}  // namespace wavetune
