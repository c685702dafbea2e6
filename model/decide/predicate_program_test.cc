#include "model/decide/predicate_program.h"

#include <gtest/gtest.h>

#include <vector>

namespace wavetune {
namespace {

Relation MultipleOf(int dimension, int64_t divisor) {
  return {.left = {{1, {dimension}}},
          .op = Relation::Operator::kMultipleOf,
          .right = {{divisor, {}}}};
}

bool RunOne(const Relation& relation, const ProblemView& problem,
            int repeated_dimension) {
  PredicateProgram program(repeated_dimension);
  program.Add(relation, 1);
  program.Add(relation, 127);
  EXPECT_LE(program.size(), 1u);  // Equal ones are kept once.
  uint64_t excluded[2] = {1, 0};
  program.Run(problem, excluded);
  // Both groups or none, and no others.
  EXPECT_EQ(excluded[0] & ~uint64_t{2}, 1u);
  EXPECT_EQ(excluded[1] & ~(uint64_t{1} << 63), 0u);
  EXPECT_EQ((excluded[0] >> 1) & 1, excluded[1] >> 63);
  return excluded[1] == 0;
}

TEST(PredicateProgramTest, AnswersPlainMultiples) {
  EXPECT_TRUE(RunOne(MultipleOf(1, 8), {3, 64}, -1));
  EXPECT_FALSE(RunOne(MultipleOf(1, 8), {3, 65}, -1));
  EXPECT_TRUE(RunOne(MultipleOf(0, 1), {3, 65}, -1));
  EXPECT_TRUE(RunOne(MultipleOf(1, 48), {3, 96}, -1));
  EXPECT_FALSE(RunOne(MultipleOf(1, 48), {3, 97}, -1));
  EXPECT_FALSE(RunOne(MultipleOf(1, int64_t{1} << 51), {3, 8}, -1));
  EXPECT_TRUE(RunOne(MultipleOf(1, int64_t{1} << 51), {3, 0}, -1));
}

TEST(PredicateProgramTest, GroupsFailApart) {
  PredicateProgram program(-1);
  program.Add(MultipleOf(0, 8), 0);
  program.Add(MultipleOf(0, 16), 64);
  program.Add(MultipleOf(0, 1), 3);  // Always holds: not evaluated.
  EXPECT_EQ(program.size(), 1u);
  uint64_t excluded[2] = {0, 0};
  program.Run({8}, excluded);
  EXPECT_EQ(excluded[0], 0u);
  EXPECT_EQ(excluded[1], 1u);
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
  const Relation relation{.left = {{2, {0}}, {1, {1}}},
                          .op = Relation::Operator::kLessOrEqual,
                          .right = {{10, {}}}};
  EXPECT_TRUE(RunOne(relation, {3, 4}, -1));
  EXPECT_FALSE(RunOne(relation, {3, 5}, -1));
}

}  // namespace
}  // namespace wavetune
