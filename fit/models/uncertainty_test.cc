#include "fit/models/uncertainty.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fit/models/latency_matrix.h"
#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/wave_arithmetic.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

// A GEMM with every configuration measured at seven problems.
class UncertaintyTest : public ::testing::Test {
 protected:
  explicit UncertaintyTest(WaveForm form = WaveForm::kOverlap)
      : device_(testing::GemmSpec(form), {}), input_(device_.Input()) {
    for (const Candidate& candidate : input_.candidates[0]) {
      for (const int64_t m : {64, 128, 512, 1024, 2048, 4096, 8192}) {
        Problem problem;
        problem.extents = {m, 4096, 4096};
        input_.samples.push_back(
            device_.Measure({candidate.configuration, problem}));
      }
    }
  }

  // Models of all candidates, with margins, and what they were made from.
  void Fit() {
    state_ = MakeProfileState(input_).value();
    models_ = FitCandidates(Specialisation(), input_.device.multiprocessors,
                            /*fewest=*/1);
    SetUncertainty(Specialisation(), models_);
  }

  const SpecialisationState& Specialisation() const {
    return state_.specialisations[0];
  }

  // Margins of a candidate's segments that have observations.
  std::vector<int> MeasuredMargins(size_t candidate) const {
    std::vector<int> margins;
    const CandidateModel& model = models_[candidate];
    for (size_t r = 0; r < model.models.size(); ++r) {
      for (size_t w = 0; w < model.models[r].segments.size(); ++w) {
        if (model.quality[r][w].own == 0) continue;
        margins.push_back(model.models[r].segments[w].rank_margin);
      }
    }
    return margins;
  }

  testing::SyntheticDevice device_;
  ProfileInput input_;
  ProfileState state_;
  std::vector<CandidateModel> models_;
};

// Multiplies a candidate's latencies by 1 + share and 1 - share in turn.
void Disturb(const Configuration& configuration, double share,
             std::vector<Sample>& samples) {
  bool up = true;
  for (Sample& sample : samples) {
    if (sample.configuration != configuration) continue;
    sample.latency_us *= up ? 1 + share : 1 - share;
    up = !up;
  }
}

TEST_F(UncertaintyTest, MarginsAreZeroWhereNothingWasMeasured) {
  Fit();
  int unmeasured = 0;
  for (const CandidateModel& model : models_) {
    for (size_t r = 0; r < model.models.size(); ++r) {
      for (size_t w = 0; w < model.models[r].segments.size(); ++w) {
        if (model.quality[r][w].own > 0) continue;
        EXPECT_EQ(model.models[r].segments[w].rank_margin, 0);
        ++unmeasured;
      }
    }
  }
  EXPECT_GT(unmeasured, 0);
}

TEST_F(UncertaintyTest, MarginsAreLargestForWhoFitsWorst) {
  const Configuration noisy = input_.candidates[0][1].configuration;
  Disturb(noisy, 0.2, input_.samples);
  Fit();
  int of_noisy = 0;
  int of_others = 0;
  for (size_t i = 0; i < models_.size(); ++i) {
    const std::vector<int> margins = MeasuredMargins(i);
    ASSERT_FALSE(margins.empty());
    const int most = *std::max_element(margins.begin(), margins.end());
    const bool is_noisy =
        Specialisation().candidates[i].candidate->configuration == noisy;
    int& least_or_most = is_noisy ? of_noisy : of_others;
    least_or_most = std::max(least_or_most, most);
  }
  EXPECT_GT(of_noisy, of_others);
}

TEST_F(UncertaintyTest, MarginsShrinkWithTheSamplesOfASegment) {
  for (const Candidate& candidate : input_.candidates[0]) {
    Disturb(candidate.configuration, 0.05, input_.samples);
  }
  Fit();
  const int before = MeasuredMargins(0).back();
  EXPECT_GT(before, 0);
  // The same problems' neighbours: more of the same residuals.
  const size_t count = input_.samples.size();
  for (size_t s = 0; s < count; ++s) {
    for (const int64_t more : {8, 16, 24}) {
      Sample sample = input_.samples[s];
      sample.problem.extents[2] += 64 * more;
      const double measured_us = sample.latency_us;
      sample = device_.Measure({sample.configuration, sample.problem});
      const Sample exact =
          device_.Measure({sample.configuration, input_.samples[s].problem});
      sample.latency_us *= measured_us / exact.latency_us;
      input_.samples.push_back(sample);
    }
  }
  Fit();
  EXPECT_LT(MeasuredMargins(0).back(), before);
  EXPECT_GT(MeasuredMargins(0).back(), 0);
}

TEST_F(UncertaintyTest, MarginsAreAtMostAQuarterWhateverTheSamples) {
  for (const Candidate& candidate : input_.candidates[0]) {
    Disturb(candidate.configuration, 0.9, input_.samples);
  }
  Fit();
  for (size_t i = 0; i < models_.size(); ++i) {
    for (const int margin : MeasuredMargins(i)) {
      // The residual counts as 0.3 at most, with one sample at least.
      EXPECT_LE(margin,
                std::ceil((kRankErrors * kMostResidual) / kRankMarginUnit));
      EXPECT_LE(margin, UINT8_MAX);
    }
  }
}

TEST_F(UncertaintyTest, MarginsAreWhatTheMatrixCompetesWith) {
  Disturb(input_.candidates[0][1].configuration, 0.2, input_.samples);
  Fit();
  const LatencyMatrix matrix = PredictMatrix(Specialisation(), models_);
  int slower = 0;
  for (size_t i = 0; i < models_.size(); ++i) {
    const CandidateState& c = Specialisation().candidates[i];
    for (size_t p = 0; p < c.at.size(); ++p) {
      if (!c.legal[p]) continue;
      const SubTable& axes = Specialisation().axes;
      const double predicted_us = PredictUs(axes, models_[i], c.at[p]);
      EXPECT_EQ(matrix[i][p], predicted_us * RankFactorOf(SegmentAt(
                                                 axes, models_[i], c.at[p])));
      slower += matrix[i][p] > predicted_us;
    }
  }
  EXPECT_GT(slower, 0);
}

TEST_F(UncertaintyTest, SegmentsWithoutObservationsAreTheLeastSure) {
  Fit();
  int compared = 0;
  for (const CandidateModel& model : models_) {
    for (size_t r = 0; r < model.models.size(); ++r) {
      for (size_t w = 0; w < model.models[r].segments.size(); ++w) {
        const Uncertainty& of_segment = model.uncertainty[r][w];
        if (model.quality[r][w].own > 0) continue;
        EXPECT_GE(Sigma(of_segment), kUnmeasuredMargin);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 0);
}

TEST_F(UncertaintyTest, IsOfScatterAndBiasTogether) {
  EXPECT_DOUBLE_EQ(Sigma({.scatter = 0.06, .bias = 0.08}), 0.1);
  EXPECT_EQ(Sigma({.scatter = 0.01, .bias = 0.01}), kLeastSigma);
}

class UncertaintyOfSumTest : public UncertaintyTest {
 protected:
  UncertaintyOfSumTest() : UncertaintyTest(WaveForm::kSum) {}
};

TEST_F(UncertaintyOfSumTest, MarginsAreZero) {
  Disturb(input_.candidates[0][1].configuration, 0.2, input_.samples);
  Fit();
  for (size_t i = 0; i < models_.size(); ++i) {
    for (const int margin : MeasuredMargins(i)) EXPECT_EQ(margin, 0);
  }
}

}  // namespace
}  // namespace wavetune
