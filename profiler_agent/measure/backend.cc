#include "profiler_agent/measure/backend.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace wavetune {
namespace {

bool OfEither(bool a, bool b) { return a || b; }

uint32_t OfEither(uint32_t a, uint32_t b) { return a | b; }

// 0 is unknown.
int32_t LowerKnown(int32_t a, int32_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

}  // namespace

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

void LaunchTimes::Add(const LaunchTimes& other) {
  launch_us.insert(launch_us.end(), other.launch_us.begin(),
                   other.launch_us.end());
  launches_per_timing = std::max(1, other.launches_per_timing);
  warmup_us += other.warmup_us;
  host_stalled |= other.host_stalled;
#define WAVETUNE_ADD(fact, of_both) fact = of_both(fact, other.fact);
  WAVETUNE_LAUNCH_FACTS(WAVETUNE_ADD)
#undef WAVETUNE_ADD
}

absl::StatusOr<LaunchTimes> Device::MeasureVendorBaseline(
    const std::string& library, const Problem& /*problem*/, int /*warmup*/,
    int /*launches*/) {
  return absl::UnimplementedError(absl::StrCat(
      "the backend '", facts().backend, "' has no library '", library, "'"));
}

}  // namespace wavetune
