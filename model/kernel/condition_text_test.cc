#include "model/kernel/condition_text.h"

#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using Kind = Expression::Kind;
using Operator = Relation::Operator;
using ::wavetune::testing::Dim;
using ::wavetune::testing::GemmSpec;
using ::wavetune::testing::Par;

Expression NumberText(int64_t value) { return Expression::Constant(value); }

TEST(ConditionTextTest, WritesRelationsWithTheKernelsNames) {
  const KernelSpec spec = GemmSpec();
  EXPECT_EQ(ConditionText(spec, spec.constraints[0]),
            "BLOCK_M * BLOCK_N <= 4096");
  EXPECT_EQ(ConditionText(spec, spec.problem_predicates[0]), "k % VECTOR == 0");
}

TEST(ConditionTextTest, PutsParenthesesWhereTheyAreNeeded) {
  const KernelSpec spec = GemmSpec();
  const Expression sum = Expression::Sum({Par(0), NumberText(3)});
  EXPECT_EQ(ExpressionText(spec, Expression::Product({NumberText(2), sum})),
            "2 * (BLOCK_M + 3)");
  EXPECT_EQ(
      ExpressionText(
          spec, Expression::Sum({Expression::Product({NumberText(2), Par(1)}),
                                 Expression::Of(Kind::kNegative, {Par(0)})})),
      "2 * BLOCK_N - BLOCK_M");
  EXPECT_EQ(ExpressionText(spec, Expression::Of(Kind::kExactDiv, {sum, sum})),
            "(BLOCK_M + 3) / (BLOCK_M + 3)");
  const Expression quotient = Expression::Of(Kind::kExactDiv, {Par(0), Par(1)});
  EXPECT_EQ(ExpressionText(
                spec, Expression::Of(Kind::kRemainder, {Par(2), quotient})),
            "BLOCK_K % (BLOCK_M / BLOCK_N)");
}

TEST(ConditionTextTest, WritesFunctionsAsCalls) {
  const KernelSpec spec = GemmSpec();
  EXPECT_EQ(ExpressionText(
                spec, Expression::CeilDiv({Dim(0), Dim(1)}, {Par(0), Par(1)})),
            "ceil_div(m * n, BLOCK_M * BLOCK_N)");
  EXPECT_EQ(
      ExpressionText(
          spec, Expression::Of(Kind::kMin, {Par(0), NumberText(7), Dim(2)})),
      "min(BLOCK_M, 7, k)");
}

TEST(ConditionTextTest, WritesConditionsOfSeveralParts) {
  const KernelSpec spec = GemmSpec();
  const Condition a(Par(0), Operator::kGreater, NumberText(1));
  const Condition b(Par(1), Operator::kNotEqual, NumberText(2));
  const Condition c(Par(2), Operator::kLess, NumberText(3));
  EXPECT_EQ(ConditionText(spec, Condition::All({Condition::Any({a, b}), c})),
            "(BLOCK_M > 1 or BLOCK_N != 2) and BLOCK_K < 3");
  EXPECT_EQ(ConditionText(spec, Condition::Any({Condition::All({a, b}), c})),
            "(BLOCK_M > 1 and BLOCK_N != 2) or BLOCK_K < 3");
  EXPECT_EQ(ConditionText(spec, Condition::All({})), "0 == 0");
}

TEST(ConditionTextTest, WritesGuardsAsTheyAreWritten) {
  const KernelSpec spec = GemmSpec();
  const Condition a(Par(0), Operator::kGreater, NumberText(1));
  const Condition b(Par(1), Operator::kMultipleOf, NumberText(2));
  const Condition c(Par(2), Operator::kLess, NumberText(3));
  EXPECT_EQ(ConditionText(spec, When(a, b)),
            "BLOCK_M > 1 when BLOCK_N % 2 == 0");
  EXPECT_EQ(
      ConditionText(spec, When(Condition::Any({a, b}), Condition::All({b, c}))),
      "BLOCK_M > 1 or BLOCK_N % 2 == 0 when BLOCK_N % 2 == 0 and "
      "BLOCK_K < 3");
}

}  // namespace
}  // namespace wavetune
