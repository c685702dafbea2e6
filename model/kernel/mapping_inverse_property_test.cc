// Random kernels and targets: what InvertMapping promises holds for all, and is
// as good as a search.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "model/kernel/mapping_inverse.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::wavetune::testing::CausalAttentionSpec;
using ::wavetune::testing::ConvolutionSpec;
using ::wavetune::testing::GemmSpec;
using ::wavetune::testing::GroupedGemmSpec;
using ::wavetune::testing::HopperGemmSpec;
using ::wavetune::testing::PaddedGroupedGemmSpec;
using ::wavetune::testing::PaddedMoeSpec;
using ::wavetune::testing::RowNormSpec;
using ::wavetune::testing::SelfAttentionSpec;
using ::wavetune::testing::SquareSpec;
using ::wavetune::testing::SyrkSpec;

Coordinates Map(const KernelSpec& spec, const Configuration& configuration,
                const Problem& problem) {
  return MapProblem(spec.MappingOf(problem.specialisation), problem.View(),
                    configuration);
}

// Random kernels: a dense GEMM with random ranges, tiles, limits and predicate.
struct RandomCase {
  KernelSpec spec;
  std::string specialisation;
  Configuration configuration;
  MappingTarget target;
};

// Whether there are rows and other tiles beside them.
bool HasFreeRows(const KernelSpec& spec) {
  return spec.name != "row_norm" && spec.name != "syrk" &&
         spec.name != "square" && spec.name != "padded_moe" &&
         spec.name != "convolution";
}

class Cases {
 public:
  explicit Cases(uint64_t seed) : random_(seed) {}

  RandomCase Next() {
    RandomCase result;
    const std::vector<KernelSpec> specs = {GemmSpec(),
                                           GroupedGemmSpec(),
                                           CausalAttentionSpec(),
                                           RowNormSpec(),
                                           SyrkSpec(),
                                           SquareSpec(),
                                           SelfAttentionSpec(),
                                           HopperGemmSpec(),
                                           ConvolutionSpec(),
                                           PaddedMoeSpec(),
                                           PaddedGroupedGemmSpec()};
    result.spec = specs[static_cast<size_t>(
        Draw(0, static_cast<int64_t>(specs.size()) - 1))];
    if (!result.spec.specialisations.empty()) {
      result.specialisation = Draw(0, 1) == 0 ? "full" : "causal";
    }
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
      const auto last = static_cast<int64_t>(result.spec.dimensions.size()) - 1;
      auto dimension = Expression::OfDimension(static_cast<int>(Draw(0, last)));
      const auto op = static_cast<Relation::Operator>(Draw(1, 7));
      result.spec.problem_predicates.push_back(
          {std::move(dimension), op, Expression::Constant(Draw(1, 64))});
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
  for (int i = 0; i < 2000; ++i) {
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
    if (c.target.rows > 0 && HasFreeRows(c.spec)) {
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
  EXPECT_GT(found, 750);
}

// What a dense GEMM can have, found by trying every problem of a small world.
TEST(InvertMappingPropertyTest, ADenseGemmIsInvertedAsWellAsBySearch) {
  std::mt19937_64 random(3);
  const auto draw = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() %
                                      static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 300; ++i) {
    const bool clusters = i % 2 == 1;
    KernelSpec spec = clusters ? HopperGemmSpec() : GemmSpec();
    for (Dimension& dimension : spec.dimensions) {
      dimension.min = draw(1, 5);
      dimension.max = draw(dimension.min, 24);
    }
    std::vector<int64_t> values = {draw(1, 5), draw(1, 5), draw(1, 5), 1,
                                   draw(1, 4)};
    if (clusters) values.insert(values.end(), {1, draw(1, 3)});
    const Configuration configuration(values);
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

// What one extent on two axes can have, found by trying every problem.
TEST(InvertMappingPropertyTest, OneExtentOnTwoAxesIsInvertedAsWellAsBySearch) {
  std::mt19937_64 random(5);
  const auto draw = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() %
                                      static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 300; ++i) {
    const bool everywhere = i % 2 == 1;
    KernelSpec spec = everywhere ? SquareSpec() : SyrkSpec();
    for (Dimension& dimension : spec.dimensions) {
      dimension.min = draw(1, 5);
      dimension.max = draw(dimension.min, 60);
    }
    const Configuration configuration(
        {draw(1, 5), draw(1, 5), draw(1, 5), 1, 1});
    const MappingTarget target{.tiles = draw(1, 150),
                               .iterations = static_cast<double>(draw(1, 10))};
    int64_t least_tiles = 0;
    for (int64_t n = spec.dimensions[0].min; n <= spec.dimensions[0].max; ++n) {
      const std::vector<int64_t> extents = {n, 1};
      const ProblemView problem{
          absl::MakeConstSpan(extents).subspan(0, spec.dimensions.size())};
      const Coordinates c = MapProblem(spec.mapping, problem, configuration);
      if (c.tiles < target.tiles) continue;
      least_tiles = c.tiles;
      break;
    }
    const auto problem = InvertMapping(spec, "", configuration, target);
    ASSERT_EQ(problem.ok(), least_tiles > 0) << i << problem.status();
    if (!problem.ok()) continue;
    EXPECT_EQ(Map(spec, configuration, *problem).tiles, least_tiles) << i;
  }
}

// What a sum can have, found by trying every problem of a small world.
TEST(InvertMappingPropertyTest, ASumIsInvertedAsWellAsBySearch) {
  std::mt19937_64 random(6);
  const auto draw = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() %
                                      static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 300; ++i) {
    KernelSpec spec = PaddedMoeSpec();
    spec.representative_problems.clear();
    for (Dimension& dimension : spec.dimensions) {
      dimension.min = draw(1, 4);
      dimension.max = draw(dimension.min, 30);
    }
    const Configuration configuration(
        {draw(1, 5), draw(1, 5), draw(1, 5), 1, 1});
    const MappingTarget target{.tiles = draw(1, 120),
                               .iterations = static_cast<double>(draw(1, 10)),
                               .rows = 0};
    const auto least = [&spec](size_t dimension) {
      return spec.dimensions[dimension].min;
    };
    // All but tokens and n at their minimum.
    int64_t least_tiles = 0;
    for (int64_t tokens = least(0); tokens <= spec.dimensions[0].max;
         ++tokens) {
      for (int64_t n = least(3); n <= spec.dimensions[3].max; ++n) {
        const std::vector<int64_t> extents = {tokens, least(1), least(2), n,
                                              least(4)};
        const Coordinates c =
            MapProblem(spec.mapping, ProblemView(absl::MakeConstSpan(extents)),
                       configuration);
        if (c.tiles < target.tiles) continue;
        if (least_tiles == 0 || c.tiles < least_tiles) least_tiles = c.tiles;
      }
    }
    const auto problem = InvertMapping(spec, "", configuration, target);
    if (least_tiles == 0) continue;
    ASSERT_TRUE(problem.ok()) << i << problem.status();
    // Square grids may have more tiles than the fewest.
    const Coordinates c = Map(spec, configuration, *problem);
    EXPECT_GE(c.tiles, least_tiles) << i;
    EXPECT_LE(c.tiles, least_tiles + least_tiles / 2 + 2) << i;
  }
}

}  // namespace
}  // namespace wavetune
