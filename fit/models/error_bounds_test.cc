#include "fit/models/error_bounds.h"

#include <gtest/gtest.h>

namespace wavetune {
namespace {

TEST(ErrorBoundsTest, FixedRuleIsWiderWhereTheFitIsWorseOrThinner) {
  const BoundRule rule;
  const double good =
      RelativeBound(rule, 0, 0, {.own = 20, .mean_residual = 0.01});
  const double bad =
      RelativeBound(rule, 0, 0, {.own = 20, .mean_residual = 0.06});
  const double thin =
      RelativeBound(rule, 0, 0, {.own = 3, .mean_residual = 0.06});
  EXPECT_DOUBLE_EQ(good, 0.08);
  EXPECT_GT(bad, good);
  EXPECT_GT(thin, bad);
  EXPECT_LE(thin, rule.most);
}

TEST(ErrorBoundsTest, UnmeasuredSegmentsGetTheLargest) {
  const BoundRule rule;
  EXPECT_EQ(RelativeBound(rule, 0, 0, {}), rule.most);
  EXPECT_GT(ExtrapolatedBound(rule, 0, 0, {}), rule.most);
}

TEST(ErrorBoundsTest, SegmentsWithAFactorOfTheirOwnUseIt) {
  BoundRule rule;
  rule.own_factors = {{0, 1.5}};
  const SegmentQuality quality{.own = 20, .mean_residual = 0.05};
  EXPECT_LT(RelativeBound(rule, 0, 1, quality),
            RelativeBound(rule, 0, 0, quality));
}

TEST(ErrorBoundsTest, WithoutTrustedObservationsTheRuleIsWider) {
  SpecialisationState state;
  state.candidates.resize(1);
  state.candidates[0].observations.push_back({.latency_us = 1, .weight = 0.1});
  EXPECT_GT(CalibrateBounds(state, {0}, 132).factor, BoundRule().factor);
}

}  // namespace
}  // namespace wavetune
