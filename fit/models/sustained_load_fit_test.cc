#include "fit/models/sustained_load_fit.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fit/models/profile_state.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

// A GEMM whose launches take from 10 us to several milliseconds.
class FitSustainedLoadTest : public ::testing::Test {
 protected:
  explicit FitSustainedLoadTest(WaveForm form = WaveForm::kOverlap)
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
  SustainedLoad Found(const SustainedLoad& load,
                      const SustainedLoad& serving = {}) const {
    ProfileInput input = input_;
    for (Sample& sample : input.samples) {
      sample.latency_us = SustainedUs(load, sample.latency_us);
    }
    Table table;
    table.sub_tables.emplace_back().sustained = serving;
    table.sub_tables[0].form = input.spec->wave_form;
    input.incumbent = &table;
    return MakeProfileState(input).value().specialisations[0].axes.sustained;
  }

  testing::SyntheticDevice device_;
  ProfileInput input_;
};

TEST_F(FitSustainedLoadTest, FindsHowMuchLongLaunchesAreSlowedDown) {
  EXPECT_EQ(Found({}), SustainedLoad{});
  for (const double slowdown : {0.125, 0.1875, 0.25, 0.3125}) {
    const SustainedLoad found = Found({kLongUs, slowdown});
    EXPECT_EQ(found.from_us, kLongUs);
    EXPECT_NEAR(found.slowdown, slowdown, kSlowdownStep) << slowdown;
  }
}

TEST_F(FitSustainedLoadTest, StaysWithWhatServesWhereThatIsAboutAsGood) {
  const SustainedLoad fresh = Found({kLongUs, 0.1875});
  const SustainedLoad far = {kLongUs, 0.5};
  EXPECT_EQ(Found({kLongUs, 0.1875}, fresh), fresh);
  EXPECT_EQ(Found({kLongUs, 0.1875}, far), fresh);
}

TEST_F(FitSustainedLoadTest, StaysWithOneStepMoreWhereSamplesAreNoisy) {
  bool up = true;
  for (Sample& sample : input_.samples) {
    sample.latency_us *= up ? 1.04 : 0.96;
    up = !up;
  }
  const SustainedLoad far = {kLongUs, 0.5};
  const SustainedLoad fresh = Found({kLongUs, 0.1875}, far);
  ASSERT_NEAR(fresh.slowdown, 0.1875, kSlowdownStep);
  const SustainedLoad near = {kLongUs, fresh.slowdown + kSlowdownStep};
  EXPECT_EQ(Found({kLongUs, 0.1875}, near), near);
}

TEST_F(FitSustainedLoadTest, SaysNothingOfFewLongSamples) {
  std::vector<Sample> brief;
  int long_ones = 0;
  for (const Sample& sample : input_.samples) {
    if (sample.latency_us > kLongUs && ++long_ones > 60) continue;
    brief.push_back(sample);
  }
  ASSERT_GT(long_ones, 200);
  input_.samples = brief;
  EXPECT_EQ(Found({kLongUs, 0.25}), SustainedLoad{});
  const SustainedLoad serving = {kLongUs, 0.125};
  EXPECT_EQ(Found({kLongUs, 0.25}, serving), serving);
}

// 64 long samples among many, all noisy: the gain is a fraction of a percent.
TEST_F(FitSustainedLoadTest, ASmallGainCountsWhereNothingServes) {
  std::vector<Sample> noisy;
  int long_ones = 0;
  bool up = true;
  for (Sample sample : input_.samples) {
    if (sample.latency_us > kLongUs && ++long_ones > 80) continue;
    sample.latency_us =
        SustainedUs({kLongUs, 0.1875}, sample.latency_us) * (up ? 1.1 : 0.9);
    up = !up;
    noisy.push_back(sample);
  }
  input_.samples = noisy;
  const auto load =
      MakeProfileState(input_).value().specialisations[0].axes.sustained;
  EXPECT_GT(load.slowdown, 0);
}

TEST_F(FitSustainedLoadTest, ObservationsAreThoseOfShortLaunches) {
  const SustainedLoad load = {kLongUs, 0.25};
  for (Sample& sample : input_.samples) {
    sample.latency_us = SustainedUs(load, sample.latency_us);
  }
  const ProfileState state = MakeProfileState(input_).value();
  const SpecialisationState& s = state.specialisations[0];
  ASSERT_GT(s.axes.sustained.slowdown, 0);
  size_t compared = 0;
  for (const CandidateState& c : s.candidates) {
    for (const Observation& o : c.observations) {
      for (const Sample& sample : input_.samples) {
        if (sample.configuration != c.candidate->configuration ||
            sample.problem.extents != o.problem.extents) {
          continue;
        }
        EXPECT_EQ(o.latency_us, ShortUs(s.axes.sustained, sample.latency_us));
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, input_.samples.size());
}

class FitSustainedLoadOfSumTest : public FitSustainedLoadTest {
 protected:
  FitSustainedLoadOfSumTest() : FitSustainedLoadTest(WaveForm::kSum) {}
};

TEST_F(FitSustainedLoadOfSumTest, SaysNothingOfSums) {
  EXPECT_EQ(Found({kLongUs, 0.25}), SustainedLoad{});
}

}  // namespace
}  // namespace wavetune
