#include "profiler_agent/measure/latency_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace wavetune {
namespace {

constexpr double kQuantile = 0.25;
constexpr double kNormal90 = 1.645;  // Two-sided 90 % of a normal distribution.

}  // namespace

double Quantile(absl::Span<const double> sorted, double q) {
  const double rank = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = rank - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

LatencyEstimate EstimateLatency(absl::Span<const double> launch_us) {
  std::vector<double> sorted(launch_us.begin(), launch_us.end());
  std::sort(sorted.begin(), sorted.end());
  const double n = static_cast<double>(sorted.size());

  LatencyEstimate estimate;
  estimate.min_us = sorted.front();
  estimate.latency_us = Quantile(sorted, kQuantile);
  const double reach =
      kNormal90 * std::sqrt(kQuantile * (1 - kQuantile) / n);  // As a quantile.
  const double low = Quantile(sorted, std::max(0.0, kQuantile - reach));
  const double high = Quantile(sorted, std::min(1.0, kQuantile + reach));
  estimate.relative_half_width = (high - low) / 2 / estimate.latency_us;
  const double median = Quantile(sorted, 0.5);
  estimate.relative_spread =
      (Quantile(sorted, 0.75) - estimate.latency_us) / median;
  estimate.worst_ratio = sorted.back() / median;
  return estimate;
}

}  // namespace wavetune
