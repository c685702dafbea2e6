#include "profiler_agent/measure/latency_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

// Launches of a kernel that takes 100 us on a quiet machine: 0.5 % jitter, and
// with probability `spike_rate` a launch shares its core with somebody else and
// takes 1.3 to 6 times as long.
std::vector<double> NoisyLaunches(int count, double spike_rate, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> launches;
  for (int i = 0; i < count; ++i) {
    const double jitter = std::uniform_real_distribution<>(0, 0.005)(random);
    const bool spike =
        std::uniform_real_distribution<>(0, 1)(random) < spike_rate;
    const double factor =
        spike ? std::uniform_real_distribution<>(1.3, 6)(random) : 1;
    launches.push_back(100 * (1 + jitter) * factor);
  }
  return launches;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return Quantile(values, 0.5);
}

TEST(QuantileTest, InterpolatesBetweenNeighbours) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(Quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.25), 2);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.375), 2.5);
  EXPECT_DOUBLE_EQ(Quantile(values, 1), 5);
}

TEST(QuantileTest, OfOneValueIsThatValue) {
  const std::vector<double> values = {7};
  EXPECT_DOUBLE_EQ(Quantile(values, 0.25), 7);
  EXPECT_DOUBLE_EQ(Quantile(values, 1), 7);
}

TEST(LatencyEstimateTest, OfOneLaunchIsThatLaunchWithoutWidth) {
  const LatencyEstimate estimate = EstimateLatency({42.0});
  EXPECT_DOUBLE_EQ(estimate.latency_us, 42);
  EXPECT_DOUBLE_EQ(estimate.min_us, 42);
  EXPECT_DOUBLE_EQ(estimate.relative_half_width, 0);
  EXPECT_DOUBLE_EQ(estimate.relative_spread, 0);
  EXPECT_DOUBLE_EQ(estimate.worst_ratio, 1);
}

TEST(LatencyEstimateTest, FollowsTheFormulas) {
  // n = 9: quartiles at ranks 2, 4, 6; reach = 1.645 sqrt(3 / 16 / 9) = 0.2374,
  // so the interval lies between the quantiles 0.0126 and 0.4874.
  const LatencyEstimate estimate =
      EstimateLatency({108, 100, 101, 102, 103, 104, 105, 106, 107});
  EXPECT_DOUBLE_EQ(estimate.latency_us, 102);
  EXPECT_DOUBLE_EQ(estimate.min_us, 100);
  EXPECT_NEAR(estimate.relative_half_width, 0.2374 * 8 / 102, 1e-5);
  EXPECT_DOUBLE_EQ(estimate.relative_spread, 4.0 / 104);
  EXPECT_DOUBLE_EQ(estimate.worst_ratio, 108.0 / 104);
}

TEST(LatencyEstimateTest, DoesNotDependOnTheOrder) {
  const LatencyEstimate a = EstimateLatency({3, 1, 2, 5, 4});
  const LatencyEstimate b = EstimateLatency({1, 2, 3, 4, 5});
  EXPECT_EQ(a.latency_us, b.latency_us);
  EXPECT_EQ(a.relative_half_width, b.relative_half_width);
}

TEST(LatencyEstimateTest, ResistsSpikesThatMoveMeanAndMedian) {
  double worst_estimate = 0;
  double worst_mean = 0;
  double worst_median = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    const std::vector<double> launches = NoisyLaunches(20, 0.3, seed);
    worst_estimate =
        std::max(worst_estimate,
                 std::abs(EstimateLatency(launches).latency_us / 100 - 1));
    worst_mean = std::max(worst_mean, Mean(launches) / 100 - 1);
    worst_median = std::max(worst_median, Median(launches) / 100 - 1);
  }
  EXPECT_LT(worst_estimate, 0.01);
  EXPECT_GT(worst_mean, 0.5);
  EXPECT_GT(worst_median, 0.3);
}

TEST(LatencyEstimateTest, DoesNotDriftWithTheNumberOfLaunches) {
  // Two-sided jitter (clock changes): the minimum of 200 launches is clearly
  // lower than that of 5, the estimate is not.
  std::mt19937 random(7);
  std::normal_distribution<> jitter(0, 0.02);
  double few = 0;
  double many = 0;
  double few_min = 0;
  double many_min = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<double> launches;
    for (int j = 0; j < 200; ++j)
      launches.push_back(100 * (1 + jitter(random)));
    const LatencyEstimate all = EstimateLatency(launches);
    launches.resize(9);
    const LatencyEstimate some = EstimateLatency(launches);
    few += some.latency_us / 200;
    many += all.latency_us / 200;
    few_min += some.min_us / 200;
    many_min += all.min_us / 200;
  }
  EXPECT_LT(std::abs(few / many - 1), 0.004);
  EXPECT_GT(few_min / many_min - 1, 0.02);
}

TEST(LatencyEstimateTest, WidthCoversTheTruthNineTimesInTen) {
  std::mt19937 random(3);
  std::normal_distribution<> jitter(0, 0.03);
  const double truth = 100 * (1 - 0.67449 * 0.03);  // Lower quartile.
  int covered = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> launches;
    for (int j = 0; j < 40; ++j) launches.push_back(100 * (1 + jitter(random)));
    const LatencyEstimate estimate = EstimateLatency(launches);
    covered += std::abs(estimate.latency_us - truth) <=
               estimate.relative_half_width * estimate.latency_us;
  }
  EXPECT_GT(covered, 830);
  EXPECT_LT(covered, 960);
}

}  // namespace
}  // namespace wavetune
