#include "fit/samples/sample_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

class SampleSelectionTest : public ::testing::Test {
 protected:
  // Multiples of 64 along every extent, so that work grows with `size`.
  Sample& Add(int64_t size, double latency_us, bool suspect = false) {
    Sample sample{.configuration = {64, 32, 32, 1, 1},
                  .problem = {.extents = {64 * size, 64 * size, 64 * size}},
                  .latency_us = latency_us,
                  .suspect = suspect};
    samples_.push_back(sample);
    return samples_.back();
  }

  std::vector<Observation> Select() {
    std::vector<const Sample*> pointers;
    for (const Sample& sample : samples_) pointers.push_back(&sample);
    return SelectObservations(spec_.mapping, pointers, counts_);
  }

  const KernelSpec spec_ = testing::GemmSpec();
  std::vector<Sample> samples_;
  SelectionCounts counts_;
};

TEST_F(SampleSelectionTest, DropsLatenciesThatAreNoLatencies) {
  for (const double latency_us :
       {std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity(), 0.0, -3.0, 1e-9, 1e12}) {
    Add(1, latency_us);
  }
  Add(2, 10);
  EXPECT_EQ(Select().size(), 1u);
  EXPECT_EQ(counts_.absurd, 6);
  EXPECT_EQ(counts_.used, 1);
}

TEST_F(SampleSelectionTest, MergesRepeatsIntoTheirMedian) {
  for (const double latency_us : {30.0, 10.0, 12.0, 11.0}) Add(1, latency_us);
  const auto observations = Select();
  ASSERT_EQ(observations.size(), 1u);
  EXPECT_EQ(observations[0].latency_us, 11.5);
  EXPECT_EQ(counts_.merged, 3);
}

TEST_F(SampleSelectionTest, PrefersTrustedSamplesAndDoubtsTheRest) {
  Add(1, 10);
  Add(1, 50, /*suspect=*/true);
  Add(2, 60, /*suspect=*/true);
  const auto observations = Select();
  ASSERT_EQ(observations.size(), 2u);
  EXPECT_EQ(observations[0].latency_us, 10);
  EXPECT_EQ(observations[0].weight, 1);
  EXPECT_LT(observations[1].weight, 1);
  EXPECT_EQ(counts_.suspect, 1);
}

TEST_F(SampleSelectionTest, CountsWhatIsKnownFromAThrottledDeviceAlone) {
  Add(1, 10);
  Add(1, 50, /*suspect=*/true).throttled = true;
  Add(2, 60, /*suspect=*/true).throttled = true;
  Add(3, 60, /*suspect=*/true);
  Select();
  EXPECT_EQ(counts_.throttled, 1);
  EXPECT_EQ(counts_.suspect, 2);
}

TEST_F(SampleSelectionTest, DropsWhatContradictsSeveralNeighbours) {
  for (int64_t size = 1; size <= 6; ++size) {
    Add(size, 10.0 * static_cast<double>(size * size));
  }
  Add(7, 0.5);  // Faster than launches of a hundredth of its work.
  const auto observations = Select();
  EXPECT_EQ(observations.size(), 6u);
  EXPECT_EQ(counts_.contradictory, 1);
}

TEST_F(SampleSelectionTest, DoubtsBothOfAPairThatContradicts) {
  Add(1, 100);
  Add(2, 10);
  const auto observations = Select();
  ASSERT_EQ(observations.size(), 2u);
  EXPECT_LT(observations[0].weight, 1);
  EXPECT_LT(observations[1].weight, 1);
}

TEST_F(SampleSelectionTest, OrderDoesNotMatter) {
  for (int64_t size = 1; size <= 6; ++size) {
    Add(size, 10.0 * static_cast<double>(size));
    Add(size, 12.0 * static_cast<double>(size));
  }
  const auto forward = Select();
  std::reverse(samples_.begin(), samples_.end());
  const auto backward = Select();
  ASSERT_EQ(forward.size(), backward.size());
  for (size_t i = 0; i < forward.size(); ++i) {
    EXPECT_EQ(forward[i].problem, backward[i].problem);
    EXPECT_EQ(forward[i].latency_us, backward[i].latency_us);
  }
}

TEST(MedianSampleTest, TakesTheMiddleOne) {
  const auto sample = [](double latency_us, double min_us) {
    return Sample{.latency_us = latency_us, .min_us = min_us};
  };
  EXPECT_EQ(MedianSample({sample(7, 0)}).latency_us, 7);
  EXPECT_EQ(MedianSample({sample(9, 0), sample(1, 1), sample(5, 2)}).min_us, 2);
  // The upper one of two; of equal ones that which stood there.
  EXPECT_EQ(MedianSample({sample(3, 0), sample(2, 1)}).latency_us, 3);
  EXPECT_EQ(MedianSample({sample(3, 0), sample(3, 1), sample(3, 2)}).min_us, 1);
}

}  // namespace
}  // namespace wavetune
