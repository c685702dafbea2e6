#include "server/jobs/held_out_best.h"

#include <algorithm>

namespace wavetune {
namespace {

// The upper middle of an even number, as MedianSample takes it.
double MedianWithout(const std::vector<double>& rounds, size_t left_out) {
  std::vector<double> others;
  for (size_t r = 0; r < rounds.size(); ++r) {
    if (r != left_out) others.push_back(rounds[r]);
  }
  std::sort(others.begin(), others.end());
  return others[others.size() / 2];
}

bool Failed(const std::vector<double>& rounds) {
  return std::any_of(rounds.begin(), rounds.end(),
                     [](double us) { return !(us > 0); });
}

}  // namespace

double HeldOutFraction(const std::vector<std::vector<double>>& latencies_us,
                       size_t chosen) {
  const size_t rounds = latencies_us[chosen].size();
  if (rounds < kFewestPickingRounds + 1 || Failed(latencies_us[chosen])) {
    return 0;
  }
  double sum = 0;
  for (size_t r = 0; r < rounds; ++r) {
    size_t best = chosen;
    double best_us = MedianWithout(latencies_us[chosen], r);
    for (size_t i = 0; i < latencies_us.size(); ++i) {
      if (Failed(latencies_us[i])) continue;
      const double median_us = MedianWithout(latencies_us[i], r);
      if (median_us < best_us) {
        best_us = median_us;
        best = i;
      }
    }
    sum += latencies_us[best][r] / latencies_us[chosen][r];
  }
  return sum / static_cast<double>(rounds);
}

}  // namespace wavetune
