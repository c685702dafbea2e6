#include "model/kernel/correctness_problems.h"

#include "gtest/gtest.h"
#include "model/kernel/kernel_validation.h"
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
  const auto problems = CorrectnessProblems(spec, "causal");
  ASSERT_TRUE(problems.ok()) << problems.status();
  ASSERT_EQ(problems->size(), 2u);
  for (const Problem& each : *problems) {
    EXPECT_EQ(each.specialisation, "causal");
  }
  EXPECT_EQ(*problems, DeclaredCorrectnessProblems(spec, "causal"));
}

TEST(CorrectnessProblemsTest, ALegalOneIsDerivedWhereNoneIsDeclared) {
  KernelSpec spec = testing::GemmSpec();
  spec.correctness_problems.clear();
  EXPECT_TRUE(DeclaredCorrectnessProblems(spec, "").empty());
  const auto problems = CorrectnessProblems(spec, "");
  ASSERT_TRUE(problems.ok()) << problems.status();
  ASSERT_EQ(problems->size(), 1u);
  EXPECT_TRUE(CheckProblem(spec, problems->front()).ok());
}

}  // namespace
}  // namespace wavetune
