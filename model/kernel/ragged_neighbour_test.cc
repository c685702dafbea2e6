#include "model/kernel/ragged_neighbour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Problem> Named(const KernelSpec& spec) {
  std::vector<Problem> named;
  for (const WeightedProblem& weighted : spec.representative_problems)
    named.push_back(weighted.problem);
  return named;
}

std::optional<Problem> Neighbour(const KernelSpec& spec, size_t index) {
  return RaggedNeighbour(spec, Named(spec),
                         spec.representative_problems[index].problem);
}

// m, n, k of GemmSpec.
KernelSpec GemmOf(const std::vector<std::vector<int64_t>>& problems) {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems.clear();
  for (const std::vector<int64_t>& extents : problems)
    spec.representative_problems.push_back({.problem = {.extents = extents}});
  return spec;
}

TEST(RaggedNeighbourTest, IsATenthLargerAndOddInEachDimensionThatVaries) {
  KernelSpec spec = testing::GemmSpec();
  spec.default_configuration = {64, 32, 32, 2, 1};
  EXPECT_THAT(Neighbour(spec, 1)->extents, ElementsAre(71, 1691, 635));
  // One row stays one, and heads that never change stay as many.
  EXPECT_THAT(Neighbour(spec, 0)->extents, ElementsAre(1, 635, 635));
  const KernelSpec rows = testing::RowNormSpec();
  EXPECT_THAT(Neighbour(rows, 1)->extents, ElementsAre(71, 4096));
}

TEST(RaggedNeighbourTest, MeetsWhatTheDefaultAsksForWhereThatRunsTheProblem) {
  KernelSpec spec = testing::GemmSpec();
  spec.default_configuration = {64, 32, 32, 2, 4};  // k % 4 == 0.
  EXPECT_THAT(Neighbour(spec, 1)->extents, ElementsAre(71, 1691, 636));
}

TEST(RaggedNeighbourTest, EmptyElementsStayEmpty) {
  KernelSpec spec = testing::GroupedGemmSpec();
  spec.dimensions[0].min = 0;
  spec.representative_problems[1].problem.repeated = {64, 0, 128};
  EXPECT_THAT(Neighbour(spec, 1)->repeated, ElementsAre(71, 0, 141));
}

TEST(RaggedNeighbourTest, ThereIsNoneWhereTheManifestAllowsNone) {
  KernelSpec spec = testing::GemmSpec();
  spec.limits.max_elements = 64 * 1536;
  EXPECT_FALSE(Neighbour(spec, 1).has_value());
  spec = testing::GemmSpec();
  for (Dimension& dimension : spec.dimensions) dimension.max = 1536;
  // 71 of 64 rows are left.
  EXPECT_THAT(Neighbour(spec, 1)->extents[1], 1536);
  KernelSpec one = GemmOf({{64, 64, 64}});
  EXPECT_FALSE(Neighbour(one, 0).has_value());
}

TEST(RoundDimensionsTest, AreThoseWhoseExtentsAreMultiplesOfEveryTile) {
  // BLOCK_M is 16 or 64, BLOCK_N 32 or 128.
  const KernelSpec spec = GemmOf({{256, 256, 64}, {512, 96, 64}});
  const std::vector<RoundDimension> round = RoundDimensions(spec);
  ASSERT_EQ(round.size(), 1u);
  EXPECT_EQ(round[0].dimension, 0);
  EXPECT_THAT(round[0].parameters, ElementsAre(0));
  EXPECT_EQ(round[0].ragged, 283);  // Of 256.
  EXPECT_THAT(RoundDimensions(GemmOf({{256, 256, 64}, {513, 96, 64}})),
              IsEmpty());
  // What nobody varies nobody can name otherwise.
  EXPECT_THAT(RoundDimensions(GemmOf({{256, 256, 64}})), IsEmpty());
}

TEST(RoundDimensionsTest, AreNoneWhereAConditionAsksForRoundExtents) {
  KernelSpec spec = GemmOf({{256, 96, 64}, {512, 96, 64}});
  ASSERT_EQ(RoundDimensions(spec).size(), 1u);
  spec.preconditions = {
      testing::ConditionOf({.left = {{.coefficient = 1, .dimensions = {0}}},
                            .op = Relation::Operator::kMultipleOf,
                            .right = {{.coefficient = 64}}})};
  EXPECT_THAT(RoundDimensions(spec), IsEmpty());
}

}  // namespace
}  // namespace wavetune
