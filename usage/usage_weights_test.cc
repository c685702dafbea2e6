#include "usage/usage_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "fit/build/fit_table.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

KernelSpec Gemm() {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems = {
      {.problem = {.extents = {64, 512, 512}}, .weight = 3},
      {.problem = {.extents = {512, 512, 1024}}, .weight = 1}};
  return spec;
}

WeightedProblem Used(int64_t m, double weight) {
  return {.problem = {.extents = {m, 768, 768}}, .weight = weight};
}

double WeightOf(const std::vector<WeightedProblem>& problems,
                const Problem& problem) {
  double sum = 0;
  for (const WeightedProblem& w : problems) {
    if (w.problem == problem) sum += w.weight;
  }
  return sum;
}

TEST(UsageWeightsTest, WithoutUseTheSpecsProblemsStand) {
  EXPECT_THAT(WithUsage(Gemm(), {}), IsEmpty());
}

TEST(UsageWeightsTest, NamedAndUsedProblemsHaveHalfOfTheWeightEach) {
  const auto problems = WithUsage(Gemm(), {Used(1, 30), Used(2, 10)});
  ASSERT_THAT(problems, SizeIs(4));
  EXPECT_DOUBLE_EQ(
      WeightOf(problems, Gemm().representative_problems[0].problem), 0.375);
  EXPECT_DOUBLE_EQ(
      WeightOf(problems, Gemm().representative_problems[1].problem), 0.125);
  EXPECT_DOUBLE_EQ(WeightOf(problems, Used(1, 0).problem), 0.375);
  EXPECT_DOUBLE_EQ(WeightOf(problems, Used(2, 0).problem), 0.125);
}

TEST(UsageWeightsTest, TheOrderOfTheUsedDoesNotMatter) {
  std::vector<WeightedProblem> used = {Used(1, 0.1), Used(2, 0.2), Used(1, 0.3),
                                       Used(3, 0.1)};
  const auto expected = WithUsage(Gemm(), used);
  std::reverse(used.begin(), used.end());
  const auto reversed = WithUsage(Gemm(), used);
  ASSERT_EQ(reversed.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(reversed[i].problem, expected[i].problem);
    EXPECT_EQ(reversed[i].weight, expected[i].weight);  // To the bit.
  }
}

TEST(UsageWeightsTest, LeavesOutWhatMayNotBeMeasured) {
  KernelSpec spec = Gemm();
  spec.limits.max_elements = 1 << 20;
  EXPECT_TRUE(IsMeasurable(spec, Used(1, 1).problem));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<WeightedProblem> refused = {
      Used(0, 1),                                // Out of range.
      {.problem = {.extents = {1, 768}}},        // Too few extents.
      {.problem = {.extents = {1, 768, 768},     // No such name.
                   .specialisation = "other"}},  //
      Used(1 << 20, 1),                          // Too large a buffer.
      Used(1, 0),
      Used(1, -1),
      Used(1, nan),
      Used(1, infinity)};
  EXPECT_THAT(WithUsage(spec, refused), IsEmpty());
  std::vector<WeightedProblem> used = refused;
  used.push_back(Used(7, 1));
  EXPECT_THAT(WithUsage(spec, used), SizeIs(3));
}

TEST(UsageWeightsTest, RespectsTheLimitOfIterations) {
  KernelSpec spec = Gemm();
  spec.limits.max_total_iterations = 1;
  EXPECT_FALSE(IsMeasurable(spec, Used(4096, 1).problem));
}

TEST(UsageWeightsTest, TakesTheMostUsedWhereThereAreMany) {
  std::vector<WeightedProblem> used;
  for (int64_t m = 1; m <= 200; ++m) {
    used.push_back(Used(m, static_cast<double>(m)));
  }
  const auto problems = WithUsage(Gemm(), used);
  EXPECT_THAT(problems, SizeIs(2 + kMostUsedProblems));
  EXPECT_GT(WeightOf(problems, Used(200, 0).problem), 0);
  EXPECT_EQ(WeightOf(problems, Used(100, 0).problem), 0);
}

TEST(UsageWeightsTest, ASpecialisationThatNobodyUsedKeepsItsProblems) {
  KernelSpec spec = testing::CausalAttentionSpec();
  const std::vector<int64_t> extents = {1, 8, 8, 128, 128};
  spec.representative_problems = {{.problem = {.extents = extents}}};
  const auto problems =
      WithUsage(spec, {{.problem = {.extents = {2, 8, 8, 64, 64},
                                    .specialisation = "causal"}}});
  ASSERT_THAT(problems, SizeIs(3));
  EXPECT_EQ(WeightOf(problems, {.extents = extents, .specialisation = "full"}),
            1);
  EXPECT_EQ(
      WeightOf(problems, {.extents = extents, .specialisation = "causal"}),
      0.5);
}

TEST(UsageWeightsTest, WithoutNamedProblemsFewUsedOnesSayTooLittle) {
  KernelSpec spec = Gemm();
  spec.representative_problems.clear();
  std::vector<WeightedProblem> used;
  for (int64_t m = 1; m <= 7; ++m) used.push_back(Used(m, 1));
  EXPECT_THAT(WithUsage(spec, used), IsEmpty());
  used.push_back(Used(8, 1));
  EXPECT_THAT(WithUsage(spec, used), SizeIs(8));
}

// A device that was profiled for decode, and is now asked for prefill.
class RefinedForUseTest : public ::testing::Test {
 protected:
  static KernelSpec Decode() {
    KernelSpec spec = testing::GemmSpec();
    spec.representative_problems.clear();
    for (const int64_t m : {1, 4, 12, 40}) {
      for (const int64_t k : {576, 2560}) {
        spec.representative_problems.push_back(
            {.problem = {.extents = {m, 576, k}}});
      }
    }
    return spec;
  }
  static Decision Resolve(const ProfileInput& input, const Problem& problem) {
    const auto fit = FitTable(input);
    EXPECT_TRUE(fit.ok()) << fit.status();
    const auto table =
        CompiledTable::Create(EncodeTable(fit->table).value()).value();
    return table->Resolve(0, problem.View());
  }
};

TEST_F(RefinedForUseTest, MeasuresWhatIsUsedAndIsSureOfItThen) {
  const testing::SyntheticDevice device(Decode(), {});
  ProfileInput input = Profile(device, device.Input());
  std::vector<WeightedProblem> used;
  for (const int64_t m : {4000, 6000, 8000, 12000}) {
    used.push_back({.problem = {.extents = {m, 4096, 4096}}, .weight = 100});
  }
  const Decision before = Resolve(input, used[0].problem);
  const size_t samples_before = input.samples.size();

  input.representative_problems = WithUsage(device.spec(), used);
  const auto compiled = static_cast<int>(input.candidates[0].size());
  input.options.samples_per_candidate =
      static_cast<int>(samples_before) / compiled + 8;
  input.options.refinement_samples = 4;
  input = Profile(device, input);
  std::set<Problem> measured;
  for (const Sample& sample : input.samples) measured.insert(sample.problem);
  int of_used = 0;
  for (const WeightedProblem& u : used) of_used += measured.contains(u.problem);
  EXPECT_GT(of_used, 0);
  EXPECT_LE(input.samples.size() - samples_before,
            static_cast<size_t>(compiled) * 9);
  const Decision after = Resolve(input, used[0].problem);
  EXPECT_EQ(before.source, DecisionSource::kExtrapolated);
  EXPECT_EQ(after.source, DecisionSource::kFitted);
}

}  // namespace
}  // namespace wavetune
