#include "model/kernel/edge_problems.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/kernel_validation.h"
#include "model/kernel/mapping.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Not;

std::vector<std::vector<int64_t>> Extents(
    const std::vector<Problem>& problems) {
  std::vector<std::vector<int64_t>> extents;
  for (const Problem& problem : problems) extents.push_back(problem.extents);
  return extents;
}

// BLOCK_M, BLOCK_N, BLOCK_K, NUM_STAGES, VECTOR.
TEST(EdgeProblemsTest, AreOneATileLessATileMoreAndARaggedLoop) {
  EXPECT_THAT(
      Extents(EdgeProblems(testing::GemmSpec(), "", {16, 32, 32, 1, 1})),
      ElementsAre(ElementsAre(1, 1, 1), ElementsAre(15, 31, 31),
                  ElementsAre(17, 33, 33), ElementsAre(1, 33, 80),
                  ElementsAre(17, 1, 80)));
}

TEST(EdgeProblemsTest, AreOfTheCandidatesOwnTiles) {
  EXPECT_THAT(
      Extents(EdgeProblems(testing::GemmSpec(), "", {64, 32, 16, 2, 1})),
      Contains(ElementsAre(63, 31, 15)));
}

TEST(EdgeProblemsTest, MoveToTheNextExtentThatAPredicateAllows) {
  EXPECT_THAT(
      Extents(EdgeProblems(testing::GemmSpec(), "", {16, 32, 32, 1, 4})),
      ElementsAre(ElementsAre(1, 1, 4), ElementsAre(15, 31, 28),
                  ElementsAre(17, 33, 36), ElementsAre(1, 33, 80),
                  ElementsAre(17, 1, 80)));
}

TEST(EdgeProblemsTest, KeepToTheDimensionsRanges) {
  KernelSpec spec = testing::GemmSpec();
  spec.dimensions[1].min = 8;
  spec.dimensions[2].max = 20;
  for (const Problem& problem : EdgeProblems(spec, "", {16, 32, 32, 1, 1})) {
    EXPECT_TRUE(CheckProblem(spec, problem).ok())
        << FormatProblem(spec, problem);
  }
  EXPECT_THAT(Extents(EdgeProblems(spec, "", {16, 32, 32, 1, 1})),
              Contains(ElementsAre(1, 8, 1)));
}

TEST(EdgeProblemsTest, AnElementOfARepeatedDimensionIsAtTheEdge) {
  KernelSpec spec = testing::GroupedGemmSpec();
  EXPECT_THAT(EdgeProblems(spec, "", {16, 32, 32, 1, 1}),
              Contains(Field(&Problem::repeated, ElementsAre(17, 1))));
}

TEST(EdgeProblemsTest, AnElementMayBeNothingWhereItsRangeAllowsIt) {
  KernelSpec spec = testing::GroupedGemmSpec();
  spec.dimensions[0].min = 0;
  EXPECT_THAT(EdgeProblems(spec, "", {16, 32, 32, 1, 1}),
              Contains(Field(&Problem::repeated, ElementsAre(17, 0, 1))));
}

// batch, heads, kv_heads, seq_q, seq_kv; BLOCK_Q, BLOCK_KV, NUM_STAGES.
// Pairs of queries and keys in the place of blocks.
TEST(EdgeProblemsTest, CausalBlocksMayBeNumbers) {
  KernelSpec spec = testing::CausalAttentionSpec();
  ASSERT_EQ(spec.specialisations[1].name, "causal");
  Expression pairs = Expression::CausalBlocks(3, 4, 0, 1);
  pairs.children[2] = pairs.children[3] = Expression::Constant(1);
  Mapping& mapping = *spec.specialisations[1].mapping;
  mapping.total_iterations = Expression::Product(
      {Expression::OfDimension(0), Expression::OfDimension(1), pairs});
  mapping.longest_loop.reset();
  ASSERT_TRUE(ValidateKernelSpec(spec).ok()) << ValidateKernelSpec(spec);
  // Two heads with 3 queries at the end of 5 keys: 3 + 4 + 5 pairs each.
  const Problem problem{.extents = {1, 2, 1, 3, 5}, .specialisation = "causal"};
  EXPECT_EQ(MapProblem(spec.MappingOf("causal"), problem.View(),
                       spec.default_configuration)
                .total_iterations,
            24);
  EXPECT_FALSE(
      EdgeProblems(spec, "causal", spec.default_configuration).empty());
}

TEST(EdgeProblemsTest, CausalQueriesAllHaveKeys) {
  const KernelSpec spec = testing::CausalAttentionSpec();
  for (const Configuration& configuration : EnumerateConfigurations(spec)) {
    for (const char* name : {"full", "causal"}) {
      const auto problems = EdgeProblems(spec, name, configuration);
      EXPECT_GE(problems.size(), 4u);
      for (const Problem& problem : problems) {
        EXPECT_EQ(problem.specialisation, name);
        EXPECT_EQ(problem.extents[1] % problem.extents[2], 0);
        if (std::string(name) == "causal") {
          EXPECT_GE(problem.extents[4], problem.extents[3]);
        }
      }
    }
  }
}

// rows, hidden; ROWS, THREADS, VECTOR.
TEST(EdgeProblemsTest, WithoutALoopAreAtTheEdgesOfTheGrid) {
  EXPECT_THAT(Extents(EdgeProblems(testing::RowNormSpec(), "", {16, 64, 1})),
              ElementsAre(ElementsAre(1, 4096), ElementsAre(15, 4096),
                          ElementsAre(17, 4096)));
}

// batch, heads, seq; BLOCK_Q, BLOCK_KV, NUM_STAGES.
TEST(EdgeProblemsTest, AnAxisWithALoopIsAtTheEdgesOfBoth) {
  const auto extents =
      Extents(EdgeProblems(testing::SelfAttentionSpec(), "full", {16, 64, 1}));
  EXPECT_THAT(extents, Contains(ElementsAre(1, 1, 63)));
  EXPECT_THAT(extents, Contains(ElementsAre(2, 2, 65)));
  EXPECT_THAT(extents, Contains(ElementsAre(1, 2, 160)));  // Two and a half.
  // Of 48 and 64 it is where tiles of both end.
  EXPECT_THAT(
      Extents(EdgeProblems(testing::SelfAttentionSpec(), "full", {48, 64, 1})),
      Contains(ElementsAre(2, 2, 193)));
}

// The loop of a GEMM that counts what it does, with its own BLOCK_K, a
// NUM_STAGES of 1 and what else it has in the place of VECTOR.
KernelSpec CountedGemmSpec() {
  KernelSpec spec = testing::GemmSpec();
  spec.mapping.iterations_per_tile.reset();
  spec.mapping.total_iterations = Expression::Product(
      {Expression::OfDimension(0), Expression::OfDimension(1),
       Expression::OfDimension(2)});
  spec.problem_predicates.clear();
  return spec;
}

TEST(EdgeProblemsTest, ALoopThatIsCountedStepsByTheLargestUnnamedParameter) {
  EXPECT_THAT(Extents(EdgeProblems(CountedGemmSpec(), "", {16, 32, 32, 1, 4})),
              ElementsAre(ElementsAre(1, 1, 1), ElementsAre(15, 31, 31),
                          ElementsAre(17, 33, 33), ElementsAre(1, 33, 80),
                          ElementsAre(17, 1, 80)));
}

// A parameter may be the bytes of shared memory: no step, and problems as large
// are too large.
TEST(EdgeProblemsTest, TheStepOfALoopThatIsCountedIsOneThatFits) {
  const auto extents =
      Extents(EdgeProblems(CountedGemmSpec(), "", {64, 128, 32, 1, 49152}));
  EXPECT_EQ(extents.size(), 5u);
  EXPECT_THAT(extents, Contains(ElementsAre(65, 129, 33)));
  EXPECT_THAT(extents, Contains(ElementsAre(1, 129, 80)));
  EXPECT_THAT(extents, Contains(ElementsAre(65, 1, 80)));
  // Nor does any other fit: then the loop is what it is counted as.
  EXPECT_THAT(Extents(EdgeProblems(CountedGemmSpec(), "",
                                   {64, 128, 49152, 49152, 49152})),
              Contains(ElementsAre(65, 129, 2)));
}

TEST(EdgeProblemsTest, ALoopWithAStepOfOneIsNotCounted) {
  KernelSpec spec = testing::GemmSpec();
  spec.problem_predicates.clear();
  EXPECT_THAT(Extents(EdgeProblems(spec, "", {16, 32, 1, 64, 8})),
              ElementsAre(ElementsAre(1, 1, 1), ElementsAre(15, 31, 1),
                          ElementsAre(17, 33, 2), ElementsAre(1, 33, 3),
                          ElementsAre(17, 1, 3)));
}

// batch, channels, filters, out_h, out_w, kernel_h, kernel_w. Asked for are
// images of 14 x 14 with filters of 3 x 3.
TEST(EdgeProblemsTest, ATileOfPixelsEndsInAnImage) {
  EXPECT_THAT(
      Extents(EdgeProblems(testing::ConvolutionSpec(), "", {16, 32, 32, 1, 1})),
      ElementsAre(ElementsAre(1, 1, 1, 1, 1, 1, 1),
                  ElementsAre(1, 3, 31, 5, 3, 3, 3),  // 15 pixels, 27 places.
                  ElementsAre(2, 4, 33, 3, 3, 3, 3),  // 18 pixels, 36 places.
                  ElementsAre(1, 9, 33, 1, 1, 3, 3),  // 81 places.
                  ElementsAre(2, 9, 1, 3, 3, 3, 3)));
}

TEST(EdgeProblemsTest, AnImageIsOnBothSidesOfATilesEnd) {
  const KernelSpec spec = testing::ConvolutionSpec();
  for (const Configuration& configuration : EnumerateConfigurations(spec)) {
    SCOPED_TRACE(FormatConfiguration(spec, configuration));
    const std::vector<Problem> problems = EdgeProblems(spec, "", configuration);
    ASSERT_EQ(problems.size(), 5u);
    const auto pixels = [&](size_t i) {
      const std::vector<int64_t>& extents = problems[i].extents;
      EXPECT_GE(extents[3], 3);
      EXPECT_GE(extents[4], 3);
      return extents[0] * extents[3] * extents[4];
    };
    EXPECT_LT(pixels(1), configuration[0]);
    EXPECT_GE(pixels(1), configuration[0] * 3 / 4);
    for (const size_t more : {2u, 4u}) {
      EXPECT_GE(problems[more].extents[0], 2);  // A tile goes on in the next.
      EXPECT_GT(pixels(more), configuration[0]);
      EXPECT_LE(pixels(more), configuration[0] * 3 / 2);
    }
  }
}

TEST(EdgeProblemsTest, WithoutRepresentativesImagesHaveRowsAndColumns) {
  KernelSpec spec = testing::ConvolutionSpec();
  spec.representative_problems.clear();
  EXPECT_THAT(Extents(EdgeProblems(spec, "", {16, 32, 32, 1, 1})),
              Contains(ElementsAre(5, 9, 33, 2, 2, 2, 2)));
}

TEST(EdgeProblemsTest, ImagesAreSmallerWhereTheyWouldExceedTheLimits) {
  KernelSpec spec = testing::ConvolutionSpec();
  // Of x and w, with filters of 3 x 3: 9 channels of 33 filters are 2673.
  spec.limits.max_elements = 33 * 9 * 9 - 1;
  const auto extents = Extents(EdgeProblems(spec, "", {16, 32, 32, 1, 1}));
  EXPECT_EQ(extents.size(), 5u);
  for (const std::vector<int64_t>& own : extents) {
    EXPECT_LE(own[2] * own[1] * own[5] * own[6], spec.limits.max_elements);
  }
}

// tokens, topk, experts, n, k: a token of 8 experts is 8 rows.
TEST(EdgeProblemsTest, CompanionsBesideTheTilesKeepWhatIsAskedFor) {
  EXPECT_THAT(
      Extents(EdgeProblems(testing::PaddedMoeSpec(), "", {64, 32, 32, 1, 1})),
      ElementsAre(ElementsAre(1, 1, 1, 1, 1), ElementsAre(7, 8, 32, 31, 31),
                  ElementsAre(9, 8, 32, 33, 33), ElementsAre(1, 1, 1, 33, 80),
                  ElementsAre(9, 8, 32, 1, 80)));
}

TEST(EdgeProblemsTest, LeaveOutWhatExceedsTheLimits) {
  KernelSpec spec = testing::GemmSpec();
  spec.limits.max_elements = 33 * 80 - 1;
  EXPECT_THAT(Extents(EdgeProblems(spec, "", {16, 32, 32, 1, 1})),
              Not(Contains(ElementsAre(1, 33, 80))));
}

}  // namespace
}  // namespace wavetune
