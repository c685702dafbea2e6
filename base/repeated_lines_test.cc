#include "base/repeated_lines.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecond = 1'000'000;

TEST(RepeatedLinesTest, TheFirstOfAKindIsWrittenAtOnce) {
  RepeatedLines lines;
  EXPECT_THAT(lines.Admit("a", "one", 0), ElementsAre("one"));
  EXPECT_THAT(lines.Admit("b", "two", 0), ElementsAre("two"));
}

TEST(RepeatedLinesTest, RepeatsAreSummedUpAfterTheInterval) {
  RepeatedLines lines;
  lines.Admit("a", "bad bytes", 0);
  for (int i = 0; i < 1234; ++i) {
    EXPECT_THAT(lines.Admit("a", "other bad bytes", i), IsEmpty());
  }
  EXPECT_TRUE(lines.pending());
  EXPECT_THAT(lines.Due(9 * kSecond), IsEmpty());
  EXPECT_THAT(lines.Due(10 * kSecond),
              ElementsAre("bad bytes ... repeated 1,234 times in 10 s"));
  EXPECT_FALSE(lines.pending());
  EXPECT_THAT(lines.Admit("a", "again", 11 * kSecond), ElementsAre("again"));
}

TEST(RepeatedLinesTest, WhatComesLateBringsTheSummaryAlong) {
  RepeatedLines lines;
  lines.Admit("a", "one", 0);
  lines.Admit("a", "two", kSecond);
  EXPECT_THAT(lines.Admit("a", "three", 20 * kSecond),
              ElementsAre("one ... repeated 1 time in 20 s", "three"));
}

TEST(RepeatedLinesTest, NothingIsSummedUpWhereNothingWasRepeated) {
  RepeatedLines lines;
  lines.Admit("a", "one", 0);
  EXPECT_THAT(lines.Due(60 * kSecond), IsEmpty());
}

TEST(RepeatedLinesTest, TheRestIsSummedUpAtTheEnd) {
  RepeatedLines lines;
  lines.Admit("a", "one", 0);
  lines.Admit("a", "one", 1);
  EXPECT_THAT(lines.Rest(2 * kSecond),
              ElementsAre("one ... repeated 1 time in 2 s"));
}

TEST(RepeatedLinesTest, KindsAndTextsAreBounded) {
  RepeatedLines lines;
  size_t written = 0;
  for (int i = 0; i < 1000; ++i) {
    written += lines.Admit(std::to_string(i), std::string(5000, 'x'), i).size();
  }
  EXPECT_EQ(written, RepeatedLines::kMaxKinds + 1);
  const std::string most = std::string(RepeatedLines::kMaxBytes, 'x') + "...";
  EXPECT_THAT(lines.Admit("x", "y", 20 * kSecond),
              ElementsAre(most + " ... and 935 more lines in 20 s", "y"));
}

}  // namespace
}  // namespace wavetune
