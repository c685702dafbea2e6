#include "model/predicate_program.h"

#include <gtest/gtest.h>

#include <vector>

namespace wavetune {
namespace {

Relation MultipleOf(int dimension, int64_t divisor) {
  return {.left = {{1, {}, {dimension}}},
          .op = Relation::Operator::kMultipleOf,
          .right = {{divisor, {}, {}}}};
}

bool RunOne(const Relation& relation, const ProblemView& problem,
            int repeated_dimension) {
  PredicateProgram program(repeated_dimension);
  EXPECT_EQ(program.Add(relation), 0);
  EXPECT_EQ(program.Add(relation), 0);
  uint8_t holds[PredicateProgram::kMaxPredicates];
  program.Run(problem, holds);
  return holds[0] == 1;
}

TEST(PredicateProgramTest, AnswersPlainMultiples) {
  EXPECT_TRUE(RunOne(MultipleOf(1, 8), {3, 64}, -1));
  EXPECT_FALSE(RunOne(MultipleOf(1, 8), {3, 65}, -1));
  EXPECT_TRUE(RunOne(MultipleOf(0, 1), {3, 65}, -1));
}

TEST(PredicateProgramTest, AMultipleOfZeroNeverHolds) {
  EXPECT_FALSE(RunOne(MultipleOf(0, 0), {8}, -1));
  EXPECT_FALSE(RunOne(MultipleOf(0, -8), {8}, -1));
}

TEST(PredicateProgramTest, EveryElementOfTheRepeatedDimensionMustFulfilIt) {
  const std::vector<int64_t> good = {8, 16};
  const std::vector<int64_t> bad = {8, 17};
  const std::vector<int64_t> extents = {5};
  EXPECT_TRUE(RunOne(MultipleOf(0, 8), {extents, good}, 0));
  EXPECT_FALSE(RunOne(MultipleOf(0, 8), {extents, bad}, 0));
}

TEST(PredicateProgramTest, AnswersSumsOfProducts) {
  const Relation relation{.left = {{2, {}, {0}}, {1, {}, {1}}},
                          .op = Relation::Operator::kLessOrEqual,
                          .right = {{10, {}, {}}}};
  EXPECT_TRUE(RunOne(relation, {3, 4}, -1));
  EXPECT_FALSE(RunOne(relation, {3, 5}, -1));
}

}  // namespace
}  // namespace wavetune
