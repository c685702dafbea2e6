#include "wavetune/expected_routing.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

int64_t Sum(const std::vector<int64_t>& slots) {
  return std::accumulate(slots.begin(), slots.end(), int64_t{0});
}

int64_t Tiles(const std::vector<int64_t>& slots, int64_t rows) {
  int64_t tiles = 0;
  for (const int64_t n : slots) tiles += (n + rows - 1) / rows;
  return tiles;
}

ExpectedRouting Drawn(int64_t experts, int64_t top_k) {
  return *ExpectedRouting::Create(experts, top_k);
}

// What ranks, compilers and the Python package agree on
// (client/python/tests/test_routing.py has the same).
TEST(ExpectedRoutingTest, GivesTheseSlotsEverywhere) {
  EXPECT_THAT(Drawn(8, 2).Slots(100, 8),
              ElementsAre(7, 28, 5, 18, 53, 11, 15, 63));
  EXPECT_THAT(Drawn(8, 2).Slots(9000, 8),
              ElementsAre(1045, 2604, 415, 1420, 3722, 732, 2028, 6034));
  EXPECT_THAT(Drawn(16, 4).Slots(5, 16),
              ElementsAre(0, 2, 0, 2, 0, 0, 1, 2, 3, 0, 3, 0, 1, 1, 1, 4));
}

TEST(ExpectedRoutingTest, SlotsAddUpAndNoExpertHasATokenTwice) {
  for (const auto& [experts, top_k] : {std::pair<int64_t, int64_t>{8, 2},
                                       {8, 8},
                                       {128, 8},
                                       {1, 1},
                                       {512, 10}}) {
    const ExpectedRouting routing = Drawn(experts, top_k);
    for (const int64_t tokens :
         {0, 1, 2, 63, 64, 65, 700, 4095, 4096, 4097, 6000, 16384, 1 << 20}) {
      const std::vector<int64_t> slots = routing.Slots(tokens, experts);
      ASSERT_EQ(static_cast<int64_t>(slots.size()), experts);
      EXPECT_EQ(Sum(slots), tokens * top_k);
      EXPECT_LE(*std::max_element(slots.begin(), slots.end()), tokens);
      EXPECT_GE(*std::min_element(slots.begin(), slots.end()), 0);
    }
  }
}

TEST(ExpectedRoutingTest, SlotsNeverFallWhereTokensAreAdded) {
  const ExpectedRouting routing = Drawn(60, 4);
  std::vector<int64_t> before = routing.Slots(0, 60);
  for (int64_t tokens = 1; tokens <= 4096; tokens += 7) {
    const std::vector<int64_t> slots = routing.Slots(tokens, 60);
    for (size_t i = 0; i < slots.size(); ++i) ASSERT_GE(slots[i], before[i]);
    before = slots;
  }
}

TEST(ExpectedRoutingTest, ATileAsHighAsTheMeanIsNotFree) {
  const std::vector<int64_t> even =
      ExpectedRouting::Create(128, 8, Popularity::kEven)->Slots(4096, 128);
  const std::vector<int64_t> drawn = Drawn(128, 8).Slots(4096, 128);
  EXPECT_EQ(Tiles(even, 256), 128);
  EXPECT_GT(Tiles(drawn, 256), 170);
}

TEST(ExpectedRoutingTest, SomeExpertsAreWantedSeveralTimesAsMuchAsOthers) {
  std::vector<int64_t> slots = Drawn(128, 8).Slots(4096, 128);
  std::sort(slots.begin(), slots.end());
  // Log-normal, sigma 1: upper and lower quartile differ by e^1.35.
  EXPECT_NEAR(static_cast<double>(slots[96]) / static_cast<double>(slots[32]),
              3.86, 0.8);
}

TEST(ExpectedRoutingTest, APartHasItsShare) {
  const ExpectedRouting routing = Drawn(128, 8);
  for (const int64_t local : {16, 32, 64}) {
    EXPECT_NEAR(static_cast<double>(Sum(routing.Slots(4096, local))),
                4096.0 * 8 * static_cast<double>(local) / 128,
                4096.0 * 8 * 0.06);
  }
}

TEST(ExpectedRoutingTest, EvenSlotsDifferByOneAndTheLargerStandFirst) {
  const ExpectedRouting even =
      *ExpectedRouting::Create(4, 2, Popularity::kEven);
  EXPECT_THAT(even.Slots(3, 4), ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(even.Slots(3, 2), ElementsAre(2, 2));
  EXPECT_THAT(even.Slots(1, 4), ElementsAre(1, 1, 0, 0));
}

TEST(ExpectedRoutingTest, ARecordedHistogramIsDrawnFrom) {
  const int64_t counts[] = {1, 1'000'000'000, 1, 500'000'000};
  std::vector<int64_t> slots =
      ExpectedRouting::FromHistogram(counts, 1)->Slots(3000, 4);
  std::sort(slots.begin(), slots.end());
  EXPECT_LE(slots[1], 1);
  EXPECT_NEAR(static_cast<double>(slots[2]), 1000, 100);
  EXPECT_NEAR(static_cast<double>(slots[3]), 2000, 100);
}

TEST(ExpectedRoutingTest, WhereFewExpertsAreWantedTokensTakeOthersToo) {
  std::vector<int64_t> counts(64);
  counts[7] = 1 << 30;
  const std::vector<int64_t> slots =
      ExpectedRouting::FromHistogram(counts, 6)->Slots(100, 64);
  EXPECT_EQ(Sum(slots), 600);
  EXPECT_EQ(*std::max_element(slots.begin(), slots.end()), 100);
}

TEST(ExpectedRoutingTest, WhatIsKnownOfExpertsSaysWhichItIs) {
  const auto of = [](const ExpertPopularity& known) {
    return ExpectedRouting::Create(4, 2, known)->Slots(999, 4);
  };
  EXPECT_EQ(of({}), ExpectedRouting::Create(4, 2)->Slots(999, 4));
  EXPECT_EQ(of({.popularity = Popularity::kEven}),
            ExpectedRouting::Create(4, 2, Popularity::kEven)->Slots(999, 4));
  EXPECT_EQ(of({.counts = {1, 2, 3, 4}}),
            ExpectedRouting::FromHistogram({1, 2, 3, 4}, 2)->Slots(999, 4));
}

TEST(ExpectedRoutingTest, RefusesWhatIsNoRouting) {
  const auto refused = [](const auto& routing, absl::string_view why) {
    EXPECT_EQ(routing.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(routing.status().message()), HasSubstr(why));
  };
  refused(ExpectedRouting::Create(8, 9), "takes 9 of 8 experts");
  refused(ExpectedRouting::Create(8, 0), "takes 0 of 8");
  refused(ExpectedRouting::Create(0, 0), "takes 0 of 0");
  refused(ExpectedRouting::Create(1 << 20, 1), "of at most 65536 experts");
  refused(ExpectedRouting::Create(1024, 65), "experts at most 64");
  refused(ExpectedRouting::FromHistogram({}, 1), "takes 1 of 0");
  const int64_t zeros[] = {0, 0, 0};
  refused(ExpectedRouting::FromHistogram(zeros, 1), "zeros alone");
  const int64_t negative[] = {5, -2, 0};
  refused(ExpectedRouting::FromHistogram(negative, 1), "a count of -2");
  refused(ExpectedRouting::Create(3, 1, ExpertPopularity{.counts = {1, 2}}),
          "counts of 2 experts, the layer has 3: record the histogram with");
}

}  // namespace
}  // namespace wavetune
