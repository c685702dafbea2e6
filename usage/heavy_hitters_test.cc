#include "usage/heavy_hitters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "tests/lib/lcg.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Problem Of(int64_t m) { return {.extents = {m, 64, 64}}; }

TEST(HeavyHittersTest, IsExactWhileEverythingFits) {
  HeavyHitters used(3);
  used.Add(Of(1), 5);
  used.Add(Of(2), 7);
  used.Add(Of(1), 4);
  EXPECT_THAT(used.Top(10), ElementsAre(HeavyHitters::Entry{Of(1), 9, 0},
                                        HeavyHitters::Entry{Of(2), 7, 0}));
  EXPECT_EQ(used.total(), 16);
  EXPECT_THAT(used.Top(1), ElementsAre(HeavyHitters::Entry{Of(1), 9, 0}));
}

TEST(HeavyHittersTest, TellsSpecialisationsApart) {
  HeavyHitters used(3);
  used.Add({.extents = {1}, .specialisation = "a"}, 1);
  used.Add({.extents = {1}, .specialisation = "b"}, 1);
  EXPECT_EQ(used.size(), 2u);
}

TEST(HeavyHittersTest, ANewProblemInheritsFromTheLightest) {
  HeavyHitters used(2);
  used.Add(Of(1), 10);
  used.Add(Of(2), 3);
  used.Add(Of(3), 1);
  EXPECT_THAT(used.Top(10), ElementsAre(HeavyHitters::Entry{Of(1), 10, 0},
                                        HeavyHitters::Entry{Of(3), 4, 3}));
}

TEST(HeavyHittersTest, ErrorsOfAnotherSketchComeOnTop) {
  HeavyHitters used(1);
  used.Add(Of(1), 10, 2);
  used.Add(Of(1), 10, 1);
  EXPECT_THAT(used.Top(1), ElementsAre(HeavyHitters::Entry{Of(1), 20, 3}));
  used.Add(Of(2), 5, 4);
  EXPECT_THAT(used.Top(1), ElementsAre(HeavyHitters::Entry{Of(2), 25, 24}));
}

TEST(HeavyHittersTest, EqualWeightsComeInTheOrderOfProblems) {
  HeavyHitters used(4);
  for (const int64_t m : {3, 1, 2}) used.Add(Of(m), 1);
  const auto top = used.Top(3);
  EXPECT_EQ(top[0].problem, Of(1));
  EXPECT_EQ(top[2].problem, Of(3));
}

TEST(HeavyHittersTest, IgnoresWhatIsNoWeight) {
  HeavyHitters used(2);
  for (const double weight :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity()}) {
    used.Add(Of(1), weight);
  }
  EXPECT_THAT(used.Top(2), IsEmpty());
  EXPECT_EQ(used.total(), 0);
  used.Add(Of(1), 2, std::numeric_limits<double>::quiet_NaN());
  used.Add(Of(2), 2, 5);
  EXPECT_THAT(used.Top(2), ElementsAre(HeavyHitters::Entry{Of(1), 2, 0},
                                       HeavyHitters::Entry{Of(2), 2, 2}));
}

TEST(HeavyHittersTest, DecayForgets) {
  HeavyHitters used(2);
  used.Add(Of(1), 1000);
  used.Add(Of(2), 1e-6);
  used.Scale(0.5);
  EXPECT_THAT(used.Top(10), ElementsAre(HeavyHitters::Entry{Of(1), 500, 0}));
  used.Scale(2);  // Not a decay.
  EXPECT_EQ(used.Top(1)[0].weight, 500);
  used.Scale(0);
  EXPECT_THAT(used.Top(10), IsEmpty());
  EXPECT_EQ(used.total(), 0);
}

// Streams as servers make them: few problems most of the time, and a long tail.
class HeavyHittersBoundTest : public ::testing::TestWithParam<int> {
 protected:
  // Weights of one stream, added to `used` and `truth`.
  static void Feed(testing::Lcg& random, HeavyHitters& used,
                   std::map<Problem, double>& truth) {
    for (int i = 0; i < 20000; ++i) {
      const bool heavy = random.Between(0, 9) < 6;
      const Problem problem =
          Of(heavy ? random.Between(1, 12) : random.Between(1, 4000));
      const auto weight = static_cast<double>(random.Between(1, 100));
      used.Add(problem, weight);
      truth[problem] += weight;
    }
  }
  // The two promises of the header.
  static void Check(const HeavyHitters& used,
                    const std::map<Problem, double>& truth, size_t capacity) {
    double total = 0;
    for (const auto& [problem, weight] : truth) total += weight;
    const double most_error = total / static_cast<double>(capacity);
    EXPECT_NEAR(used.total(), total, 1e-6 * total);
    std::map<Problem, HeavyHitters::Entry> entries;
    for (const auto& entry : used.Top(capacity)) {
      entries[entry.problem] = entry;
    }
    EXPECT_LE(entries.size(), capacity);
    for (const auto& [problem, entry] : entries) {
      const auto found = truth.find(problem);
      ASSERT_NE(found, truth.end());
      EXPECT_GE(entry.weight, found->second);
      EXPECT_LE(entry.weight, found->second + entry.error + 1e-6);
      EXPECT_LE(entry.error, most_error + 1e-6);
    }
    for (const auto& [problem, weight] : truth) {
      if (weight > most_error) {
        EXPECT_TRUE(entries.contains(problem));
      }
    }
  }
};

TEST_P(HeavyHittersBoundTest, KeepsItsPromises) {
  testing::Lcg random(static_cast<uint64_t>(GetParam()));
  for (const size_t capacity : {1u, 8u, 64u}) {
    HeavyHitters used(capacity);
    std::map<Problem, double> truth;
    Feed(random, used, truth);
    Check(used, truth, capacity);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, HeavyHittersBoundTest, ::testing::Range(0, 5));

}  // namespace
}  // namespace wavetune
