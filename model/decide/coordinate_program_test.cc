#include "model/decide/coordinate_program.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/kernel/fold.h"
#include "tests/lib/lcg.h"
#include "tests/lib/random_table.h"

namespace wavetune {
namespace {

using testing::Lcg;

Expression Tiles(int dimension, int64_t tile) {
  return Expression::CeilDiv({Expression::OfDimension(dimension)},
                             {Expression::Constant(tile)});
}

TEST(CoordinateProgramTest, EvaluatesAsTheTrees) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Lcg random(seed);
    const Table table =
        seed % 4 == 0
            ? testing::RandomTable(random, testing::TableKind::kSums, 12)
            : testing::RandomTable(random);
    int repeated = -1;
    for (size_t i = 0; i < table.dimensions.size(); ++i) {
      if (table.dimensions[i].repeated) repeated = static_cast<int>(i);
    }
    CoordinateProgram program(static_cast<int>(table.dimensions.size()),
                              repeated);
    std::vector<Expression> folded;
    std::vector<int> slots_of;
    for (const TableCandidate& candidate : table.sub_tables[0].portfolio) {
      folded.push_back(FoldExpression(table.sub_tables[0].mapping.tiles,
                                      candidate.configuration));
      slots_of.push_back(program.Add(folded.back()));
    }
    program.Seal();
    for (int i = 0; i < 20; ++i) {
      const Problem problem = testing::RandomLegalProblem(random, table);
      int64_t slots[CoordinateProgram::kMaxSlots];
      program.Run(problem.View(), slots);
      for (size_t e = 0; e < folded.size(); ++e) {
        ASSERT_EQ(slots[slots_of[e]],
                  EvaluateOrOver(folded[e], problem.View(), Configuration()));
      }
    }
  }
}

TEST(CoordinateProgramTest, EvaluatesEachDistinctExpressionOnce) {
  CoordinateProgram program(2, -1);
  const int a = program.Add(Expression::Product({Tiles(0, 64), Tiles(1, 32)}));
  const int count = program.slot_count();
  const int b = program.Add(Expression::Product({Tiles(1, 32), Tiles(0, 64)}));
  EXPECT_EQ(a, b);
  EXPECT_EQ(program.slot_count(), count);
}

TEST(CoordinateProgramTest, AddsTerms) {
  CoordinateProgram program(2, -1);
  const int sum = program.Add(
      Expression::Sum({Expression::Constant(3), Tiles(0, 64),
                       Expression::OfDimension(1), Expression::Constant(4)}));
  const int over = program.Add(Expression::CeilDiv(
      {Expression::Sum({Expression::OfDimension(0),
                        Expression::Constant(kExpressionLimit)})},
      {Expression::Constant(2)}));
  const int constants = program.Add(
      Expression::Sum({Expression::Constant(3), Expression::Constant(4)}));
  program.Seal();
  int64_t slots[CoordinateProgram::kMaxSlots];
  program.Run({65, 10}, slots);
  EXPECT_EQ(slots[sum], 3 + 2 + 10 + 4);
  EXPECT_EQ(slots[over], kOverLimit);
  EXPECT_EQ(slots[constants], 7);
}

TEST(CoordinateProgramTest, WhatHasSaturatedStaysSoInQuotients) {
  CoordinateProgram program(2, -1);
  const int quotient = program.Add(Expression::CeilDiv(
      {Expression::OfDimension(0), Expression::OfDimension(1)},
      {Expression::Constant(64)}));
  program.Seal();
  int64_t slots[CoordinateProgram::kMaxSlots];
  program.Run({kExpressionLimit, 2}, slots);
  EXPECT_EQ(slots[quotient], kOverLimit);
  program.Run({kExpressionLimit, 1}, slots);
  EXPECT_EQ(slots[quotient], kExpressionLimit / 64);
}

TEST(CoordinateProgramTest, SaturatesInsteadOfOverflowing) {
  CoordinateProgram program(2, -1);
  const int product = program.Add(Expression::Product(
      {Expression::OfDimension(0), Expression::OfDimension(1), Tiles(0, 1)}));
  program.Seal();
  int64_t slots[CoordinateProgram::kMaxSlots];
  program.Run({kExpressionLimit, 2}, slots);
  EXPECT_EQ(slots[product], kOverLimit);
  program.Run({0, kExpressionLimit}, slots);
  EXPECT_EQ(slots[product], 0);
}

}  // namespace
}  // namespace wavetune
