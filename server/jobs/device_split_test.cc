#include "server/jobs/device_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// `candidates` x `problems`, problem by problem.
std::vector<MeasureItem> Items(int64_t candidates, int64_t problems) {
  std::vector<MeasureItem> items;
  for (int64_t m = 1; m <= problems; ++m) {
    for (int64_t c = 1; c <= candidates; ++c) {
      items.push_back({Configuration({c}), {.extents = {m}}});
    }
  }
  return items;
}

int LevelOf(const Problem& problem) {
  return static_cast<int>(problem.extents[0] % 4);
}

std::vector<size_t> Flat(const std::vector<std::vector<size_t>>& parts) {
  std::vector<size_t> all;
  for (const auto& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  return all;
}

TEST(DeviceSplitTest, EachItemIsInOnePart) {
  const std::vector<MeasureItem> items = Items(37, 11);
  std::vector<size_t> all(items.size());
  std::iota(all.begin(), all.end(), 0u);
  for (const KeepTogether together :
       {KeepTogether::kNothing, KeepTogether::kProblem}) {
    for (const size_t devices : {1u, 2u, 8u}) {
      EXPECT_EQ(Flat(SplitIntoParts(items, together, devices, LevelOf)), all);
    }
  }
}

TEST(DeviceSplitTest, CandidatesOfAComparisonStayTogether) {
  const std::vector<MeasureItem> items = Items(5, 40);
  const auto parts = SplitIntoParts(items, KeepTogether::kProblem, 8, LevelOf);
  std::map<Problem, std::set<size_t>> parts_of;
  for (size_t p = 0; p < parts.size(); ++p) {
    EXPECT_LE(parts[p].size(), kMaxPartItems);
    for (const size_t i : parts[p]) parts_of[items[i].problem].insert(p);
  }
  for (const auto& [problem, in] : parts_of) EXPECT_THAT(in, SizeIs(1));
}

TEST(DeviceSplitTest, AComparisonOfManyCandidatesIsOnePart) {
  EXPECT_THAT(SplitIntoParts(Items(100, 2), KeepTogether::kProblem, 8, LevelOf),
              ElementsAre(SizeIs(100), SizeIs(100)));
}

TEST(DeviceSplitTest, LightProblemsComeBeforeHeavyOnes) {
  const std::vector<MeasureItem> items = Items(4, 16);
  for (const KeepTogether together :
       {KeepTogether::kNothing, KeepTogether::kProblem}) {
    int before = 0;
    for (const auto& part : SplitIntoParts(items, together, 2, LevelOf)) {
      EXPECT_LE(part.size(), 16u);
      for (const size_t i : part) {
        const int level = LevelOf(items[i].problem);
        EXPECT_GE(level, before);
        before = level;
      }
    }
    EXPECT_EQ(before, 3);
  }
}

TEST(DeviceSplitTest, PartsOfHeavyProblemsHaveFewItems) {
  // One in ten is 16 octaves heavier.
  const auto level_of = [](const Problem& problem) {
    return problem.extents[0] % 10 == 0 ? 16 : 0;
  };
  const std::vector<MeasureItem> items = Items(1, 500);
  int parts_with_heavy = 0;
  for (const auto& part :
       SplitIntoParts(items, KeepTogether::kNothing, 2, level_of)) {
    const auto heavy = std::count_if(part.begin(), part.end(), [&](size_t i) {
      return level_of(items[i].problem) > 0;
    });
    EXPECT_LE(heavy, 7);
    parts_with_heavy += heavy > 0 ? 1 : 0;
  }
  EXPECT_GE(parts_with_heavy, 8);  // Nearly all of the time: four a device.
}

TEST(DeviceSplitTest, PartsAreSmallWhereNothingIsKeptTogether) {
  for (const auto& part :
       SplitIntoParts(Items(300, 3), KeepTogether::kNothing, 2, LevelOf)) {
    EXPECT_LE(part.size(), kMaxPartItems);
  }
}

TEST(NextPartTest, OneDeviceTakesTheLightestAndAnotherTheHeaviest) {
  EXPECT_EQ(NextPart(0, 2, {0, 1, 2, 3}, 4), 0u);
  EXPECT_EQ(NextPart(1, 2, {1, 2, 3}, 4), 2u);
  EXPECT_EQ(NextPart(0, 2, {1, 2}, 4), 0u);
  EXPECT_EQ(NextPart(1, 2, {2}, 4), 0u);
}

TEST(NextPartTest, DevicesBetweenBeginAtTheirPlace) {
  EXPECT_EQ(NextPart(1, 3, {0, 1, 2, 3, 4}, 5), 2u);
  EXPECT_EQ(NextPart(1, 3, {0, 1, 4}, 5), 1u);
  EXPECT_EQ(NextPart(2, 3, {0, 1}, 5), 1u);
}

TEST(NextPartTest, ADeviceThatNobodyKnowsAndOneAloneTakeOneToo) {
  EXPECT_EQ(NextPart(7, 2, {0, 1}, 2), 1u);
  EXPECT_EQ(NextPart(0, 1, {0, 1}, 2), 0u);
  EXPECT_EQ(NextPart(0, 0, {0}, 1), 0u);
}

TEST(DeviceSplitTest, AFewItemsAreSpreadOverAllDevices) {
  EXPECT_THAT(SplitIntoParts(Items(8, 2), KeepTogether::kNothing, 8, LevelOf),
              SizeIs(Ge(8u)));
  EXPECT_THAT(SplitIntoParts(Items(2, 16), KeepTogether::kProblem, 8, LevelOf),
              SizeIs(Ge(8u)));
}

TEST(DeviceSplitTest, NothingIsNoPart) {
  EXPECT_THAT(SplitIntoParts({}, KeepTogether::kProblem, 2, LevelOf),
              IsEmpty());
}

TEST(CommonSetTest, IsSpreadOverTheItems) {
  EXPECT_THAT(CommonSet(Items(1, 8), 4), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(CommonSet(Items(1, 3), 16), ElementsAre(0, 1, 2));
}

TEST(CommonSetTest, LeavesOutVendorsLibraries) {
  std::vector<MeasureItem> items = Items(1, 3);
  items[1].vendor_baseline = "cublas";
  EXPECT_THAT(CommonSet(items, 16), ElementsAre(0, 2));
}

}  // namespace
}  // namespace wavetune
