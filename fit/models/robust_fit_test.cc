#include "fit/models/robust_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace wavetune {
namespace {

constexpr TermVector kTrue = {5, 0, 0.5, 0, 0.01, 0.002};

std::vector<Equation> Rows() {
  std::vector<Equation> rows;
  for (const double g : {4.0, 33.0, 66.0, 132.0, 133.0, 264.0, 1056.0}) {
    for (const double l : {8.0, 32.0, 128.0}) {
      const double s = g <= 132 ? 1 : g <= 264 ? 2 : 8;
      Equation row;
      row.terms = {1, s, l, s * l, g, g * l};
      row.latency_us = Dot(row.terms, kTrue);
      rows.push_back(row);
    }
  }
  return rows;
}

double WorstError(const TermVector& theta) {
  double worst = 0;
  for (const Equation& row : Rows()) {
    const double ratio = Dot(row.terms, theta) / row.latency_us;
    worst = std::max(worst, ratio > 1 ? ratio - 1 : 1 - ratio);
  }
  return worst;
}

TEST(RobustFitTest, RecoversNonNegativeLatencies) {
  EXPECT_LT(WorstError(FitRelative(Rows())), 0.02);
}

TEST(RobustFitTest, FewLowRowsDoNotOutvoteMostRows) {
  std::vector<Equation> rows(4, Rows()[0]);
  for (Equation& row : rows) row.latency_us = 400;
  rows[0].latency_us = 100;
  EXPECT_GT(Dot(rows[0].terms, FitRelative(rows)), 300);
}

TEST(RobustFitTest, IsHardlyMovedByOutliers) {
  std::vector<Equation> rows = Rows();
  rows[5].latency_us *= 4;
  rows[17].latency_us *= 2;
  EXPECT_LT(WorstError(FitRelative(rows)), 0.05);
}

TEST(RobustFitTest, CoefficientsAreNeverNegative) {
  std::vector<Equation> rows = Rows();
  // Faster with more tiles: no wave model, whatever the coefficients.
  for (Equation& row : rows) row.latency_us = 1000 / row.terms[4];
  for (const double value : FitRelative(rows)) EXPECT_GE(value, 0);
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
