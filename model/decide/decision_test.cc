#include "wavetune/decision.h"

#include <gtest/gtest.h>

namespace wavetune {
namespace {

TEST(DecisionTest, DefaultsToNoModel) {
  const Decision decision;
  EXPECT_EQ(decision.source, DecisionSource::kDefault);
  EXPECT_EQ(decision.candidate, 0xff);
  EXPECT_EQ(decision.latency_us, 0);
}

TEST(DecisionTest, NamesEverySource) {
  EXPECT_EQ(ToString(DecisionSource::kFitted), "FITTED");
  EXPECT_EQ(ToString(DecisionSource::kExtrapolated), "EXTRAPOLATED");
  EXPECT_EQ(ToString(DecisionSource::kStale), "STALE");
  EXPECT_EQ(ToString(DecisionSource::kDefault), "DEFAULT");
  EXPECT_EQ(ToString(static_cast<DecisionSource>(99)), "UNKNOWN");
}

TEST(DecisionTest, NamesEveryReason) {
  EXPECT_EQ(ToString(DefaultReason::kNone), "NONE");
  EXPECT_EQ(ToString(DefaultReason::kNoTable), "NO_TABLE");
  EXPECT_EQ(ToString(DefaultReason::kWrongDimensionCount),
            "WRONG_DIMENSION_COUNT");
  EXPECT_EQ(ToString(DefaultReason::kExtentOutOfRange), "EXTENT_OUT_OF_RANGE");
  EXPECT_EQ(ToString(DefaultReason::kNoLegalCandidate), "NO_LEGAL_CANDIDATE");
  EXPECT_EQ(ToString(DefaultReason::kPreconditionBroken),
            "PRECONDITION_BROKEN");
  EXPECT_EQ(ToString(DefaultReason::kUnknownSpecialisation),
            "UNKNOWN_SPECIALISATION");
  EXPECT_EQ(ToString(static_cast<DefaultReason>(99)), "UNKNOWN");
}

TEST(DecisionTest, NamesEveryOrigin) {
  EXPECT_EQ(ToString(TableOrigin::kDefaults), "DEFAULTS");
  EXPECT_EQ(ToString(TableOrigin::kDaemon), "DAEMON");
  EXPECT_EQ(ToString(TableOrigin::kCache), "CACHE");
  EXPECT_EQ(ToString(TableOrigin::kFile), "FILE");
  EXPECT_EQ(ToString(static_cast<TableOrigin>(99)), "UNKNOWN");
}

TEST(DecisionTest, TheOriginTakesNoSpaceOfItsOwn) {
  EXPECT_EQ(sizeof(Decision), sizeof(Configuration) + 4 * sizeof(uint64_t));
}

}  // namespace
}  // namespace wavetune
