#include "server/rpc/deafness_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace wavetune {
namespace {

using ::testing::HasSubstr;

class DeafnessProbeTest : public ::testing::Test {
 protected:
  // Returns how many looks of `most` were well, with so much progress between
  // them.
  int WellFor(int most, uint64_t rounds, uint64_t tries, bool waiting) {
    for (int i = 0; i < most; ++i) {
      seen_.rounds += rounds;
      seen_.tries += tries;
      seen_.waiting = waiting;
      last_ = probe_.Look(seen_);
      if (!last_.ok()) return i;
    }
    return most;
  }

  DeafnessProbe probe_;
  DeafnessProbe::Seen seen_{.rounds = 10, .tries = 10};
  absl::Status last_;
};

TEST_F(DeafnessProbeTest, AListenerThatComesRoundIsNotDeaf) {
  EXPECT_EQ(WellFor(1000, 1, 0, false), 1000);
  EXPECT_EQ(WellFor(1000, 5, 5, true), 1000);
}

TEST_F(DeafnessProbeTest, AListenerWhoseThreadHangsIsDeaf) {
  ASSERT_EQ(WellFor(5, 1, 0, false), 5);
  EXPECT_EQ(WellFor(1000, 0, 0, false), DeafnessProbe::kLooks - 1);
  EXPECT_TRUE(absl::IsUnavailable(last_));
  EXPECT_THAT(std::string(last_.message()), HasSubstr("hangs, for 30 s"));
}

TEST_F(DeafnessProbeTest, AListenerThatLeavesConnectionsWaitingIsDeaf) {
  ASSERT_EQ(WellFor(5, 1, 1, false), 5);
  EXPECT_EQ(WellFor(1000, 1, 0, true), DeafnessProbe::kLooks - 1);
  EXPECT_THAT(std::string(last_.message()), HasSubstr("none is taken"));
}

TEST_F(DeafnessProbeTest, AListenerThatTriesInVainIsNotDeaf) {
  // Without descriptors accepting fails, and what waits goes on waiting.
  EXPECT_EQ(WellFor(1000, 1, 1, true), 1000);
}

TEST_F(DeafnessProbeTest, AnyProgressEndsTheDoubt) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(WellFor(1, 1, 1, true), 1);
    EXPECT_EQ(WellFor(DeafnessProbe::kLooks - 1, 0, 0, true),
              DeafnessProbe::kLooks - 1);
  }
}

}  // namespace
}  // namespace wavetune
