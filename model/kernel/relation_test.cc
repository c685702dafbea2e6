#include "model/kernel/relation.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

using Operator = Relation::Operator;
using Term = Relation::Term;

Term ConstantTerm(int64_t value) {
  return {.coefficient = value, .parameters = {}, .dimensions = {}};
}

Term DimTerm(int32_t index, int64_t coefficient = 1) {
  return {.coefficient = coefficient, .parameters = {}, .dimensions = {index}};
}

Term ParTerm(int32_t index, int64_t coefficient = 1) {
  return {.coefficient = coefficient, .parameters = {index}, .dimensions = {}};
}

bool Compares(int64_t left, Operator op, int64_t right) {
  return Holds(
      {.left = {ConstantTerm(left)}, .op = op, .right = {ConstantTerm(right)}},
      ProblemView(), Configuration());
}

TEST(HoldsTest, ComparesByEveryOperator) {
  EXPECT_TRUE(Compares(2, Operator::kEqual, 2));
  EXPECT_FALSE(Compares(2, Operator::kEqual, 3));
  EXPECT_TRUE(Compares(2, Operator::kNotEqual, 3));
  EXPECT_FALSE(Compares(2, Operator::kNotEqual, 2));
  EXPECT_TRUE(Compares(2, Operator::kLess, 3));
  EXPECT_FALSE(Compares(3, Operator::kLess, 3));
  EXPECT_TRUE(Compares(3, Operator::kLessOrEqual, 3));
  EXPECT_FALSE(Compares(4, Operator::kLessOrEqual, 3));
  EXPECT_TRUE(Compares(4, Operator::kGreater, 3));
  EXPECT_FALSE(Compares(3, Operator::kGreater, 3));
  EXPECT_TRUE(Compares(3, Operator::kGreaterOrEqual, 3));
  EXPECT_FALSE(Compares(2, Operator::kGreaterOrEqual, 3));
  EXPECT_TRUE(Compares(6, Operator::kMultipleOf, 3));
  EXPECT_FALSE(Compares(7, Operator::kMultipleOf, 3));
}

TEST(HoldsTest, NothingIsAMultipleOfZeroOrLess) {
  EXPECT_FALSE(Compares(0, Operator::kMultipleOf, 0));
  EXPECT_FALSE(Compares(4, Operator::kMultipleOf, -2));
  EXPECT_TRUE(Compares(0, Operator::kMultipleOf, 5));
}

TEST(HoldsTest, AnUnknownOperatorNeverHolds) {
  EXPECT_FALSE(Compares(1, static_cast<Operator>(0), 1));
}

TEST(HoldsTest, AddsUpProductsOfParametersAndDimensions) {
  // 2 * m + 3 * P0 * P1 == 10 + n
  const Relation relation{
      .left = {DimTerm(0, 2),
               {.coefficient = 3, .parameters = {0, 1}, .dimensions = {}}},
      .op = Operator::kEqual,
      .right = {ConstantTerm(10), DimTerm(1)}};
  const Configuration configuration({2, 5});
  EXPECT_TRUE(Holds(relation, {4, 28}, configuration));
  EXPECT_FALSE(Holds(relation, {4, 29}, configuration));
}

TEST(HoldsTest, EveryElementOfTheRepeatedDimensionMustHold) {
  const Relation relation{
      .left = {DimTerm(0)}, .op = Operator::kMultipleOf, .right = {ParTerm(0)}};
  const Configuration configuration({8});
  const std::vector<int64_t> even = {8, 16, 64};
  const std::vector<int64_t> odd = {8, 17, 64};
  EXPECT_TRUE(Holds(relation, {{0, 1}, even}, configuration, 0));
  EXPECT_FALSE(Holds(relation, {{0, 1}, odd}, configuration, 0));
}

TEST(HoldsTest, IgnoresTheSlotOfTheRepeatedDimension) {
  const Relation relation{
      .left = {DimTerm(0)}, .op = Operator::kLess, .right = {ConstantTerm(10)}};
  const std::vector<int64_t> elements = {1, 2};
  EXPECT_TRUE(Holds(relation, {{99, 1}, elements}, Configuration(), 0));
}

TEST(HoldsTest, ARelationWithoutTheRepeatedDimensionIsComparedOnce) {
  const Relation relation{
      .left = {DimTerm(1)}, .op = Operator::kLess, .right = {ConstantTerm(10)}};
  EXPECT_FALSE(Holds(relation, {0, 11}, Configuration(), 0));
  EXPECT_TRUE(Holds(relation, {0, 9}, Configuration(), 0));
}

TEST(HoldsTest, SaturatesInsteadOfOverflowing) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const Relation relation{
      .left = {{.coefficient = kLeast,
                .parameters = {0},
                .dimensions = {0, 0}}},
      .op = Operator::kLess,
      .right = {{.coefficient = kHuge, .parameters = {0, 0}, .dimensions = {0}},
                ConstantTerm(kHuge)}};
  EXPECT_TRUE(Holds(relation, {kHuge}, Configuration({kHuge})));
}

TEST(HoldsTest, NegativeCoefficientsSubtract) {
  // n - m >= 0
  const Relation relation{.left = {DimTerm(1), DimTerm(0, -1)},
                          .op = Operator::kGreaterOrEqual,
                          .right = {ConstantTerm(0)}};
  EXPECT_TRUE(Holds(relation, {3, 3}, Configuration()));
  EXPECT_FALSE(Holds(relation, {4, 3}, Configuration()));
}

}  // namespace
}  // namespace wavetune
