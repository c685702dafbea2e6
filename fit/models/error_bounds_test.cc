#include "fit/models/error_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "fit/models/decision_models.h"
#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/wave_form.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

TEST(ErrorBoundsTest, AreAFactorTimesTheUncertainty) {
  const BoundRule rule{.factor = 1.5};
  const Uncertainty good{.scatter = 0.03, .bias = 0.04};
  const Uncertainty bad{.scatter = 0.06, .bias = 0.04};
  EXPECT_DOUBLE_EQ(RelativeBound(rule, good), 0.075);
  EXPECT_GT(RelativeBound(rule, bad), RelativeBound(rule, good));
}

// By what candidates compete slower there: predictions are biased, once,
// however sure or calibrated they are.
TEST(ErrorBoundsTest, AreWiderByTheUnmeasuredMarginOutsideOfTheRange) {
  for (const double scatter : {0.01, 0.2}) {
    for (const double factor : {0.5, 2.0, 4.0}) {
      const Uncertainty of_segment{.scatter = scatter, .bias = 0.01};
      const BoundRule rule{.factor = factor};
      EXPECT_DOUBLE_EQ(ExtrapolatedBound(rule, of_segment),
                       RelativeBound(rule, of_segment) + kUnmeasuredMargin);
    }
  }
}

// A GEMM of which `count` representative problems were measured.
BoundRule RuleAfter(int64_t count) {
  const testing::SyntheticDevice device(testing::GemmSpec(), {.noise = 0.02});
  ProfileInput input = device.Input();
  for (int64_t i = 0; i < 12; ++i) {
    const Problem problem{{64 * (i + 1), 2048, 1024}, {}, {}};
    input.representative_problems.push_back({.problem = problem});
    for (const Candidate& candidate : input.candidates[0]) {
      const Problem other{{64 * (i + 1), 2048, 960}, {}, {}};
      input.samples.push_back(device.Measure(
          {candidate.configuration, i < count ? problem : other}));
    }
  }
  ProfileState state = MakeProfileState(input).value();
  SpecialisationState& only = state.specialisations[0];
  const std::vector<CandidateModel> models = FitDecisionModels(input, only);
  std::vector<size_t> members;
  for (size_t i = 0; i < std::min<size_t>(models.size(), 8); ++i) {
    members.push_back(i);
  }
  return CalibrateBounds(only, models, members, input.device.multiprocessors);
}

TEST(ErrorBoundsTest, AreCalibratedWhereRepresentativeProblemsWereMeasured) {
  const BoundRule calibrated = RuleAfter(12);
  EXPECT_EQ(calibrated.scores, 8 * 12);
  EXPECT_GT(calibrated.factor, 0);
  EXPECT_LT(calibrated.factor, 10);
}

TEST(ErrorBoundsTest, AreFixedWhereTooFewWereMeasured) {
  const BoundRule fixed = RuleAfter(1);
  EXPECT_EQ(fixed.scores, 0);
  EXPECT_EQ(fixed.factor, kSigmas);
}

}  // namespace
}  // namespace wavetune
