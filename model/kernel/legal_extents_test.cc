#include "model/kernel/legal_extents.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using Operator = Relation::Operator;

Relation::Term Constant(int64_t value) { return {.coefficient = value}; }

Relation::Term ExtentTerm(int32_t index, int64_t coefficient = 1) {
  return {.coefficient = coefficient, .dimensions = {index}};
}

// Returns the extents of m=10, n=20, k=30 made legal, with m and k free to
// move in [1, 1000]; empty where they cannot be.
std::vector<int64_t> Legal(const std::vector<Relation>& predicates,
                           bool prefer_down = false) {
  KernelSpec spec = testing::GemmSpec();
  spec.problem_predicates.clear();
  for (const Relation& predicate : predicates) {
    spec.problem_predicates.push_back(testing::ConditionOf(predicate));
  }
  Problem problem{.extents = {10, 20, 30}};
  const std::vector<ExtentRange> ranges = {
      {.dimension = 2, .low = 1, .high = 1000, .prefer_down = prefer_down},
      {.dimension = 0, .low = 1, .high = 1000, .prefer_down = prefer_down}};
  if (!MakeLegal(spec, spec.default_configuration, ranges, problem)) return {};
  return problem.extents;
}

TEST(MakeLegalTest, LeavesALegalProblemAlone) {
  EXPECT_THAT(Legal({}), ElementsAre(10, 20, 30));
  EXPECT_THAT(Legal({{{ExtentTerm(2)}, Operator::kMultipleOf, {Constant(6)}}}),
              ElementsAre(10, 20, 30));
}

TEST(MakeLegalTest, RoundsMultiplesUpOrDown) {
  const Relation predicate{
      {ExtentTerm(2)}, Operator::kMultipleOf, {Constant(8)}};
  EXPECT_THAT(Legal({predicate}), ElementsAre(10, 20, 32));
  EXPECT_THAT(Legal({predicate}, true), ElementsAre(10, 20, 24));
}

TEST(MakeLegalTest, RoundsOnlyAsFarAsOtherFactorsDemand) {
  // 4 * k % 28 == 0 needs k % 7 == 0; n * m % 16 == 0 needs m % 4 == 0.
  EXPECT_THAT(
      Legal({{{ExtentTerm(2, 4)}, Operator::kMultipleOf, {Constant(28)}}}),
      ElementsAre(10, 20, 35));
  EXPECT_THAT(Legal({{{{.coefficient = 1, .dimensions = {0, 1}}},
                      Operator::kMultipleOf,
                      {Constant(16)}}}),
              ElementsAre(12, 20, 30));
}

TEST(MakeLegalTest, MovesToTheNearestExtentThatFulfilsAComparison) {
  EXPECT_THAT(Legal({{{ExtentTerm(2)}, Operator::kGreater, {Constant(40)}}}),
              ElementsAre(10, 20, 41));
  EXPECT_THAT(Legal({{{ExtentTerm(2)}, Operator::kLessOrEqual, {Constant(7)}}}),
              ElementsAre(10, 20, 7));
  EXPECT_THAT(Legal({{{ExtentTerm(2)}, Operator::kEqual, {ExtentTerm(0, 4)}}}),
              ElementsAre(10, 20, 40));
  EXPECT_THAT(
      Legal({{{ExtentTerm(2)}, Operator::kNotEqual, {ExtentTerm(0, 3)}}}),
      ElementsAre(10, 20, 31));
}

TEST(MakeLegalTest, MeetsSeveralPredicatesTogether) {
  EXPECT_THAT(Legal({{{ExtentTerm(2)}, Operator::kMultipleOf, {Constant(8)}},
                     {{ExtentTerm(2)}, Operator::kGreater, {Constant(41)}},
                     {{ExtentTerm(0)}, Operator::kMultipleOf, {Constant(4)}}}),
              ElementsAre(12, 20, 48));
}

TEST(MakeLegalTest, SaysWhereItCannot) {
  // n has no range.
  EXPECT_TRUE(
      Legal({{{ExtentTerm(1)}, Operator::kMultipleOf, {Constant(3)}}}).empty());
  EXPECT_TRUE(
      Legal({{{ExtentTerm(2)}, Operator::kGreater, {Constant(1000)}}}).empty());
  EXPECT_TRUE(
      Legal({{{ExtentTerm(2)}, Operator::kMultipleOf, {Constant(0)}}}).empty());
}

TEST(MakeLegalTest, MovesEveryElementOfARepeatedDimension) {
  KernelSpec spec = testing::GroupedGemmSpec();
  spec.problem_predicates = {testing::ConditionOf(
      {{ExtentTerm(0)}, Operator::kMultipleOf, {Constant(8)}})};
  Problem problem{.extents = {0, 20, 30}, .repeated = {3, 16, 17}};
  std::vector<ExtentRange> ranges;
  for (int32_t i = 0; i < 3; ++i) {
    ranges.push_back({.dimension = 0, .element = i, .low = 1, .high = 32});
  }
  EXPECT_TRUE(MakeLegal(spec, spec.default_configuration, ranges, problem));
  EXPECT_THAT(problem.repeated, ElementsAre(8, 16, 24));
}

}  // namespace
}  // namespace wavetune
