#include "fit/models/power_limit_fit.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fit/models/profile_state.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

// A GEMM whose launches take from 10 us to several milliseconds.
class FitPowerLimitSlowdownTest : public ::testing::Test {
 protected:
  explicit FitPowerLimitSlowdownTest(WaveForm form = WaveForm::kOverlap)
      : device_(testing::GemmSpec(form), {}), input_(device_.Input()) {
    for (const Candidate& candidate : input_.candidates[0]) {
      for (const int64_t m : {64, 512, 1024, 2048, 4096, 8192, 16384}) {
        for (const int64_t k : {512, 2048, 8192}) {
          Problem problem;
          problem.extents = {m, 4096, k};
          input_.samples.push_back(
              device_.Measure({candidate.configuration, problem}));
        }
      }
    }
  }

  // What is found where all samples are slowed down by `load`.
  PowerLimitSlowdown Found(const PowerLimitSlowdown& load) const {
    ProfileInput input = input_;
    for (Sample& sample : input.samples) {
      sample.latency_us = PowerLimitedUs(load, sample.latency_us);
    }
    return MakeProfileState(input).value().specialisations[0].axes.power_limit;
  }

  testing::SyntheticDevice device_;
  ProfileInput input_;
};

TEST_F(FitPowerLimitSlowdownTest, FindsHowMuchLongLaunchesAreSlowedDown) {
  EXPECT_EQ(Found({}), PowerLimitSlowdown{});
  for (const double slowdown : {0.125, 0.1875, 0.25, 0.3125}) {
    const PowerLimitSlowdown found = Found({kLongUs, slowdown});
    EXPECT_EQ(found.from_us, kLongUs);
    EXPECT_NEAR(found.slowdown, slowdown, kSlowdownStep) << slowdown;
  }
}

TEST_F(FitPowerLimitSlowdownTest, SaysNothingOfFewLongSamples) {
  std::vector<Sample> brief;
  int long_ones = 0;
  for (const Sample& sample : input_.samples) {
    if (sample.latency_us > kLongUs && ++long_ones > 60) continue;
    brief.push_back(sample);
  }
  ASSERT_GT(long_ones, 200);
  input_.samples = brief;
  EXPECT_EQ(Found({kLongUs, 0.25}), PowerLimitSlowdown{});
}

// 64 long samples among many, all noisy: the gain is a fraction of a percent.
TEST_F(FitPowerLimitSlowdownTest, ASmallGainCounts) {
  std::vector<Sample> noisy;
  int long_ones = 0;
  bool up = true;
  for (Sample sample : input_.samples) {
    if (sample.latency_us > kLongUs && ++long_ones > 80) continue;
    sample.latency_us =
        PowerLimitedUs({kLongUs, 0.1875}, sample.latency_us) * (up ? 1.1 : 0.9);
    up = !up;
    noisy.push_back(sample);
  }
  input_.samples = noisy;
  const auto load =
      MakeProfileState(input_).value().specialisations[0].axes.power_limit;
  EXPECT_GT(load.slowdown, 0);
}

TEST_F(FitPowerLimitSlowdownTest, ObservationsAreThoseOfShortLaunches) {
  const PowerLimitSlowdown load = {kLongUs, 0.25};
  for (Sample& sample : input_.samples) {
    sample.latency_us = PowerLimitedUs(load, sample.latency_us);
  }
  const ProfileState state = MakeProfileState(input_).value();
  const SpecialisationState& s = state.specialisations[0];
  ASSERT_GT(s.axes.power_limit.slowdown, 0);
  size_t compared = 0;
  for (const CandidateState& c : s.candidates) {
    for (const Observation& o : c.observations) {
      for (const Sample& sample : input_.samples) {
        if (sample.configuration != c.candidate->configuration ||
            sample.problem.extents != o.problem.extents) {
          continue;
        }
        EXPECT_EQ(o.latency_us, ShortUs(s.axes.power_limit, sample.latency_us));
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, input_.samples.size());
}

class FitPowerLimitSlowdownOfSumTest : public FitPowerLimitSlowdownTest {
 protected:
  FitPowerLimitSlowdownOfSumTest()
      : FitPowerLimitSlowdownTest(WaveForm::kSum) {}
};

TEST_F(FitPowerLimitSlowdownOfSumTest, SaysNothingOfSums) {
  EXPECT_EQ(Found({kLongUs, 0.25}), PowerLimitSlowdown{});
}

}  // namespace
}  // namespace wavetune
