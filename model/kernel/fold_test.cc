#include "model/kernel/fold.h"

#include <gtest/gtest.h>

#include "model/testing/kernels.h"
#include "tests/lib/lcg.h"
#include "tests/lib/random_table.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using testing::Dim;
using testing::Lcg;
using testing::Par;

TEST(FoldTest, FoldedTreesMeanTheSame) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Lcg random(seed);
    const Table table = testing::RandomTable(random);
    const SubTable& sub = table.sub_tables[0];
    for (const TableCandidate& candidate : sub.portfolio) {
      const Configuration& configuration = candidate.configuration;
      const Problem problem = testing::RandomLegalProblem(random, table);
      EXPECT_EQ(Evaluate(FoldExpression(sub.mapping.tiles, configuration),
                         problem.View(), Configuration()),
                Evaluate(sub.mapping.tiles, problem.View(), configuration));
    }
  }
}

TEST(FoldTest, DimensionsGiveWayToTheirValues) {
  // ceil(n / (P0 * 4)), and -m inside of a sum
  const Expression expression = Expression::Sum(
      {Expression::CeilDiv(
           {Dim(1)}, {Expression::Product({Par(0), Expression::Constant(4)})}),
       Expression::Of(Expression::Kind::kNegative, {Dim(0)})});
  const Expression put = PutDimensions(expression, {5, 100});
  EXPECT_EQ(put,
            Expression::Sum(
                {Expression::CeilDiv(
                     {Expression::Constant(100)},
                     {Expression::Product({Par(0), Expression::Constant(4)})}),
                 Expression::Of(Expression::Kind::kNegative,
                                {Expression::Constant(5)})}));
  EXPECT_EQ(EvaluateSigned(put, ProblemView(), {8}), 4 - 5);
}

TEST(FoldTest, ProductsSaturateBothWays) {
  EXPECT_EQ(SaturatingProduct(-6, 7), -42);
  EXPECT_EQ(SaturatingProduct(kExpressionLimit, 1000), kExpressionLimit);
  EXPECT_EQ(SaturatingProduct(-kExpressionLimit, 1000), -kExpressionLimit);
  EXPECT_EQ(SaturatingProduct(-kExpressionLimit, -kExpressionLimit),
            kExpressionLimit);
}

TEST(FoldTest, CoordinatesAreToldApartByMappingAndRows) {
  const Table table = testing::TwoGroupTable();
  const Mapping& mapping = table.sub_tables[0].mapping;
  EXPECT_TRUE(SameCoordinates(mapping, {64, 2}, {64, 4}));
  EXPECT_FALSE(SameCoordinates(mapping, {64, 2}, {128, 2}));
  Mapping rows;
  rows.iterations_per_tile = Expression::Constant(1);
  rows.rows = RowAxis{.dimension = 0, .tile = 0};
  EXPECT_FALSE(SameCoordinates(rows, {64, 2}, {128, 2}));
}

}  // namespace
}  // namespace wavetune
