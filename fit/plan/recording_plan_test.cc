#include "fit/plan/recording_plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fit/build/fit_table.h"
#include "fit/plan/verification.h"
#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using testing::SyntheticDevice;

using Pair = std::pair<Configuration, Problem>;

std::set<Pair> Recorded(const RecordingPlan& plan) {
  std::set<Pair> pairs;
  for (const auto* items : {&plan.anchors, &plan.representatives}) {
    for (const MeasureItem& item : *items) {
      EXPECT_TRUE(pairs.emplace(item.configuration, item.problem).second)
          << "twice";
    }
  }
  return pairs;
}

KernelSpec RecordedGemm() {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems.clear();
  for (const int64_t m : {1, 3, 17, 64, 200, 900, 3000}) {
    for (const int64_t k : {512, 2048, 4096}) {
      spec.representative_problems.push_back(
          {.problem = {{m, 2048, k}, {}, {}}});
    }
  }
  return spec;
}

KernelSpec WithoutRepresentatives() {
  KernelSpec spec = testing::GemmSpec();
  spec.representative_problems.clear();
  return spec;
}

struct Case {
  std::string name;
  KernelSpec spec;
  testing::SyntheticDeviceOptions device;
};

class RecordingPlanTest : public ::testing::TestWithParam<Case> {};

// The promise: a profile that runs from the recording misses nothing.
TEST_P(RecordingPlanTest, HasEverythingThatAProfileAsksFor) {
  const SyntheticDevice device(GetParam().spec, GetParam().device);
  const auto plan = PlanRecording(device.Input());
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::set<Pair> recorded = Recorded(*plan);
  const auto expect = [&](const std::vector<MeasureItem>& items) {
    for (const MeasureItem& item : items) {
      EXPECT_TRUE(recorded.contains({item.configuration, item.problem}))
          << FormatConfiguration(device.spec(), item.configuration) << " at "
          << FormatProblem(device.spec(), item.problem);
    }
  };
  for (const int samples_per_candidate : {12, 32, 64}) {
    ProfileInput input = device.Input();
    input.options.samples_per_candidate = samples_per_candidate;
    std::vector<ProfileStep> steps;
    const ProfileInput done = Profile(device, input, &steps);
    EXPECT_FALSE(steps.empty());
    for (const ProfileStep& step : steps) expect(step.items);
    const Table table = FitTable(done).value().table;
    expect(PlanVerification(done, table, nullptr).items);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, RecordingPlanTest,
    ::testing::Values(
        Case{"RecordedGemm", RecordedGemm(), {}},
        Case{
            "GemmOnFewMultiprocessors", RecordedGemm(), {.multiprocessors = 2}},
        Case{"Attention", testing::CausalAttentionSpec(), {}},
        Case{"GroupedGemm", testing::GroupedGemmSpec(), {}},
        Case{"WithoutRepresentatives", WithoutRepresentatives(), {}}),
    [](const auto& of) { return of.param.name; });

TEST(RecordingPlanSizeTest, TakesEveryCandidateAtEveryLegalRepresentative) {
  const SyntheticDevice device(RecordedGemm(), {});
  const ProfileInput input = device.Input();
  const std::set<Pair> recorded = Recorded(PlanRecording(input).value());
  for (const Candidate& candidate : input.candidates[0]) {
    for (const WeightedProblem& wanted : input.spec->representative_problems) {
      EXPECT_TRUE(recorded.contains({candidate.configuration, wanted.problem}));
    }
  }
}

TEST(RecordingPlanSizeTest, KeepsToTheNumberOfAnchorsButNeverLessThanAPlan) {
  const SyntheticDevice device(RecordedGemm(), {});
  const size_t candidates = device.Input().candidates[0].size();
  EXPECT_EQ(PlanRecording(device.Input()).value().anchors.size(),
            candidates * kGridAnchors);
  EXPECT_EQ(PlanRecording(device.Input(), 60).value().anchors.size(),
            candidates * 60);
  const size_t least = PlanRecording(device.Input(), 1).value().anchors.size();
  EXPECT_LE(least, candidates * kMaxAnchors);
  EXPECT_GT(least, candidates * kMaxAnchors / 2);
}

TEST(RecordingPlanSizeTest, LeavesOutWhatDoesNotCompile) {
  const SyntheticDevice device(RecordedGemm(), {});
  ProfileInput input = device.Input();
  input.candidates[0][0].excluded_reason = "does not compile";
  const Configuration excluded = input.candidates[0][0].configuration;
  for (const auto& [configuration, problem] :
       Recorded(PlanRecording(input).value())) {
    EXPECT_NE(configuration, excluded);
  }
}

TEST(RecordingPlanSizeTest, ItsOrderHasTheItemsOfAProblemInARow) {
  const SyntheticDevice device(RecordedGemm(), {});
  const RecordingPlan plan = PlanRecording(device.Input()).value();
  std::set<Problem> seen;
  const Problem* last = nullptr;
  for (const MeasureItem& item : plan.anchors) {
    if (last != nullptr && item.problem == *last) continue;
    EXPECT_TRUE(seen.insert(item.problem).second);
    last = &item.problem;
  }
}

TEST(RecordingPlanSizeTest, AnInconsistentInputIsRefused) {
  EXPECT_FALSE(PlanRecording({}).ok());
}

}  // namespace
}  // namespace wavetune
