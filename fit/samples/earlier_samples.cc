#include "fit/samples/earlier_samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "fit/samples/sample_selection.h"

namespace wavetune {
namespace {

constexpr size_t kFewestPairs = 30;
// Two profiles of an H200 in one hour: medians within 0.3 % (2026-11). The
// limits leave room for other devices of a class, not for other clocks.
constexpr double kMostShift = 0.02;
constexpr double kMostSpread = 0.10;

using Pair = std::pair<Configuration, Problem>;

bool IsTrusted(const Sample& sample) {
  return !sample.suspect && IsPlausibleLatency(sample.latency_us);
}

// The lower median latency of each pair.
std::map<Pair, double> Latencies(const std::vector<Sample>& samples) {
  std::map<Pair, std::vector<double>> all;
  for (const Sample& sample : samples) {
    if (!IsTrusted(sample)) continue;
    all[{sample.configuration, sample.problem}].push_back(sample.latency_us);
  }
  std::map<Pair, double> medians;
  for (auto& [pair, latencies] : all) {
    std::sort(latencies.begin(), latencies.end());
    medians[pair] = latencies[(latencies.size() - 1) / 2];
  }
  return medians;
}

bool IsOff(double ratio, double limit) {
  return ratio > 1 + limit || ratio < 1 - limit;
}

}  // namespace

EarlierAgreement CompareWithEarlier(const std::vector<Sample>& now,
                                    const std::vector<Sample>& earlier) {
  EarlierAgreement agreement;
  if (earlier.empty()) return agreement;
  const std::map<Pair, double> then_us = Latencies(earlier);
  std::vector<double> ratios;
  for (const auto& [pair, latency_us] : Latencies(now)) {
    const auto found = then_us.find(pair);
    if (found != then_us.end()) ratios.push_back(latency_us / found->second);
  }
  agreement.pairs = static_cast<int64_t>(ratios.size());
  if (ratios.empty()) return agreement;
  std::sort(ratios.begin(), ratios.end());
  const size_t last = ratios.size() - 1;
  agreement.median_ratio = ratios[last / 2];
  agreement.agree = ratios.size() >= kFewestPairs &&
                    !IsOff(agreement.median_ratio, kMostShift) &&
                    !IsOff(ratios[last / 4], kMostSpread) &&
                    !IsOff(ratios[last - last / 4], kMostSpread);
  return agreement;
}

std::vector<const Sample*> UsableEarlierSamples(
    const std::vector<Sample>& now, const std::vector<Sample>& earlier,
    const EarlierAgreement& agreement) {
  std::vector<const Sample*> usable;
  if (!agreement.agree) return usable;
  const std::map<Pair, double> now_us = Latencies(now);
  for (const Sample& sample : earlier) {
    if (!IsTrusted(sample)) continue;
    const auto found = now_us.find({sample.configuration, sample.problem});
    if (found != now_us.end() &&
        IsOff(found->second / sample.latency_us, kMostSpread)) {
      continue;
    }
    usable.push_back(&sample);
  }
  return usable;
}

}  // namespace wavetune
