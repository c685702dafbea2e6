#include "fit/models/robust_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace wavetune {
namespace {

constexpr TermVector kTrue = {5, 0, 0.5, 0, 0.01, 0.002};

std::vector<Equation> Rows() {
  std::vector<Equation> equations;
  for (const double g : {4.0, 33.0, 66.0, 132.0, 133.0, 264.0, 1056.0}) {
    for (const double l : {8.0, 32.0, 128.0}) {
      const double s = g <= 132 ? 1 : g <= 264 ? 2 : 8;
      Equation equation;
      equation.terms = {1, s, l, s * l, g, g * l};
      equation.latency_us = Dot(equation.terms, kTrue);
      equations.push_back(equation);
    }
  }
  return equations;
}

double WorstError(const TermVector& theta) {
  double worst = 0;
  for (const Equation& equation : Rows()) {
    const double ratio = Dot(equation.terms, theta) / equation.latency_us;
    worst = std::max(worst, ratio > 1 ? ratio - 1 : 1 - ratio);
  }
  return worst;
}

TEST(RobustFitTest, RecoversNonNegativeLatencies) {
  EXPECT_LT(WorstError(FitRelative(Rows())), 0.02);
}

TEST(RobustFitTest, FewLowRowsDoNotOutvoteMostRows) {
  std::vector<Equation> equations(4, Rows()[0]);
  for (Equation& equation : equations) equation.latency_us = 400;
  equations[0].latency_us = 100;
  EXPECT_GT(Dot(equations[0].terms, FitRelative(equations)), 300);
}

TEST(RobustFitTest, IsHardlyMovedByOutliers) {
  std::vector<Equation> equations = Rows();
  equations[5].latency_us *= 4;
  equations[17].latency_us *= 2;
  EXPECT_LT(WorstError(FitRelative(equations)), 0.05);
}

TEST(RobustFitTest, CoefficientsAreNeverNegative) {
  std::vector<Equation> equations = Rows();
  // Faster with more tiles: no wave model, whatever the coefficients.
  for (Equation& equation : equations)
    equation.latency_us = 1000 / equation.terms[4];
  for (const double value : FitRelative(equations)) EXPECT_GE(value, 0);
}

TEST(RobustFitTest, FewRowsAndCoincidingColumnsHaveAnAnswer) {
  EXPECT_EQ(FitRelative({}), TermVector{});
  const Equation one = Rows()[0];
  const TermVector theta = FitRelative({&one, 1});
  EXPECT_NEAR(Dot(one.terms, theta) / one.latency_us, 1, 0.01);
}

TEST(SolveNonNegativeTest, FindsTheUnconstrainedMinimumWhereItIsPositive) {
  TermMatrix a{};
  TermVector b{};
  for (size_t i = 0; i < kTerms; ++i) {
    a[i][i] = 2;
    b[i] = static_cast<double>(i + 1);
  }
  const TermVector x = SolveNonNegative(a, b);
  for (size_t i = 0; i < kTerms; ++i) EXPECT_DOUBLE_EQ(x[i], b[i] / 2);
}

TEST(SolveNonNegativeTest, PinsEntriesThatWouldBeNegative) {
  TermMatrix a{};
  TermVector b{};
  for (size_t i = 0; i < kTerms; ++i) a[i][i] = 1;
  a[0][1] = a[1][0] = 0.9;
  b[0] = 1;
  b[1] = 0.1;  // Unconstrained: x[1] < 0.
  b[2] = -3;
  const TermVector x = SolveNonNegative(a, b);
  EXPECT_DOUBLE_EQ(x[0], 1);
  EXPECT_EQ(x[1], 0);
  EXPECT_EQ(x[2], 0);
}

}  // namespace
}  // namespace wavetune
