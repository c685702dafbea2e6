#include "fit/models/layer_evidence.h"

#include <gtest/gtest.h>

#include "fit/models/uncertainty.h"

namespace wavetune {
namespace {

TEST(LayerEvidenceTest, WithoutAnyNothingIsCorrected) {
  const LayerEvidence evidence;
  EXPECT_TRUE(evidence.empty());
  EXPECT_EQ(evidence.FactorAt({.extent = 8, .rows = 1}), 1);
}

TEST(LayerEvidenceTest, MostIsBelievedWhereItWasMeasuredAndLessFurtherAway) {
  LayerEvidence evidence;
  evidence.Add({.extent = 16, .rows = 1}, /*excess=*/0.13, /*weight=*/1);
  const auto at = [&](int64_t extent) {
    return evidence.FactorAt({.extent = extent, .rows = 1});
  };
  EXPECT_NEAR(at(16), 1.1, 1e-12);  // 1 / 1.3 of it.
  EXPECT_GT(at(16), at(12));
  EXPECT_GT(at(12), at(4));
  EXPECT_GT(at(4), 1);
  EXPECT_EQ(at(8), at(32));  // Half and double are as far.
}

TEST(LayerEvidenceTest, AnotherNumberOfRowsSaysLess) {
  LayerEvidence evidence;
  evidence.Add({.extent = 16, .rows = 1}, 0.1, 1);
  EXPECT_LT(evidence.FactorAt({.extent = 16, .rows = 2}),
            evidence.FactorAt({.extent = 16, .rows = 1}));
  EXPECT_GT(evidence.FactorAt({.extent = 16, .rows = 2}), 1);
}

TEST(LayerEvidenceTest, ADoubtedMeasurementSaysLess) {
  LayerEvidence trusted;
  LayerEvidence doubted;
  trusted.Add({.extent = 16, .rows = 1}, -0.1, 1);
  doubted.Add({.extent = 16, .rows = 1}, -0.1, 0.1);
  EXPECT_LT(trusted.FactorAt({16, 1}), doubted.FactorAt({16, 1}));
  EXPECT_LT(doubted.FactorAt({16, 1}), 1);
}

TEST(LayerEvidenceTest, AnOutlierNeitherWinsNorLosesALayer) {
  LayerEvidence slow;
  LayerEvidence fast;
  for (int i = 0; i < 50; ++i) {
    slow.Add({.extent = 7, .rows = 1}, 40, 1);
    fast.Add({.extent = 7, .rows = 1}, -0.99, 1);
  }
  EXPECT_LE(slow.FactorAt({7, 1}), 1 + kMostResidual);
  EXPECT_GT(slow.FactorAt({7, 1}), 1.29);
  EXPECT_GE(fast.FactorAt({7, 1}), 1 - kMostResidual);
}

TEST(LayerEvidenceTest, AnExtentOfZeroIsNoDivisor) {
  LayerEvidence evidence;
  evidence.Add({.extent = 0, .rows = 0}, 0.13, 1);
  EXPECT_NEAR(evidence.FactorAt({.extent = 0, .rows = 0}), 1.1, 1e-12);
}

}  // namespace
}  // namespace wavetune
