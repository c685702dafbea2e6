#include "model/kernel/mapping.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using testing::Dim;
using testing::Par;

// The definition in docs/manifest.md, tile by tile.
int64_t CausalBlocksByLoop(int64_t seq_q, int64_t seq_kv, int64_t block_q,
                           int64_t block_kv) {
  int64_t sum = 0;
  for (int64_t t = 0; t * block_q < seq_q; ++t) {
    const int64_t visible = std::clamp<int64_t>(
        seq_kv - seq_q + std::min((t + 1) * block_q, seq_q), 1, seq_kv);
    sum += (visible + block_kv - 1) / block_kv;
  }
  return sum;
}

int64_t CausalBlocks(int64_t seq_q, int64_t seq_kv, int64_t block_q,
                     int64_t block_kv) {
  return Evaluate(Expression::CausalBlocks(0, 1, 0, 1), {seq_q, seq_kv},
                  Configuration({block_q, block_kv}));
}

TEST(EvaluateTest, ComputesEachPrimitive) {
  const Configuration configuration({16, 32});
  const std::vector<int64_t> extents = {100, 70};
  const ProblemView problem{absl::MakeConstSpan(extents)};
  EXPECT_EQ(Evaluate(Expression::Constant(7), problem, configuration), 7);
  EXPECT_EQ(Evaluate(Dim(1), problem, configuration), 70);
  EXPECT_EQ(Evaluate(Par(1), problem, configuration), 32);
  EXPECT_EQ(
      Evaluate(Expression::CeilDiv({Dim(0)}, {Par(0)}), problem, configuration),
      7);
  EXPECT_EQ(Evaluate(Expression::CeilDiv({Dim(0), Dim(1)}, {Par(0), Par(1)}),
                     problem, configuration),
            14);  // 7000 / 512
  EXPECT_EQ(
      Evaluate(Expression::Product({Dim(0), Par(0), Expression::Constant(2)}),
               problem, configuration),
      3200);
}

TEST(EvaluateTest, AddsTermsOfWhichSomeAreZero) {
  const Configuration configuration({16, 0});
  const std::vector<int64_t> extents = {100};
  const ProblemView problem{absl::MakeConstSpan(extents)};
  const auto off = Expression::Product({Expression::Constant(128), Par(1)});
  EXPECT_EQ(Evaluate(Expression::Sum({Expression::Constant(128), off}), problem,
                     configuration),
            128);
  EXPECT_EQ(Evaluate(Expression::Sum({off}), problem, configuration), 0);
  EXPECT_EQ(Evaluate(Expression::Product({Expression::Constant(2),
                                          Expression::Sum({Par(0), Dim(0)})}),
                     problem, configuration),
            232);
}

TEST(EvaluateTest, ASumUnderASumOverSeesTheElement) {
  const std::vector<int64_t> tokens = {1, 40};
  const std::vector<int64_t> extents = {0, 64};
  EXPECT_EQ(Evaluate(Expression::SumOver(
                         0, Expression::Sum({Dim(0), Expression::Constant(5)})),
                     ProblemView(extents, tokens), Configuration({16})),
            1 + 5 + 40 + 5);
}

TEST(EvaluateTest, SumsOverTheElementsOfTheRepeatedDimension) {
  const std::vector<int64_t> tokens = {1, 16, 17, 40};
  const std::vector<int64_t> extents = {0, 64};
  const ProblemView problem(extents, tokens);
  const Configuration configuration({16, 32});
  const auto rows = Expression::CeilDiv({Dim(0)}, {Par(0)});
  const auto columns = Expression::CeilDiv({Dim(1)}, {Par(1)});
  EXPECT_EQ(Evaluate(Expression::SumOver(0, rows), problem, configuration),
            1 + 1 + 2 + 3);
  EXPECT_EQ(
      Evaluate(Expression::SumOver(0, Expression::Product({rows, columns})),
               problem, configuration),
      14);
  EXPECT_EQ(Evaluate(Expression::SumOver(0, Expression::Constant(1)), problem,
                     configuration),
            4);
}

TEST(EvaluateTest, SaysWhatHasSaturated) {
  const Configuration configuration({64, 64});
  const Expression product = Expression::Product({Dim(0), Dim(1)});
  EXPECT_EQ(EvaluateOrOver(product, {kExpressionLimit, 1}, configuration),
            kExpressionLimit);
  EXPECT_EQ(EvaluateOrOver(product, {kExpressionLimit, 2}, configuration),
            kOverLimit);
  EXPECT_EQ(EvaluateOrOver(product, {kExpressionLimit, 0}, configuration), 0);
  Mapping mapping;
  mapping.tiles = product;
  mapping.iterations_per_tile = Dim(0);
  EXPECT_FALSE(
      MapProblem(mapping, {1 << 20, 1 << 20}, configuration).saturated);
  EXPECT_TRUE(
      MapProblem(mapping, {kExpressionLimit, 2}, configuration).saturated);
}

TEST(EvaluateTest, SaturatesInsteadOfOverflowing) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const Configuration configuration({1, kHuge});
  const std::vector<int64_t> extents = {kHuge, kHuge};
  const ProblemView problem{absl::MakeConstSpan(extents)};
  EXPECT_EQ(Evaluate(Dim(0), problem, configuration), kExpressionLimit);
  EXPECT_EQ(
      Evaluate(Expression::Product({Dim(0), Dim(1)}), problem, configuration),
      kExpressionLimit);
  // What has saturated says nothing, divided or not.
  EXPECT_EQ(Evaluate(Expression::CeilDiv({Dim(0), Dim(1)}, {Par(1)}), problem,
                     configuration),
            kExpressionLimit);
  EXPECT_EQ(
      Evaluate(Expression::CeilDiv({Dim(0)}, {Par(1)}), problem, configuration),
      1);
  EXPECT_EQ(Evaluate(Expression::Sum({Dim(0), Dim(1), Par(1)}), problem,
                     configuration),
            kExpressionLimit);
  EXPECT_EQ(CausalBlocks(kHuge, kHuge, 1, 1), kExpressionLimit);
  EXPECT_EQ(CausalBlocks(kHuge, 1, 1, 1), kExpressionLimit);
}

TEST(EvaluateTest, TakesNegativeValuesAsZeroAndAZeroDenominatorAsOne) {
  const Configuration configuration({0, -5});
  const std::vector<int64_t> extents = {10, -3};
  const ProblemView problem{absl::MakeConstSpan(extents)};
  EXPECT_EQ(
      Evaluate(Expression::CeilDiv({Dim(0)}, {Par(0)}), problem, configuration),
      10);
  EXPECT_EQ(
      Evaluate(Expression::CeilDiv({Dim(0)}, {Par(1)}), problem, configuration),
      10);
  EXPECT_EQ(Evaluate(Dim(1), problem, configuration), 0);
}

TEST(CausalBlocksTest, CountsKnownCases) {
  EXPECT_EQ(CausalBlocks(4, 4, 1, 1), 1 + 2 + 3 + 4);
  EXPECT_EQ(CausalBlocks(128, 128, 64, 32), 2 + 4);
  EXPECT_EQ(CausalBlocks(1, 1000, 16, 64), 16);     // Decode sees every key.
  EXPECT_EQ(CausalBlocks(64, 1, 16, 32), 4);        // At least one block each.
  EXPECT_EQ(CausalBlocks(65, 100, 64, 32), 4 + 4);  // 99, then 100 keys.
}

TEST(CausalBlocksTest, AgreesWithTheDefinitionOnRandomSizes) {
  std::mt19937_64 random(1);
  const auto draw = [&random](int64_t limit) {
    return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  for (int i = 0; i < 20000; ++i) {
    const int64_t limit = i % 2 == 0 ? 20 : 3000;
    const int64_t q = draw(limit);
    const int64_t kv = draw(limit);
    const int64_t block_q = draw(limit / 4);
    const int64_t block_kv = draw(limit / 4);
    ASSERT_EQ(CausalBlocks(q, kv, block_q, block_kv),
              CausalBlocksByLoop(q, kv, block_q, block_kv))
        << q << " " << kv << " " << block_q << " " << block_kv;
  }
}

TEST(CausalBlocksTest, WideAndNarrowArithmeticAgree) {
  // Beyond 2^31 keys the sum is computed in 128 bits.
  const int64_t keys = (int64_t{1} << 31) + 12345;
  EXPECT_EQ(CausalBlocks(5000, keys, 7, 11),
            CausalBlocksByLoop(5000, keys, 7, 11));
}

TEST(MapProblemTest, MapsADenseGemm) {
  const KernelSpec spec = testing::GemmSpec();
  const Coordinates c = MapProblem(spec.mapping, {40, 100, 50},
                                   Configuration({16, 32, 16, 1, 1}));
  EXPECT_EQ(c.tiles, 3 * 4);
  EXPECT_EQ(c.iterations, 4);
  EXPECT_EQ(c.total_iterations, 48);
  EXPECT_EQ(c.longest_loop, 4);
  EXPECT_EQ(c.rows, 3);
  EXPECT_EQ(c.row_fill, 0.5);
  EXPECT_EQ(c.row_share, 1.0 / 3);
}

TEST(MapProblemTest, ASingleRowsShareIsWhatItLeavesEmpty) {
  const KernelSpec spec = testing::GemmSpec();
  const Configuration configuration({16, 32, 16, 1, 1});
  EXPECT_EQ(MapProblem(spec.mapping, {4, 100, 50}, configuration).row_share,
            0.75);
  EXPECT_EQ(MapProblem(spec.mapping, {16, 100, 50}, configuration).row_share,
            0);
  EXPECT_EQ(MapProblem(spec.mapping, {17, 100, 50}, configuration).row_share,
            0.5);
}

TEST(MapProblemTest, SumsRowsAndAveragesFillOverExperts) {
  const KernelSpec spec = testing::GroupedGemmSpec();
  const std::vector<int64_t> tokens = {8, 16, 20};
  const Coordinates c = MapProblem(spec.mapping, {{0, 64, 32}, tokens},
                                   Configuration({16, 32, 16, 1, 1}));
  EXPECT_EQ(c.rows, 1 + 1 + 2);
  EXPECT_EQ(c.tiles, 4 * 2);
  EXPECT_EQ(c.iterations, 2);
  EXPECT_DOUBLE_EQ(c.row_fill, (0.5 + 1 + 0.25) / 3);
  EXPECT_EQ(c.row_share, 0);  // Experts share no weights.
}

TEST(MapProblemTest, SkipsExpertsWithoutTokens) {
  const KernelSpec spec = testing::GroupedGemmSpec();
  const std::vector<int64_t> tokens = {0, 16, 0};
  const Coordinates c = MapProblem(spec.mapping, {{0, 64, 32}, tokens},
                                   Configuration({16, 32, 16, 1, 1}));
  EXPECT_EQ(c.rows, 1);
  EXPECT_EQ(c.row_fill, 1);
  EXPECT_EQ(c.tiles, 2);
}

TEST(MapProblemTest, NeverGivesLessThanOneTile) {
  const KernelSpec spec = testing::GroupedGemmSpec();
  const Coordinates c =
      MapProblem(spec.mapping, {0, 64, 32}, Configuration({16, 32, 16, 1, 1}));
  EXPECT_EQ(c.tiles, 1);
  EXPECT_EQ(c.rows, 1);
  EXPECT_EQ(c.iterations, 2);
}

TEST(MapProblemTest, AveragesTheLoopsOfCausalTiles) {
  const KernelSpec spec = testing::CausalAttentionSpec();
  const Coordinates c =
      MapProblem(spec.MappingOf("causal"), {2, 3, 1, 128, 128},
                 Configuration({64, 32, 1}));
  EXPECT_EQ(c.tiles, 2 * 3 * 2);
  EXPECT_EQ(c.total_iterations, 6 * (2 + 4));
  EXPECT_EQ(c.iterations, 3);
  EXPECT_EQ(c.longest_loop, 4);
  EXPECT_EQ(c.rows, 2);
}

TEST(MapProblemTest, DefaultsTheLongestLoopToTheMeanRoundedUp) {
  Mapping mapping;
  mapping.tiles = Dim(0);
  mapping.total_iterations = Dim(1);
  const Coordinates c = MapProblem(mapping, {4, 10}, Configuration());
  EXPECT_EQ(c.iterations, 2.5);
  EXPECT_EQ(c.longest_loop, 3);
  EXPECT_EQ(c.rows, 1);
  EXPECT_EQ(c.row_fill, 1);
}

TEST(MapProblemTest, StaysDefinedAtTheLargestExtents) {
  const KernelSpec spec = testing::GemmSpec();
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const Coordinates c = MapProblem(spec.mapping, {kHuge, kHuge, kHuge},
                                   Configuration({16, 32, 16, 1, 1}));
  EXPECT_EQ(c.tiles, kExpressionLimit);
  EXPECT_EQ(c.total_iterations, kExpressionLimit);
  EXPECT_GT(c.iterations, 0);
}

TEST(WavesTest, RoundsUp) {
  EXPECT_EQ(Waves(1, 132), 1);
  EXPECT_EQ(Waves(132, 132), 1);
  EXPECT_EQ(Waves(133, 132), 2);
}

TEST(MappingTest, ElementsWithoutWorkReadNothingCold) {
  Mapping mapping;
  mapping.tiles = Expression::SumOver(0, Expression::OfDimension(0));
  // A matrix of 256 KiB for each element, and 1 KiB for each of its rows.
  mapping.cold_bytes = Expression::Sum(
      {Expression::Product({Expression::SumOver(0, Expression::Constant(1024)),
                            Expression::OfDimension(1)}),
       Expression::SumOver(
           0, Expression::Product(
                  {Expression::OfDimension(0), Expression::Constant(1024)}))});
  const auto cold_mib = [&](absl::Span<const int64_t> elements) {
    const int64_t extents[] = {0, 256};
    const ProblemView problem(extents, elements);
    EXPECT_EQ(MapProblem(mapping, problem, {}).cold_mib,
              ColdMib(mapping, problem));
    return ColdMib(mapping, problem);
  };
  EXPECT_EQ(cold_mib({1024}), 0.25 + 1);
  EXPECT_EQ(cold_mib({0, 1024, 0, 0}), 0.25 + 1);
  EXPECT_EQ(cold_mib({512, 256, 256}), 3 * 0.25 + 1);
  EXPECT_EQ(cold_mib({0, 0}), 0);
}

TEST(MappingTest, MoreBytesThanCountSayNothing) {
  Mapping mapping;
  mapping.tiles = Expression::Constant(1);
  mapping.cold_bytes =
      Expression::Product({Expression::OfDimension(1),
                           Expression::SumOver(0, Expression::Constant(4))});
  const int64_t most[] = {0, kExpressionLimit / 4};
  const int64_t more[] = {0, kExpressionLimit / 4 + 1};
  const int64_t elements[] = {1};
  const Coordinates at = MapProblem(mapping, ProblemView(most, elements), {});
  EXPECT_EQ(at.cold_mib, kMaxColdMib);
  EXPECT_FALSE(at.saturated);
  EXPECT_GT(ColdMib(mapping, ProblemView(more, elements)), kMaxColdMib);
  EXPECT_TRUE(MapProblem(mapping, ProblemView(more, elements), {}).saturated);
}

}  // namespace
}  // namespace wavetune
