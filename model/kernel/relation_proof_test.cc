#include "model/kernel/relation_proof.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/testing/relation_terms.h"

namespace wavetune {
namespace {

using Op = Relation::Operator;
using Terms = std::vector<Relation::Term>;
using testing::ConstantTerm;
using testing::kM;
using testing::kN;

Relation::Term Product(int64_t coefficient, std::vector<int32_t> dimensions) {
  return {.coefficient = coefficient, .dimensions = std::move(dimensions)};
}

bool Proven(const Terms& left, Op op, const Terms& right, int64_t min = 1,
            int64_t max = 1000) {
  return AlwaysHolds({.left = left, .op = op, .right = right},
                     {{.name = "m", .min = min, .max = max},
                      {.name = "n", .min = min, .max = max},
                      {.name = "rows", .repeated = true, .min = 0}});
}

TEST(RelationProofTest, ADimensionMayStandOnBothSides) {
  const Terms n = {Product(1, {kN})};
  EXPECT_TRUE(Proven(n, Op::kEqual, n));
  EXPECT_TRUE(Proven(n, Op::kLessOrEqual, n));
  EXPECT_TRUE(Proven(n, Op::kGreaterOrEqual, n));
  EXPECT_TRUE(Proven(n, Op::kMultipleOf, n));
  EXPECT_FALSE(Proven(n, Op::kNotEqual, n));
  EXPECT_FALSE(Proven(n, Op::kLess, n));
  EXPECT_FALSE(Proven(n, Op::kGreater, n));
  EXPECT_TRUE(Proven(n, Op::kLess, {Product(1, {kN}), ConstantTerm(1)}));
  EXPECT_TRUE(Proven({Product(2, {kN})}, Op::kGreater, n));
}

TEST(RelationProofTest, LikeTermsAreAddedUpWhateverTheirOrder) {
  const Terms twice = {Product(1, {kN}), Product(1, {kN})};
  EXPECT_TRUE(Proven(twice, Op::kEqual, {Product(2, {kN})}));
  EXPECT_TRUE(Proven(twice, Op::kMultipleOf, {ConstantTerm(2)}));
  EXPECT_FALSE(Proven(twice, Op::kMultipleOf, {ConstantTerm(4)}));
  EXPECT_TRUE(
      Proven({Product(1, {kM, kN})}, Op::kEqual, {Product(1, {kN, kM})}));
  // n + m - n >= 1
  EXPECT_TRUE(Proven({Product(1, {kN}), Product(1, {kM}), Product(-1, {kN})},
                     Op::kGreaterOrEqual, {ConstantTerm(1)}));
  EXPECT_FALSE(Proven({Product(1, {kN}), Product(1, {kM}), Product(-1, {kN})},
                      Op::kGreaterOrEqual, {ConstantTerm(2)}));
}

TEST(RelationProofTest, ProductsAreComparedAtTheCornersOfTheRanges) {
  // m * n >= n, since m >= 1.
  EXPECT_TRUE(
      Proven({Product(1, {kM, kN})}, Op::kGreaterOrEqual, {Product(1, {kN})}));
  EXPECT_FALSE(
      Proven({Product(1, {kM, kN})}, Op::kGreater, {Product(1, {kN})}));
  EXPECT_TRUE(
      Proven({Product(1, {kM, kN})}, Op::kGreater, {Product(1, {kN})}, 2, 9));
  // (m - 1) * (n - 1) >= 0
  EXPECT_TRUE(Proven({Product(1, {kM, kN}), ConstantTerm(1)},
                     Op::kGreaterOrEqual,
                     {Product(1, {kM}), Product(1, {kN})}));
}

TEST(RelationProofTest, ATermDividesWhatContainsIt) {
  EXPECT_TRUE(
      Proven({Product(4, {kM, kN})}, Op::kMultipleOf, {Product(2, {kN})}));
  EXPECT_FALSE(
      Proven({Product(3, {kM, kN})}, Op::kMultipleOf, {Product(2, {kN})}));
  EXPECT_FALSE(Proven({Product(4, {kM})}, Op::kMultipleOf, {Product(2, {kN})}));
  EXPECT_FALSE(Proven({Product(4, {kM, kN}), ConstantTerm(1)}, Op::kMultipleOf,
                      {Product(1, {kN})}));
}

// Zero divides nothing.
TEST(RelationProofTest, AnElementOfZeroIsNoDivisor) {
  constexpr int32_t kRows = 2;
  const Terms rows = {Product(1, {kRows})};
  EXPECT_FALSE(Proven(rows, Op::kMultipleOf, rows));
  EXPECT_TRUE(Proven(rows, Op::kEqual, rows));
  EXPECT_TRUE(Proven(rows, Op::kGreaterOrEqual, {ConstantTerm(0)}));
  EXPECT_FALSE(Proven(rows, Op::kGreater, {ConstantTerm(0)}));
}

TEST(RelationProofTest, WhatSaturatesIsNotSubtracted) {
  constexpr int64_t kLarge = int64_t{1} << 31;
  const Terms square = {Product(1, {kM, kN})};
  // Both sides are 2^51 for the largest problems, and not less than each other.
  EXPECT_FALSE(Proven(square, Op::kLess, {Product(2, {kM, kN})}, 1, kLarge));
  EXPECT_TRUE(Proven(square, Op::kLess, {Product(2, {kM, kN})}, 1, 1 << 20));
  EXPECT_TRUE(Proven(square, Op::kEqual, square, 1, kLarge));
  // 2^51 is no multiple of 3.
  EXPECT_FALSE(Proven({Product(3, {kM, kN})}, Op::kMultipleOf,
                      {ConstantTerm(3)}, 1, kLarge));
  EXPECT_TRUE(Proven({Product(4, {kM, kN})}, Op::kMultipleOf, {ConstantTerm(4)},
                     1, kLarge));
}

// The slow obvious way: all problems of small ranges.
TEST(RelationProofTest, ProvesNothingThatAProblemContradicts) {
  const std::vector<Terms> sides = {
      {ConstantTerm(3)},
      {Product(1, {kM})},
      {Product(2, {kN}), ConstantTerm(-1)},
      {Product(1, {kM, kN})},
      {Product(1, {kM, kM}), Product(-1, {kM})},
      {Product(1, {kM}), Product(1, {kN}), Product(-1, {kM})},
      {Product(3, {kM, kN}), Product(3, {})},
  };
  const std::vector<Dimension> dimensions = {{.name = "m", .min = 1, .max = 4},
                                             {.name = "n", .min = 2, .max = 3}};
  int proven = 0;
  for (const Terms& left : sides) {
    for (const Terms& right : sides) {
      for (int op = 1; op <= 7; ++op) {
        const Relation relation{
            .left = left, .op = static_cast<Op>(op), .right = right};
        if (!AlwaysHolds(relation, dimensions)) continue;
        ++proven;
        for (int64_t m = 1; m <= 4; ++m) {
          for (int64_t n = 2; n <= 3; ++n) {
            EXPECT_TRUE(Holds(relation, {m, n}))
                << "operator " << op << " at " << m << ", " << n;
          }
        }
      }
    }
  }
  EXPECT_GT(proven, 30);
}

}  // namespace
}  // namespace wavetune
