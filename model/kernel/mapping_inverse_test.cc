#include "model/kernel/mapping_inverse.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using testing::Dim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Par;
using ::wavetune::testing::CausalAttentionSpec;
using ::wavetune::testing::GemmSpec;
using ::wavetune::testing::GroupedGemmSpec;

// The problem, or one without extents where there is none (which fails what
// follows).
Problem Invert(const KernelSpec& spec, const Configuration& configuration,
               const MappingTarget& target,
               const std::string& specialisation = "") {
  const auto problem =
      InvertMapping(spec, specialisation, configuration, target);
  EXPECT_TRUE(problem.ok()) << problem.status();
  return problem.ok() ? *problem : Problem{};
}

Coordinates MapOf(const KernelSpec& spec, const Configuration& configuration,
                  const Problem& problem) {
  return MapProblem(spec.MappingOf(problem.specialisation), problem.View(),
                    configuration);
}

// BLOCK_M = 16, BLOCK_N = 32, BLOCK_K = 16.
const Configuration& Small() {
  static const Configuration configuration({16, 32, 16, 1, 1});
  return configuration;
}

TEST(InvertMappingTest, OneRowOfExactlySoManyTiles) {
  const Problem problem =
      Invert(GemmSpec(), Small(), {.tiles = 133, .iterations = 8, .rows = 1});
  EXPECT_THAT(problem.extents, ElementsAre(16, 133 * 32, 8 * 16));
}

TEST(InvertMappingTest, FillsTheLastRowAsWanted) {
  const Problem problem =
      Invert(GemmSpec(), Small(),
             {.tiles = 20, .iterations = 2, .rows = 2, .row_fill = 0.25});
  EXPECT_THAT(problem.extents, ElementsAre(16 + 4, 10 * 32, 32));
  EXPECT_EQ(MapOf(GemmSpec(), Small(), problem).row_fill, 0.25);
}

TEST(InvertMappingTest, TheSmallestFillIsOneElement) {
  const Problem problem =
      Invert(GemmSpec(), Small(),
             {.tiles = 4, .iterations = 2, .rows = 1, .row_fill = 1e-9});
  EXPECT_EQ(problem.extents[0], 1);
}

TEST(InvertMappingTest, RoundsTilesUpToAMultipleOfTheRows) {
  const Problem problem =
      Invert(GemmSpec(), Small(), {.tiles = 133, .iterations = 8, .rows = 2});
  EXPECT_EQ(MapOf(GemmSpec(), Small(), problem).tiles, 134);
}

TEST(InvertMappingTest, SquareGridsAreExactWherePossible) {
  const Problem problem =
      Invert(GemmSpec(), Small(), {.tiles = 132, .iterations = 8, .rows = 0});
  const Coordinates c = MapOf(GemmSpec(), Small(), problem);
  EXPECT_EQ(c.tiles, 132);
  EXPECT_TRUE(c.rows == 11 || c.rows == 12) << c.rows;
  EXPECT_EQ(c.row_fill, 1);
}

TEST(InvertMappingTest, SquareGridsOfPrimesAreTheNextNearSquare) {
  // 131 is prime, 132 = 11 x 12.
  EXPECT_EQ(MapOf(GemmSpec(), Small(),
                  Invert(GemmSpec(), Small(),
                         {.tiles = 131, .iterations = 1, .rows = 0}))
                .tiles,
            132);
  EXPECT_EQ(MapOf(GemmSpec(), Small(),
                  Invert(GemmSpec(), Small(),
                         {.tiles = 3, .iterations = 1, .rows = 0}))
                .tiles,
            3);
}

TEST(InvertMappingTest, TakesTheNearestWholeLoop) {
  const auto loop = [](double iterations) {
    return Invert(GemmSpec(), Small(),
                  {.tiles = 1, .iterations = iterations, .rows = 1})
        .extents[2];
  };
  EXPECT_EQ(loop(0.1), 16);
  EXPECT_EQ(loop(3.4), 3 * 16);
  EXPECT_EQ(loop(3.5), 3 * 16);  // Ties to the lower.
  EXPECT_EQ(loop(3.6), 4 * 16);
}

TEST(InvertMappingTest, ARepeatedDimensionGetsFewAlikeElements) {
  const KernelSpec spec = GroupedGemmSpec();
  const Problem problem =
      Invert(spec, Small(),
             {.tiles = 190, .iterations = 4, .rows = 19, .row_fill = 0.5});
  EXPECT_EQ(problem.repeated.size(), 8u);
  const Coordinates c = MapOf(spec, Small(), problem);
  EXPECT_EQ(c.tiles, 190);
  EXPECT_EQ(c.rows, 19);
  EXPECT_DOUBLE_EQ(c.row_fill, 0.5);
  EXPECT_EQ(problem.extents[0], 0);
}

TEST(InvertMappingTest, AGroupedProblemCanHaveOneRow) {
  const KernelSpec spec = GroupedGemmSpec();
  const Problem problem =
      Invert(spec, Small(), {.tiles = 7, .iterations = 4, .rows = 1});
  EXPECT_THAT(problem.repeated, ElementsAre(16));
  EXPECT_EQ(MapOf(spec, Small(), problem).tiles, 7);
}

TEST(InvertMappingTest, AttentionSpreadsTilesOverBatchAndHeads) {
  const KernelSpec spec = CausalAttentionSpec();
  const Configuration configuration({16, 32, 1});
  const Problem problem = Invert(
      spec, configuration, {.tiles = 132, .iterations = 8, .rows = 1}, "full");
  const Coordinates c = MapOf(spec, configuration, problem);
  EXPECT_EQ(c.tiles, 132);
  EXPECT_EQ(c.iterations, 8);
  EXPECT_EQ(problem.extents[0] * problem.extents[1], 132);
  EXPECT_EQ(problem.extents[3], 16);
  EXPECT_EQ(problem.extents[4], 256);
}

TEST(InvertMappingTest, KeyHeadsShareHeadsAsInRepresentativeProblems) {
  // Representative problems have four heads a key head.
  const KernelSpec spec = CausalAttentionSpec();
  const Problem problem =
      Invert(spec, Configuration({16, 32, 1}),
             {.tiles = 144, .iterations = 8, .rows = 1}, "full");
  EXPECT_EQ(problem.extents[1], 12);
  EXPECT_EQ(problem.extents[2], 3);
}

TEST(InvertMappingTest, FindsTheKeysThatGiveACausalLoop) {
  const KernelSpec spec = CausalAttentionSpec();
  const Configuration configuration({64, 32, 1});
  const Problem problem =
      Invert(spec, configuration, {.tiles = 64, .iterations = 20, .rows = 4},
             "causal");
  const Coordinates c = MapOf(spec, configuration, problem);
  EXPECT_EQ(c.tiles, 64);
  EXPECT_EQ(c.rows, 4);
  EXPECT_NEAR(c.iterations, 20, 0.5);
}

TEST(InvertMappingTest, CausalAttentionHasAtLeastAsManyKeysAsQueries) {
  const KernelSpec spec = CausalAttentionSpec();
  const Configuration configuration({64, 32, 1});
  const MappingTarget target{.tiles = 64, .iterations = 1, .rows = 8};
  EXPECT_GE(Invert(spec, configuration, target, "causal").extents[4], 512);
  KernelSpec narrow = spec;
  narrow.dimensions[4].max = 100;  // No more keys exist.
  EXPECT_LE(Invert(narrow, configuration, target, "causal").extents[4], 100);
}

TEST(InvertMappingTest, HarmlessForTargetsThatMakeNoSense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  for (const KernelSpec& spec :
       {GemmSpec(), GroupedGemmSpec(), CausalAttentionSpec()}) {
    const std::string name = spec.SpecialisationNames().back();
    for (const MappingTarget& target : std::vector<MappingTarget>{
             {.tiles = -5, .iterations = kNan, .rows = -3, .row_fill = kNan},
             {.tiles = 1, .iterations = kInfinity, .rows = 1, .row_fill = -1},
             {.tiles = 1, .iterations = -1, .rows = 0, .row_fill = kInfinity},
             {.tiles = kHuge, .iterations = 1, .rows = 1},
             {.tiles = 1, .iterations = 1, .rows = kHuge}}) {
      const auto problem =
          InvertMapping(spec, name, spec.default_configuration, target);
      if (problem.ok()) {
        EXPECT_TRUE(IsLegal(spec, spec.default_configuration, problem->View()));
      }
    }
  }
}

TEST(InvertMappingTest, RoundsTheLoopToALegalExtent) {
  KernelSpec spec = GemmSpec();
  spec.problem_predicates = {
      {Dim(2), Relation::Operator::kMultipleOf,
       Expression::Product({Expression::Constant(25), Par(4)})}};
  const Problem problem = Invert(spec, {16, 32, 16, 1, 4},
                                 {.tiles = 4, .iterations = 11, .rows = 1});
  EXPECT_EQ(problem.extents[2], 200);  // 13 iterations; 100 would be 7.
}

TEST(InvertMappingTest, RoundsExtentsOfTheGridWithinTheirTile) {
  KernelSpec spec = GemmSpec();
  // m % 8 == 0 and n % 24 == 0 (32-wide tiles: 96 is 3 tiles, 72 too).
  spec.problem_predicates = {
      {Dim(0), Relation::Operator::kMultipleOf, Expression::Constant(8)},
      {Dim(1), Relation::Operator::kMultipleOf, Expression::Constant(24)}};
  const Problem problem = Invert(
      spec, Small(), {.tiles = 4, .iterations = 2, .rows = 2, .row_fill = 0.1});
  EXPECT_THAT(problem.extents, ElementsAre(24, 48, 32));
}

TEST(InvertMappingTest, MeetsComparisonsAndGoesOnToAFullIteration) {
  KernelSpec spec = GemmSpec();
  // k > 100
  spec.problem_predicates = {
      {Dim(2), Relation::Operator::kGreater, Expression::Constant(100)}};
  const Problem problem =
      Invert(spec, Small(), {.tiles = 4, .iterations = 2, .rows = 1});
  EXPECT_EQ(problem.extents[2], 7 * 16);
}

TEST(InvertMappingTest, SaysThatPredicatesCannotBeMet) {
  KernelSpec spec = GemmSpec();
  // n % 1000 == 0
  spec.problem_predicates = {
      {Dim(1), Relation::Operator::kMultipleOf, Expression::Constant(1000)}};
  const auto problem = InvertMapping(spec, "", Small(),
                                     {.tiles = 4, .iterations = 2, .rows = 1});
  EXPECT_EQ(problem.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(problem.status().message()),
              HasSubstr("problem_predicates cannot be met"));
}

TEST(InvertMappingTest, SaysWhichArgumentWouldBeTooLarge) {
  KernelSpec spec = GemmSpec();
  spec.limits.max_elements = 1000;
  const auto problem = InvertMapping(
      spec, "", Small(), {.tiles = 100, .iterations = 1, .rows = 1});
  EXPECT_EQ(problem.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(problem.status().message()),
              HasSubstr("argument 'b' would have 3200 elements, above "
                        "limits.max_elements = 1000"));
}

TEST(InvertMappingTest, SaysThatThereWouldBeTooManyIterations) {
  KernelSpec spec = GemmSpec();
  spec.limits.max_total_iterations = 99;
  const auto problem = InvertMapping(
      spec, "", Small(), {.tiles = 100, .iterations = 1, .rows = 1});
  EXPECT_EQ(problem.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(problem.status().message()),
              HasSubstr("limits.max_total_iterations = 99"));
}

TEST(InvertMappingTest, LimitsShortenTheLoop) {
  KernelSpec spec = GemmSpec();
  spec.limits.max_total_iterations = 1000;
  const Coordinates c =
      MapOf(spec, Small(),
            Invert(spec, Small(), {.tiles = 100, .iterations = 50, .rows = 1}));
  EXPECT_EQ(c.tiles, 100);
  EXPECT_EQ(c.iterations, 10);
}

TEST(InvertMappingTest, SaysThatARangeIsTooNarrow) {
  KernelSpec spec = GemmSpec();
  spec.dimensions[1].max = 64;
  auto problem = InvertMapping(spec, "", Small(),
                               {.tiles = 100, .iterations = 1, .rows = 1});
  EXPECT_EQ(problem.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(problem.status().message()),
              HasSubstr("ranges are too narrow"));
  spec.dimensions[0].min = 100;
  problem = InvertMapping(spec, "", Small(),
                          {.tiles = 2, .iterations = 1, .rows = 1});
  EXPECT_THAT(std::string(problem.status().message()),
              HasSubstr("range of dimension 'm' does not allow these rows"));
}

TEST(InvertMappingTest, ANarrowAxisLeavesTilesToTheOthers) {
  KernelSpec spec = GemmSpec();
  spec.dimensions[1].max = 64;  // Two tiles.
  const Coordinates c =
      MapOf(spec, Small(),
            Invert(spec, Small(), {.tiles = 101, .iterations = 1, .rows = 0}));
  EXPECT_GE(c.tiles, 101);
  EXPECT_LE(c.tiles, 102);
}

TEST(InvertMappingTest, AWrongSizedConfigurationIsRefused) {
  EXPECT_EQ(
      InvertMapping(GemmSpec(), "", Configuration({1, 2}), {}).status().code(),
      absl::StatusCode::kInvalidArgument);
}

TEST(InvertMappingTest, SplitKMultipliesTheTiles) {
  KernelSpec spec = GemmSpec();
  spec.parameters[3] = {
      .name = "SPLIT_K", .role = ParameterRole::kMacro, .values = {1, 4}};
  spec.mapping.tiles = Expression::Product({spec.mapping.tiles, Par(3)});
  spec.mapping.iterations_per_tile =
      Expression::CeilDiv({Dim(2)}, {Par(2), Par(3)});
  const Configuration configuration({16, 32, 16, 4, 1});
  const Problem problem =
      Invert(spec, configuration, {.tiles = 133, .iterations = 3, .rows = 1});
  const Coordinates c = MapOf(spec, configuration, problem);
  EXPECT_EQ(c.tiles, 136);  // The next multiple of 4.
  EXPECT_EQ(c.iterations, 3);
  EXPECT_EQ(problem.extents[2], 3 * 64);
}

// Coordinates of what HopperGemmSpec gives for a target, with BLOCK_M = 64,
// BLOCK_N = 32 and clusters of two rows.
Coordinates MapClusters(const MappingTarget& target) {
  const KernelSpec spec = testing::HopperGemmSpec();
  const Configuration configuration({64, 32, 32, 2, 4, 1, 2});
  return MapOf(spec, configuration, Invert(spec, configuration, target));
}

TEST(InvertMappingTest, ClustersAreWholeAndRowsAreNot) {
  // One row in a cluster of two: the other tile of each cluster is idle.
  const Coordinates one =
      MapClusters({.tiles = 131, .iterations = 4, .rows = 1});
  EXPECT_EQ(one.tiles, 132);
  EXPECT_EQ(one.rows, 1);
  EXPECT_EQ(one.row_fill, 1);
  const Coordinates three =
      MapClusters({.tiles = 20, .iterations = 4, .rows = 3, .row_fill = 0.25});
  EXPECT_EQ(three.tiles, 20);  // Five columns of two clusters.
  EXPECT_EQ(three.rows, 3);
  EXPECT_EQ(three.row_fill, 0.25);
}

TEST(InvertMappingTest, ASquareGridOfClustersHasNoIdleTiles) {
  const Coordinates c = MapClusters({.tiles = 132, .iterations = 4, .rows = 0});
  EXPECT_EQ(c.tiles, 132);
  EXPECT_EQ(c.rows % 2, 0);
  EXPECT_EQ(c.row_fill, 1);
}

TEST(InvertMappingTest, AKernelOfRowsOnlyTakesRowsFromItsTiles) {
  KernelSpec spec = GemmSpec();
  spec.mapping.tiles = Expression::CeilDiv({Dim(0)}, {Par(0)});
  const Coordinates c =
      MapOf(spec, Small(),
            Invert(spec, Small(), {.tiles = 50, .iterations = 2, .rows = 1}));
  EXPECT_EQ(c.tiles, 50);
  EXPECT_EQ(c.rows, 50);
}

TEST(InvertMappingTest, AKernelWithoutALoopIsItsGridAlone) {
  const KernelSpec spec = testing::RowNormSpec();
  const Configuration configuration({4, 64, 1});
  for (const double iterations : {0.5, 1.0, 300.0}) {
    const Problem problem =
        Invert(spec, configuration,
               {.tiles = 133, .iterations = iterations, .rows = 1});
    // The width is that of the representative problems.
    EXPECT_THAT(problem.extents, ElementsAre(4 * 133, 4096));
    EXPECT_EQ(MapOf(spec, configuration, problem).iterations, 1);
  }
}

TEST(InvertMappingTest, ALoopMayBeTheConfigurationsAlone) {
  KernelSpec spec = testing::RowNormSpec();
  spec.mapping.iterations_per_tile =
      Expression::CeilDiv({Expression::Constant(4096)}, {Par(1)});
  const Configuration configuration({4, 256, 1});
  const Problem problem =
      Invert(spec, configuration, {.tiles = 9, .iterations = 2});
  EXPECT_EQ(MapOf(spec, configuration, problem).iterations, 16);
}

TEST(InvertMappingTest, WithoutALoopPredicatesMoveTheGridsExtents) {
  KernelSpec spec = testing::RowNormSpec();
  // rows % 3 == 0
  spec.problem_predicates = {
      {Dim(0), Relation::Operator::kMultipleOf, Expression::Constant(3)}};
  EXPECT_EQ(Invert(spec, {4, 64, 1}, {.tiles = 133}).extents[0], 531);
  spec.problem_predicates[0].sides[1] = Expression::Constant(1000);
  const auto none =
      InvertMapping(spec, "", Configuration({4, 64, 1}), {.tiles = 133});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("problem_predicates cannot be met"));
}

TEST(InvertMappingTest, WithoutALoopLimitsHoldToo) {
  KernelSpec spec = testing::RowNormSpec();
  spec.limits.max_elements = 100;
  const auto none =
      InvertMapping(spec, "", Configuration({4, 64, 1}), {.tiles = 133});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
}

TEST(InvertMappingTest, OneExtentOnTwoAxesGivesTheNextGridThereIs) {
  const KernelSpec spec = testing::SyrkSpec();
  // ceil(n / 16) * ceil(n / 32): 12 * 6 = 72, 13 * 7 = 91, 14 * 7 = 98, 15 * 8.
  const Problem problem =
      Invert(spec, Small(), {.tiles = 92, .iterations = 8, .rows = 3});
  EXPECT_THAT(problem.extents, ElementsAre(14 * 16, 8 * 16));
  EXPECT_EQ(MapOf(spec, Small(), problem).tiles, 98);
}

TEST(InvertMappingTest, OneExtentOnTwoAxesOfThreeKeepsItsRows) {
  KernelSpec spec = testing::SyrkSpec();
  spec.dimensions.push_back({.name = "batch"});
  spec.mapping.tiles = Expression::Product({spec.mapping.tiles, Dim(2)});
  const Problem problem =
      Invert(spec, Small(),
             {.tiles = 100, .iterations = 8, .rows = 3, .row_fill = 0.25});
  const Coordinates c = MapOf(spec, Small(), problem);
  EXPECT_EQ(c.rows, 3);
  EXPECT_EQ(c.row_fill, 0.25);
  EXPECT_EQ(c.tiles, 102);  // 3 * 2 * 17.
}

TEST(InvertMappingTest, OneExtentForEverythingFollowsTheTiles) {
  const KernelSpec spec = testing::SquareSpec();
  for (const double iterations : {1.0, 100.0}) {
    const Problem problem = Invert(
        spec, Small(), {.tiles = 92, .iterations = iterations, .rows = 1});
    EXPECT_THAT(problem.extents, ElementsAre(14 * 16));
  }
}

TEST(InvertMappingTest, ADimensionMayStandTwiceInANumerator) {
  KernelSpec spec = testing::SquareSpec();
  spec.mapping.tiles = Expression::CeilDiv({Dim(0), Dim(0)}, {Par(0), Par(1)});
  spec.mapping.iterations_per_tile = Expression::Constant(1);
  spec.mapping.rows.reset();
  const Problem problem = Invert(spec, Small(), {.tiles = 100});
  EXPECT_THAT(problem.extents, ElementsAre(226));  // 226^2 <= 100 * 16 * 32.
}

// Both specialisations of self-attention, with BLOCK_Q = BLOCK_KV = 64.
TEST(InvertMappingTest, ALoopOverAnAxisIsNearAndTheTilesAreExact) {
  const KernelSpec spec = testing::SelfAttentionSpec();
  const Configuration configuration({64, 64, 1});
  for (const char* name : {"full", "causal"}) {
    for (const int64_t tiles : {64, 132, 264, 1056}) {
      for (const double loop : {4.0, 16.0, 40.0}) {
        const Coordinates c = MapOf(
            spec, configuration,
            Invert(spec, configuration,
                   {.tiles = tiles, .iterations = loop, .rows = 0}, name));
        EXPECT_EQ(c.tiles, tiles);
        EXPECT_GE(c.iterations, loop * 0.6) << name << tiles;
        EXPECT_LE(c.iterations, loop * 1.6) << name << tiles;
      }
    }
  }
}

TEST(InvertMappingTest, ALoopOverAnAxisIsNoLongerThanTheTilesAllow) {
  const KernelSpec spec = testing::SelfAttentionSpec();
  const Configuration configuration({64, 64, 1});
  const Problem problem = Invert(
      spec, configuration, {.tiles = 8, .iterations = 500, .rows = 0}, "full");
  EXPECT_THAT(problem.extents, ElementsAre(1, 1, 8 * 64));
}

TEST(InvertMappingTest, RowsDecideWhereTheLoopFollowsThem) {
  const KernelSpec spec = testing::SelfAttentionSpec();
  const Configuration configuration({64, 32, 1});
  const Problem problem = Invert(
      spec, configuration,
      {.tiles = 66, .iterations = 500, .rows = 2, .row_fill = 0.5}, "full");
  EXPECT_EQ(problem.extents[2], 96);
  EXPECT_EQ(MapOf(spec, configuration, problem).tiles, 66);
}

TEST(InvertMappingTest, LimitsShortenALoopOverAnAxis) {
  KernelSpec spec = testing::SelfAttentionSpec();
  spec.limits.max_total_iterations = 1000;
  const Configuration configuration({64, 64, 1});
  const Coordinates c =
      MapOf(spec, configuration,
            Invert(spec, configuration,
                   {.tiles = 132, .iterations = 40, .rows = 0}, "full"));
  EXPECT_LE(c.total_iterations, 1000);
  EXPECT_EQ(c.tiles, 132);
}

// Packed sequences: the loop of each follows its own length.
TEST(InvertMappingTest, ALoopOverARepeatedAxisHasElementsOfItsLength) {
  KernelSpec spec = testing::SelfAttentionSpec();
  spec.specialisations.clear();
  spec.dimensions[2].repeated = true;
  spec.dimensions.erase(spec.dimensions.begin());
  spec.mapping.tiles = Expression::Product(
      {Dim(0),
       Expression::SumOver(1, Expression::CeilDiv({Dim(1)}, {Par(0)}))});
  spec.mapping.iterations_per_tile.reset();
  spec.mapping.total_iterations = Expression::Product(
      {Dim(0), Expression::SumOver(1, Expression::CausalBlocks(1, 1, 0, 1))});
  spec.mapping.rows.reset();
  spec.arguments.clear();
  spec.representative_problems.clear();
  ASSERT_TRUE(CheckInvertible(spec, spec.mapping).ok())
      << CheckInvertible(spec, spec.mapping);
  const Configuration configuration({64, 64, 1});
  const Problem problem =
      Invert(spec, configuration, {.tiles = 256, .iterations = 16});
  const Coordinates c = MapOf(spec, configuration, problem);
  EXPECT_GE(c.tiles, 256);
  EXPECT_LE(c.tiles, 264);
  EXPECT_NEAR(c.iterations, 16, 2);
}

TEST(InvertMappingTest, ASumOfTilesIsInvertedByOneOfItsDimensions) {
  const KernelSpec spec = testing::PaddedMoeSpec();
  for (const int64_t tiles : {1, 7, 132, 133, 1056, 5000}) {
    const Problem problem =
        Invert(spec, Small(), {.tiles = tiles, .iterations = 12, .rows = 1});
    const Coordinates c = MapOf(spec, Small(), problem);
    EXPECT_GE(c.tiles, tiles);
    EXPECT_LE(c.tiles, tiles + 1 + tiles / 50);  // Nearly square.
    EXPECT_EQ(c.iterations, 12);
  }
}

TEST(InvertMappingTest, ASumOfTwoQuotientsIsSearched) {
  KernelSpec spec = testing::RowNormSpec();
  // ceil(rows / ROWS) + ceil(rows / THREADS) + ROWS
  spec.mapping.tiles =
      Expression::Sum({Expression::CeilDiv({Dim(0)}, {Par(0)}),
                       Expression::CeilDiv({Dim(0)}, {Par(1)}), Par(0)});
  const Problem problem =
      Invert(spec, Configuration({4, 64, 1}), {.tiles = 100});
  // 362 / 4 is 91, 362 / 64 is 6: 91 + 6 + 4 = 101; 360 gives 90 + 6 + 4.
  EXPECT_EQ(problem.extents[0], 360);
}

TEST(InvertMappingTest, ATileCountBelowWhatASumAddsIsTheLeastThereIs) {
  const KernelSpec spec = testing::PaddedGroupedGemmSpec();
  // Four tiles, and two of one element with one row.
  const Coordinates c =
      MapOf(spec, Small(),
            Invert(spec, Small(), {.tiles = 1, .iterations = 2, .rows = 0}));
  EXPECT_EQ(c.tiles, 6);
}

TEST(InvertMappingTest, RowsWithinASumAreTheWantedOnes) {
  const KernelSpec spec = testing::PaddedGroupedGemmSpec();
  for (const int64_t rows : {1, 2, 19}) {
    const Problem problem =
        Invert(spec, Small(),
               {.tiles = 500, .iterations = 4, .rows = rows, .row_fill = 0.5});
    const Coordinates c = MapOf(spec, Small(), problem);
    EXPECT_EQ(c.rows, rows);
    EXPECT_DOUBLE_EQ(c.row_fill, 0.5);
    EXPECT_GE(c.tiles, 500);
    const auto elements = static_cast<int64_t>(problem.repeated.size());
    EXPECT_LT(c.tiles, 500 + rows + elements + 4);  // One column more.
  }
}

TEST(InvertMappingTest, PaddingForEachExpertIsInvertedByElements) {
  const KernelSpec spec = testing::PaddedGroupedGemmSpec();
  for (const int64_t tiles : {6, 132, 1056}) {
    const Coordinates c = MapOf(
        spec, Small(),
        Invert(spec, Small(), {.tiles = tiles, .iterations = 4, .rows = 0}));
    EXPECT_EQ(c.tiles, tiles);
  }
}

// batch, channels, filters, out_h, out_w, kernel_h, kernel_w. BLOCK_M = 16,
// BLOCK_N = 32, BLOCK_K = 16.
TEST(InvertMappingTest, FurtherDimensionsOfAnAxisAreAsInRealProblems) {
  const KernelSpec spec = testing::ConvolutionSpec();
  // The nearest is 4 x 28 x 28 x 32 with 16 channels: 196 tiles, 9 iterations.
  // As many are one image with four times the filters, which is more square.
  const Problem problem =
      Invert(spec, Small(), {.tiles = 196, .iterations = 9, .rows = 0});
  EXPECT_THAT(problem.extents, ElementsAre(1, 16, 128, 28, 28, 3, 3));
}

TEST(InvertMappingTest, FurtherDimensionsAreSmallerWhereTheTilesWantThat) {
  const KernelSpec spec = testing::ConvolutionSpec();
  const Problem one =
      Invert(spec, Small(), {.tiles = 1, .iterations = 9, .rows = 0});
  EXPECT_EQ(MapOf(spec, Small(), one).tiles, 1);
  // 3 x 3 of an image of 14 x 14.
  EXPECT_THAT(one.extents, ElementsAre(1, 16, 32, 3, 3, 3, 3));
}

TEST(InvertMappingTest, TypicalExtentsTakeNoMoreTilesThanTheLeast) {
  const KernelSpec spec = testing::ConvolutionSpec();
  KernelSpec unknown = spec;
  unknown.representative_problems.clear();
  for (int64_t tiles = 1; tiles < 400; tiles += 7) {
    const MappingTarget target{.tiles = tiles, .iterations = 20, .rows = 0};
    const Coordinates typical =
        MapOf(spec, Small(), Invert(spec, Small(), target));
    const Coordinates least =
        MapOf(unknown, Small(), Invert(unknown, Small(), target));
    EXPECT_LE(typical.tiles, least.tiles) << tiles;
    EXPECT_NEAR(typical.iterations, 20, 20.0 / 8);
  }
}

TEST(InvertMappingTest, WithoutRepresentativeProblemsTheyAreTheLeast) {
  KernelSpec spec = testing::ConvolutionSpec();
  spec.representative_problems.clear();
  const Problem problem =
      Invert(spec, Small(), {.tiles = 196, .iterations = 9, .rows = 0});
  EXPECT_THAT(problem.extents,
              ElementsAre(14 * 16, 9 * 16, 14 * 32, 1, 1, 1, 1));
}

TEST(InvertMappingTest, TheOrderOfFactorsDoesNotMatter) {
  const KernelSpec spec = testing::ConvolutionSpec();
  KernelSpec turned = spec;
  turned.mapping.tiles = Expression::Product(
      {Expression::CeilDiv({Dim(4), Dim(3), Dim(0)}, {Par(0)}),
       Expression::CeilDiv({Dim(2)}, {Par(1)})});
  turned.mapping.iterations_per_tile =
      Expression::CeilDiv({Dim(6), Dim(1), Dim(5)}, {Par(2)});
  for (const int64_t tiles : {3, 64, 131, 132, 1000}) {
    for (const double iterations : {1.0, 9.0, 50.0}) {
      const MappingTarget target{
          .tiles = tiles, .iterations = iterations, .rows = 0};
      EXPECT_EQ(Invert(spec, Small(), target), Invert(turned, Small(), target));
    }
  }
}

TEST(InvertMappingTest, WhatVariesMostIsSearched) {
  KernelSpec spec = testing::ConvolutionSpec();
  for (WeightedProblem& weighted : spec.representative_problems) {
    weighted.problem.extents[0] = 2;  // Always two images.
  }
  const Problem problem =
      Invert(spec, Small(), {.tiles = 1000, .iterations = 9, .rows = 0});
  EXPECT_EQ(problem.extents[0], 2);
  EXPECT_EQ(problem.extents[4], 28);
  EXPECT_EQ(MapOf(spec, Small(), problem).tiles, 1000);
}

TEST(InvertMappingTest, PaddingIsOfAsManyExpertsAsAreAskedFor) {
  const KernelSpec spec = testing::PaddedMoeSpec();
  const Problem problem =
      Invert(spec, Small(), {.tiles = 1320, .iterations = 64, .rows = 0});
  EXPECT_EQ(MapOf(spec, Small(), problem).tiles, 1320);
  EXPECT_EQ(problem.extents[1], 8);
  EXPECT_EQ(problem.extents[2], 32);
}

// One way to make a mapping that cannot be inverted, and what is said of it.
struct InverseFault {
  std::string name;
  KernelSpec spec;
  std::string message;
};

class CheckInvertibleTest : public ::testing::TestWithParam<InverseFault> {};

TEST_P(CheckInvertibleTest, NamesWhatIsAtFault) {
  const InverseFault& fault = GetParam();
  const absl::Status status = CheckInvertible(fault.spec, fault.spec.mapping);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(fault.message));
}

InverseFault Broken(std::string name, std::string message, KernelSpec spec,
                    Expression tiles) {
  spec.mapping.tiles = std::move(tiles);
  return {std::move(name), std::move(spec), std::move(message)};
}

std::vector<InverseFault> InverseFaults() {
  const auto rows = Expression::CeilDiv({Dim(0)}, {Par(0)});
  const auto columns = Expression::CeilDiv({Dim(1)}, {Par(1)});
  const KernelSpec gemm = GemmSpec();
  const KernelSpec grouped = GroupedGemmSpec();
  std::vector<InverseFault> faults = {
      Broken("NoAxis", "no dimension drives the tiles", gemm,
             Expression::Constant(7)),
      Broken("SumWithoutTerms", "mapping.tiles: sum lacks its terms", gemm,
             Expression::Product({rows, columns, Expression::Sum({})})),
      Broken("MinusInTheTiles", "has a minus, '/', '%', floor_div", gemm,
             Expression::Sum(
                 {Expression::Product({rows, columns}),
                  Expression::Of(Expression::Kind::kNegative, {Par(3)})})),
      Broken("LeastInTheTiles", "has a minus, '/', '%', floor_div", gemm,
             Expression::Product({rows, Expression::Of(Expression::Kind::kMin,
                                                       {columns, Par(3)})})),
      Broken("SumOfNestedDivisions", "write nested divisions as one", gemm,
             Expression::Product(
                 {Expression::Sum({Expression::CeilDiv({rows}, {Par(1)}),
                                   Expression::Constant(1)}),
                  columns})),
      Broken(
          "ProductOfSumsInASum", "a product of two sum_over", grouped,
          Expression::Sum({Expression::Product({Expression::SumOver(0, rows),
                                                Expression::SumOver(0, rows)}),
                           columns})),
      Broken("CausalTilesInASum", "causal_blocks counts loop iterations", gemm,
             Expression::Sum({rows, Expression::CausalBlocks(0, 1, 0, 1)})),
      Broken("ClustersOverARepeatedDimension", "ceil(m / BLOCK_M) is no factor",
             grouped,
             Expression::SumOver(
                 0, Expression::Product(
                        {Expression::CeilDiv({Dim(0)}, {Par(0), Par(3)}),
                         Par(3), columns}))),
      Broken("RowsDividedTwice", "ceil(m / BLOCK_M) is no factor", gemm,
             Expression::Product(
                 {Expression::CeilDiv({Dim(0)}, {Par(0), Par(0)}), columns})),
      Broken("UnusedRows", "ceil(m / BLOCK_M) is no factor", gemm, columns),
      Broken("NestedDivision", "write nested divisions as one", gemm,
             Expression::CeilDiv({rows}, {Par(1)})),
      Broken("TwoSumsOverOneDimension", "is summed over in two factors",
             grouped,
             Expression::Product({Expression::SumOver(0, rows),
                                  Expression::SumOver(0, rows), columns})),
      Broken("CausalTiles", "causal_blocks counts loop iterations", gemm,
             Expression::CausalBlocks(0, 1, 0, 1)),
      Broken("RepeatedOutsideOfASum", "stands outside of sum_over", grouped,
             Expression::Product({rows, columns})),
      Broken("SumOfNothingRepeated", "does not depend on 'm'", grouped,
             Expression::SumOver(0, columns)),
      Broken("SumOverAPlainDimension", "which is not repeated", gemm,
             Expression::SumOver(0, rows)),
      Broken("SumInASum", "sum_over inside of sum_over", grouped,
             Expression::SumOver(0, Expression::SumOver(0, rows))),
      Broken("NoDenominator", "lacks a numerator or a denominator", gemm,
             Expression::CeilDiv({Dim(0)}, {})),
      Broken("DimensionInADenominator", "'n' is in a denominator", gemm,
             Expression::CeilDiv({Dim(0)}, {Dim(1)})),
      Broken("UnknownDimension", "dimension number 9 does not exist", gemm,
             Dim(9)),
      Broken("UnknownParameter", "parameter number 9 does not exist", gemm,
             Expression::CeilDiv({Dim(0)}, {Par(9)})),
      Broken("EmptyProduct", "mapping.tiles: is empty", gemm,
             Expression::Product({})),
      Broken("UnknownKind", "unknown kind", gemm,
             {.kind = static_cast<Expression::Kind>(99)}),
      Broken("HalfACausal", "causal_blocks needs dimensions", gemm,
             {.kind = Expression::Kind::kCausalBlocks, .children = {Dim(0)}}),
  };
  KernelSpec spec = gemm;
  spec.dimensions.push_back({.name = "unused"});
  faults.push_back({"UnusedDimension", spec, "dimension 'unused' is used by"});
  spec = gemm;
  spec.mapping.total_iterations = Expression::Constant(1);
  faults.push_back({"TwoLoops", spec, "give exactly one"});
  spec = gemm;
  spec.mapping.iterations_per_tile.reset();
  faults.push_back({"NoLoopCount", spec, "= 1 where there is no loop"});
  spec = gemm;
  spec.mapping.rows->dimension = 5;
  faults.push_back({"UnknownRows", spec, "rows.dimension: number 5"});
  spec = gemm;
  spec.mapping.rows->tile = -1;
  faults.push_back({"UnknownRowTile", spec, "rows.tile: parameter number -1"});
  spec = gemm;
  spec.mapping.longest_loop = Dim(7);
  faults.push_back(
      {"UnknownLongestLoop", spec, "mapping.longest_loop: dimension number 7"});
  spec = gemm;
  spec.dimensions[2].repeated = true;
  spec.mapping.iterations_per_tile = Expression::SumOver(2, Dim(2));
  faults.push_back({"RepeatedLoop", spec, "no dimension drives the loop"});
  return faults;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, CheckInvertibleTest, ::testing::ValuesIn(InverseFaults()),
    [](const ::testing::TestParamInfo<InverseFault>& fault) {
      return fault.param.name;
    });

TEST(CheckInvertibleSpecsTest, AcceptsWhatTestsShare) {
  for (const KernelSpec& spec :
       {GemmSpec(), GroupedGemmSpec(), CausalAttentionSpec(),
        testing::HopperGemmSpec(), testing::RowNormSpec(), testing::SyrkSpec(),
        testing::SquareSpec(), testing::SelfAttentionSpec(),
        testing::PaddedMoeSpec(), testing::PaddedGroupedGemmSpec()}) {
    for (const std::string& name : spec.SpecialisationNames()) {
      EXPECT_TRUE(CheckInvertible(spec, spec.MappingOf(name)).ok());
    }
  }
}

}  // namespace
}  // namespace wavetune
