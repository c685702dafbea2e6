#include "model/kernel/correctness_problems.h"

#include "gtest/gtest.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

TEST(CorrectnessProblemsTest, ThoseOfTheSpecialisationAndThoseForAll) {
  KernelSpec spec = testing::CausalAttentionSpec();
  Problem problem = spec.representative_problems.at(0).problem;
  spec.correctness_problems.clear();
  for (const char* of : {"", "full", "causal"}) {
    problem.specialisation = of;
    spec.correctness_problems.push_back({.problem = problem});
  }
  const auto declared = DeclaredCorrectnessProblems(spec, "causal");
  ASSERT_EQ(declared.size(), 2u);
  for (const Problem& each : declared) {
    EXPECT_EQ(each.specialisation, "causal");
  }
}

// BLOCK_M, BLOCK_N, BLOCK_K, NUM_STAGES, VECTOR.
const Configuration kByElement = {16, 32, 32, 1, 1};
const Configuration kByFour = {16, 32, 32, 1, 4};

TEST(CorrectnessProblemsTest, TheDeclaredOnesThenTheEdgesOfTheCandidate) {
  KernelSpec spec = testing::GemmSpec();
  spec.correctness_problems = {{.problem = {.extents = {5, 6, 8}}},
                               {.problem = {.extents = {17, 33, 33}}}};
  const auto problems = CorrectnessProblems(spec, "", kByElement);
  ASSERT_TRUE(problems.ok()) << problems.status();
  EXPECT_EQ(problems->size(), 2u + 5u - 1u);  // An edge is declared.
  EXPECT_EQ(problems->at(0).extents, (std::vector<int64_t>{5, 6, 8}));
  EXPECT_EQ(problems->at(2).extents, (std::vector<int64_t>{1, 1, 1}));
}

TEST(CorrectnessProblemsTest, OnlyThoseThatAreLegalForTheCandidate) {
  KernelSpec spec = testing::GemmSpec();
  spec.correctness_problems = {{.problem = {.extents = {5, 6, 7}}}};
  const auto problems = CorrectnessProblems(spec, "", kByFour);
  ASSERT_TRUE(problems.ok()) << problems.status();
  EXPECT_EQ(problems->size(), 5u);
  for (const Problem& problem : *problems) {
    EXPECT_TRUE(IsLegal(spec, kByFour, problem.View()));
  }
}

TEST(CorrectnessProblemsTest, NeverNone) {
  KernelSpec spec = testing::GemmSpec();
  spec.correctness_problems.clear();
  spec.limits.max_elements = 1 << 20;
  spec.parameters[0].values = {1 << 19};
  const auto problems = CorrectnessProblems(spec, "", {1 << 19, 32, 32, 1, 1});
  ASSERT_TRUE(problems.ok()) << problems.status();
  EXPECT_FALSE(problems->empty());
}

}  // namespace
}  // namespace wavetune
