#include "model/mapping_inverse.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel_validation.h"
#include "model/mapping.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::wavetune::testing::CausalAttentionSpec;
using ::wavetune::testing::GemmSpec;
using ::wavetune::testing::GroupedGemmSpec;

Expression Dim(int index) { return Expression::OfDimension(index); }
Expression Par(int index) { return Expression::OfParameter(index); }

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

Coordinates Map(const KernelSpec& spec, const Configuration& configuration,
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
  EXPECT_EQ(Map(GemmSpec(), Small(), problem).row_fill, 0.25);
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
  EXPECT_EQ(Map(GemmSpec(), Small(), problem).tiles, 134);
}

TEST(InvertMappingTest, SquareGridsAreExactWherePossible) {
  const Problem problem =
      Invert(GemmSpec(), Small(), {.tiles = 132, .iterations = 8, .rows = 0});
  const Coordinates c = Map(GemmSpec(), Small(), problem);
  EXPECT_EQ(c.tiles, 132);
  EXPECT_TRUE(c.rows == 11 || c.rows == 12) << c.rows;
  EXPECT_EQ(c.row_fill, 1);
}

TEST(InvertMappingTest, SquareGridsOfPrimesAreTheNextNearSquare) {
  // 131 is prime, 132 = 11 x 12.
  EXPECT_EQ(Map(GemmSpec(), Small(),
                Invert(GemmSpec(), Small(),
                       {.tiles = 131, .iterations = 1, .rows = 0}))
                .tiles,
            132);
  EXPECT_EQ(
      Map(GemmSpec(), Small(),
          Invert(GemmSpec(), Small(), {.tiles = 3, .iterations = 1, .rows = 0}))
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
  const Coordinates c = Map(spec, Small(), problem);
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
  EXPECT_EQ(Map(spec, Small(), problem).tiles, 7);
}

TEST(InvertMappingTest, AttentionSpreadsTilesOverBatchAndHeads) {
  const KernelSpec spec = CausalAttentionSpec();
  const Configuration configuration({16, 32, 1});
  const Problem problem = Invert(
      spec, configuration, {.tiles = 132, .iterations = 8, .rows = 1}, "full");
  const Coordinates c = Map(spec, configuration, problem);
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
  const Coordinates c = Map(spec, configuration, problem);
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
  spec.problem_predicates[0].right[0].coefficient = 25;  // k % (25 * VECTOR)
  const Problem problem = Invert(spec, {16, 32, 16, 1, 4},
                                 {.tiles = 4, .iterations = 11, .rows = 1});
  EXPECT_EQ(problem.extents[2], 200);  // 13 iterations; 100 would be 7.
}

TEST(InvertMappingTest, RoundsExtentsOfTheGridWithinTheirTile) {
  KernelSpec spec = GemmSpec();
  // m % 8 == 0 and n % 24 == 0 (32-wide tiles: 96 is 3 tiles, 72 too).
  spec.problem_predicates = {
      {.left = {{.coefficient = 1, .parameters = {}, .dimensions = {0}}},
       .op = Relation::Operator::kMultipleOf,
       .right = {{.coefficient = 8, .parameters = {}, .dimensions = {}}}},
      {.left = {{.coefficient = 1, .parameters = {}, .dimensions = {1}}},
       .op = Relation::Operator::kMultipleOf,
       .right = {{.coefficient = 24, .parameters = {}, .dimensions = {}}}}};
  const Problem problem = Invert(
      spec, Small(), {.tiles = 4, .iterations = 2, .rows = 2, .row_fill = 0.1});
  EXPECT_THAT(problem.extents, ElementsAre(24, 48, 32));
}

TEST(InvertMappingTest, MeetsComparisonsAndGoesOnToAFullIteration) {
  KernelSpec spec = GemmSpec();
  // k > 100
  spec.problem_predicates = {
      {.left = {{.coefficient = 1, .parameters = {}, .dimensions = {2}}},
       .op = Relation::Operator::kGreater,
       .right = {{.coefficient = 100, .parameters = {}, .dimensions = {}}}}};
  const Problem problem =
      Invert(spec, Small(), {.tiles = 4, .iterations = 2, .rows = 1});
  EXPECT_EQ(problem.extents[2], 7 * 16);
}

TEST(InvertMappingTest, SaysThatPredicatesCannotBeMet) {
  KernelSpec spec = GemmSpec();
  // n % 1000 == 0
  spec.problem_predicates = {
      {.left = {{.coefficient = 1, .parameters = {}, .dimensions = {1}}},
       .op = Relation::Operator::kMultipleOf,
       .right = {{.coefficient = 1000, .parameters = {}, .dimensions = {}}}}};
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
      Map(spec, Small(),
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
      Map(spec, Small(),
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
  const Coordinates c = Map(spec, configuration, problem);
  EXPECT_EQ(c.tiles, 136);  // The next multiple of 4.
  EXPECT_EQ(c.iterations, 3);
  EXPECT_EQ(problem.extents[2], 3 * 64);
}

TEST(InvertMappingTest, AKernelOfRowsOnlyTakesRowsFromItsTiles) {
  KernelSpec spec = GemmSpec();
  spec.mapping.tiles = Expression::CeilDiv({Dim(0)}, {Par(0)});
  const Coordinates c =
      Map(spec, Small(),
          Invert(spec, Small(), {.tiles = 50, .iterations = 2, .rows = 1}));
  EXPECT_EQ(c.tiles, 50);
  EXPECT_EQ(c.rows, 50);
}

// Random kernels: a dense GEMM with random ranges, tiles, limits and predicate.
struct RandomCase {
  KernelSpec spec;
  std::string specialisation;
  Configuration configuration;
  MappingTarget target;
};

class Cases {
 public:
  explicit Cases(uint64_t seed) : random_(seed) {}

  RandomCase Next() {
    RandomCase result;
    const int kind = static_cast<int>(Draw(0, 3));
    result.spec = kind == 0   ? GemmSpec()
                  : kind == 1 ? GroupedGemmSpec()
                              : CausalAttentionSpec();
    if (kind >= 2) result.specialisation = kind == 2 ? "full" : "causal";
    const int parameters = static_cast<int>(result.spec.parameters.size());
    std::vector<int64_t> values;
    for (int i = 0; i < parameters; ++i) values.push_back(Draw(1, 40));
    result.configuration = Configuration(values);
    for (Dimension& dimension : result.spec.dimensions) {
      if (Draw(0, 3) == 0) dimension.max = Draw(1, 2000);
      if (Draw(0, 5) == 0)
        dimension.min = Draw(1, std::min<int64_t>(dimension.max, 30));
    }
    if (Draw(0, 2) == 0) {
      result.spec.problem_predicates.push_back(
          {.left = {{.coefficient = 1,
                     .parameters = {},
                     .dimensions = {static_cast<int32_t>(Draw(
                         0,
                         static_cast<int64_t>(result.spec.dimensions.size()) -
                             1))}}},
           .op = static_cast<Relation::Operator>(Draw(1, 7)),
           .right = {{.coefficient = Draw(1, 64),
                      .parameters = {},
                      .dimensions = {}}}});
    }
    if (Draw(0, 3) == 0) result.spec.limits.max_elements = Draw(1, 1 << 20);
    if (Draw(0, 3) == 0) {
      result.spec.limits.max_total_iterations = Draw(1, 10000);
    }
    result.target = {.tiles = Draw(1, Draw(0, 1) == 0 ? 20 : 3000),
                     .iterations = static_cast<double>(Draw(1, 400)) / 4,
                     .rows = Draw(0, 1) == 0 ? 0 : Draw(1, 12),
                     .row_fill = static_cast<double>(Draw(1, 100)) / 100};
    return result;
  }

 private:
  int64_t Draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() %
                                      static_cast<uint64_t>(high - low + 1));
  }

  std::mt19937_64 random_;
};

TEST(InvertMappingPropertyTest, EveryResultKeepsTheContract) {
  Cases cases(7);
  int found = 0;
  for (int i = 0; i < 4000; ++i) {
    const RandomCase c = cases.Next();
    const auto problem =
        InvertMapping(c.spec, c.specialisation, c.configuration, c.target);
    SCOPED_TRACE(absl::StrCat("case ", i, " tiles ", c.target.tiles, " rows ",
                              c.target.rows));
    if (!problem.ok()) {
      ASSERT_EQ(problem.status().code(), absl::StatusCode::kNotFound);
      continue;
    }
    ++found;
    ASSERT_TRUE(CheckProblem(c.spec, *problem).ok())
        << CheckProblem(c.spec, *problem);
    ASSERT_TRUE(IsLegal(c.spec, c.configuration, problem->View()));
    const Coordinates got = Map(c.spec, c.configuration, *problem);
    ASSERT_GE(got.tiles, c.target.tiles);
    if (c.target.rows > 0) {
      ASSERT_EQ(got.rows, c.target.rows);
    }
    for (const Argument& argument : c.spec.arguments) {
      if (argument.role == ArgumentRole::kScalar) continue;
      ASSERT_LE(Evaluate(argument.size, problem->View(), c.configuration),
                c.spec.limits.max_elements);
    }
    if (c.spec.limits.max_total_iterations > 0) {
      ASSERT_LE(got.total_iterations, c.spec.limits.max_total_iterations);
    }
    ASSERT_EQ(
        *InvertMapping(c.spec, c.specialisation, c.configuration, c.target),
        *problem);
  }
  EXPECT_GT(found, 1500);
}

// What a dense GEMM can have, found by trying every problem of a small world.
TEST(InvertMappingPropertyTest, ADenseGemmIsInvertedAsWellAsBySearch) {
  std::mt19937_64 random(3);
  const auto draw = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() %
                                      static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 150; ++i) {
    KernelSpec spec = GemmSpec();
    for (Dimension& dimension : spec.dimensions) {
      dimension.min = draw(1, 5);
      dimension.max = draw(dimension.min, 24);
    }
    const Configuration configuration(
        {draw(1, 5), draw(1, 5), draw(1, 5), 1, draw(1, 4)});
    const MappingTarget target{.tiles = draw(1, 40),
                               .iterations = static_cast<double>(draw(1, 10)),
                               .rows = draw(1, 6)};
    int64_t least_tiles = 0;
    double nearest = 1e9;
    for (int64_t m = spec.dimensions[0].min; m <= spec.dimensions[0].max; ++m) {
      for (int64_t n = spec.dimensions[1].min; n <= spec.dimensions[1].max;
           ++n) {
        for (int64_t k = spec.dimensions[2].min; k <= spec.dimensions[2].max;
             ++k) {
          const std::vector<int64_t> extents = {m, n, k};
          const ProblemView problem{absl::MakeConstSpan(extents)};
          if (!IsLegal(spec, configuration, problem)) continue;
          const Coordinates c =
              MapProblem(spec.mapping, problem, configuration);
          if (c.rows != target.rows || c.tiles < target.tiles) continue;
          if (least_tiles == 0 || c.tiles < least_tiles) least_tiles = c.tiles;
          nearest =
              std::min(nearest, std::max(c.iterations - target.iterations,
                                         target.iterations - c.iterations));
        }
      }
    }
    const auto problem = InvertMapping(spec, "", configuration, target);
    ASSERT_EQ(problem.ok(), least_tiles > 0) << i << problem.status();
    if (!problem.ok()) continue;
    const Coordinates c = Map(spec, configuration, *problem);
    EXPECT_EQ(c.tiles, least_tiles) << i;
    EXPECT_EQ(std::max(c.iterations - target.iterations,
                       target.iterations - c.iterations),
              nearest)
        << i;
  }
}

// One way to make a mapping that cannot be inverted, and what is said of it.
struct Fault {
  std::string name;
  KernelSpec spec;
  std::string message;
};

class CheckInvertibleTest : public ::testing::TestWithParam<Fault> {};

TEST_P(CheckInvertibleTest, NamesWhatIsAtFault) {
  const Fault& fault = GetParam();
  const absl::Status status = CheckInvertible(fault.spec, fault.spec.mapping);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(fault.message));
}

Fault Broken(std::string name, std::string message, KernelSpec spec,
             Expression tiles) {
  spec.mapping.tiles = std::move(tiles);
  return {std::move(name), std::move(spec), std::move(message)};
}

std::vector<Fault> MappingFaults() {
  const auto rows = Expression::CeilDiv({Dim(0)}, {Par(0)});
  const auto columns = Expression::CeilDiv({Dim(1)}, {Par(1)});
  const KernelSpec gemm = GemmSpec();
  const KernelSpec grouped = GroupedGemmSpec();
  std::vector<Fault> faults = {
      Broken("OneDimensionForTwoAxes", "dimension 'm' drives two tile axes",
             gemm,
             Expression::Product(
                 {rows, Expression::CeilDiv({Dim(0), Dim(1)}, {Par(1)})})),
      Broken("NoAxis", "no dimension drives the tiles", gemm,
             Expression::Constant(7)),
      Broken("UnusedRows", "ceil(m / BLOCK_M) is no factor", gemm, columns),
      Broken("NestedDivision", "write nested divisions as one", gemm,
             Expression::CeilDiv({rows}, {Par(1)})),
      Broken("DimensionTwiceInANumerator", "stands twice in a numerator", gemm,
             Expression::CeilDiv({Dim(0), Dim(0)}, {Par(1)})),
      Broken("CausalTiles", "causal_blocks counts loop iterations", gemm,
             Expression::CausalBlocks(0, 1, 0, 1)),
      Broken("LoopDrivesTiles", "iterations_per_tile: no dimension drives",
             gemm, Expression::Product({rows, columns, Dim(2)})),
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

INSTANTIATE_TEST_SUITE_P(Faults, CheckInvertibleTest,
                         ::testing::ValuesIn(MappingFaults()),
                         [](const ::testing::TestParamInfo<Fault>& fault) {
                           return fault.param.name;
                         });

TEST(CheckInvertibleSpecsTest, AcceptsWhatTestsShare) {
  for (const KernelSpec& spec :
       {GemmSpec(), GroupedGemmSpec(), CausalAttentionSpec()}) {
    for (const std::string& name : spec.SpecialisationNames()) {
      EXPECT_TRUE(CheckInvertible(spec, spec.MappingOf(name)).ok());
    }
  }
}

}  // namespace
}  // namespace wavetune
