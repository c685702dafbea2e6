#include "model/kernel/relation.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/testing/relation_terms.h"

namespace wavetune {
namespace {

using Operator = Relation::Operator;
using Term = Relation::Term;
using testing::ConstantTerm;
using testing::DimTerm;

TEST(RelationTest, ComparesByEveryOperator) {
  EXPECT_TRUE(Satisfies(2, Operator::kEqual, 2));
  EXPECT_FALSE(Satisfies(2, Operator::kEqual, 3));
  EXPECT_TRUE(Satisfies(2, Operator::kNotEqual, 3));
  EXPECT_FALSE(Satisfies(2, Operator::kNotEqual, 2));
  EXPECT_TRUE(Satisfies(2, Operator::kLess, 3));
  EXPECT_FALSE(Satisfies(3, Operator::kLess, 3));
  EXPECT_TRUE(Satisfies(3, Operator::kLessOrEqual, 3));
  EXPECT_FALSE(Satisfies(4, Operator::kLessOrEqual, 3));
  EXPECT_TRUE(Satisfies(4, Operator::kGreater, 3));
  EXPECT_FALSE(Satisfies(3, Operator::kGreater, 3));
  EXPECT_TRUE(Satisfies(3, Operator::kGreaterOrEqual, 3));
  EXPECT_FALSE(Satisfies(2, Operator::kGreaterOrEqual, 3));
  EXPECT_TRUE(Satisfies(6, Operator::kMultipleOf, 3));
  EXPECT_FALSE(Satisfies(7, Operator::kMultipleOf, 3));
}

TEST(RelationTest, NothingIsAMultipleOfZeroOrLess) {
  EXPECT_FALSE(Satisfies(0, Operator::kMultipleOf, 0));
  EXPECT_FALSE(Satisfies(4, Operator::kMultipleOf, -2));
  EXPECT_TRUE(Satisfies(0, Operator::kMultipleOf, 5));
}

TEST(RelationTest, AnUnknownOperatorNeverHolds) {
  EXPECT_FALSE(Satisfies(1, static_cast<Operator>(0), 1));
}

TEST(RelationTest, AddsUpProductsOfDimensions) {
  // 2 * m + 3 * m * n == 10 + n
  const Relation relation{
      .left = {DimTerm(0, 2), {.coefficient = 3, .dimensions = {0, 1}}},
      .op = Operator::kEqual,
      .right = {ConstantTerm(10), DimTerm(1)}};
  EXPECT_TRUE(Holds(relation, {5, 0}));
  EXPECT_FALSE(Holds(relation, {5, 1}));
  EXPECT_FALSE(Holds(relation, {2, 1}));
}

TEST(RelationTest, EveryElementOfTheRepeatedDimensionMustHold) {
  const Relation relation{.left = {DimTerm(0)},
                          .op = Operator::kMultipleOf,
                          .right = {ConstantTerm(8)}};
  const std::vector<int64_t> even = {8, 16, 64};
  const std::vector<int64_t> odd = {8, 17, 64};
  EXPECT_TRUE(Holds(relation, {{0, 1}, even}, 0));
  EXPECT_FALSE(Holds(relation, {{0, 1}, odd}, 0));
}

TEST(RelationTest, IgnoresTheSlotOfTheRepeatedDimension) {
  const Relation relation{
      .left = {DimTerm(0)}, .op = Operator::kLess, .right = {ConstantTerm(10)}};
  const std::vector<int64_t> elements = {1, 2};
  EXPECT_TRUE(Holds(relation, {{99, 1}, elements}, 0));
}

TEST(RelationTest, ARelationWithoutTheRepeatedDimensionIsComparedOnce) {
  const Relation relation{
      .left = {DimTerm(1)}, .op = Operator::kLess, .right = {ConstantTerm(10)}};
  EXPECT_FALSE(Holds(relation, {0, 11}, 0));
  EXPECT_TRUE(Holds(relation, {0, 9}, 0));
}

TEST(RelationTest, SaturatesInsteadOfOverflowing) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const Relation relation{
      .left = {{.coefficient = kLeast, .dimensions = {0, 0, 0}}},
      .op = Operator::kLess,
      .right = {{.coefficient = kHuge, .dimensions = {0, 0, 0}},
                ConstantTerm(kHuge)}};
  EXPECT_TRUE(Holds(relation, {kHuge}));
}

TEST(RelationTest, NegativeCoefficientsSubtract) {
  // n - m >= 0
  const Relation relation{.left = {DimTerm(1), DimTerm(0, -1)},
                          .op = Operator::kGreaterOrEqual,
                          .right = {ConstantTerm(0)}};
  EXPECT_TRUE(Holds(relation, {3, 3}));
  EXPECT_FALSE(Holds(relation, {4, 3}));
}

std::string Written(std::vector<Term> left, Operator op,
                    std::vector<Term> right) {
  return FormatRelation(
      {.left = std::move(left), .op = op, .right = std::move(right)},
      {{.name = "m"}, {.name = "n"}});
}

TEST(RelationTest, IsWrittenAsPeopleDo) {
  EXPECT_EQ(Written({{.dimensions = {0, 1}}}, Operator::kLessOrEqual,
                    {ConstantTerm(4096)}),
            "m * n <= 4096");
  EXPECT_EQ(Written({DimTerm(0)}, Operator::kMultipleOf, {ConstantTerm(8)}),
            "m % 8 == 0");
  EXPECT_EQ(Written({DimTerm(0), DimTerm(1, 2)}, Operator::kMultipleOf,
                    {DimTerm(1, 4)}),
            "(m + 2 * n) % (4 * n) == 0");
  EXPECT_EQ(Written({ConstantTerm(1)}, Operator::kNotEqual, {DimTerm(1)}),
            "1 != n");
}

}  // namespace
}  // namespace wavetune
