#include "fit/plan/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "fit/build/fit_table.h"
#include "fit/profile.h"
#include "fit/testing/synthetic_device.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using testing::SyntheticDevice;

const Configuration kChosen = {16, 32, 16, 1, 1};
const Configuration kIncumbent = {64, 32, 16, 1, 1};
const Configuration kStandard = {64, 32, 32, 2, 1};

// Points of equal weight with the given latencies, and the samples for them.
class JudgeTest : public ::testing::Test {
 protected:
  void AddPoint(double chosen_us, double incumbent_us, double standard_us,
                double spread = 0.005) {
    const Problem problem{
        {static_cast<int64_t>(plan_.points.size()) + 1, 64, 64}, {}, {}};
    plan_.points.push_back({.problem = problem,
                            .chosen = kChosen,
                            .incumbent = kIncumbent,
                            .default_configuration = kStandard});
    const auto add = [&](const Configuration& c, double latency_us) {
      plan_.items.push_back({c, problem});
      measured_.push_back({.configuration = c,
                           .problem = problem,
                           .latency_us = latency_us,
                           .relative_spread = spread});
    };
    add(kChosen, chosen_us);
    add(kIncumbent, incumbent_us);
    add(kStandard, standard_us);
  }

  Verdict Judge() const { return JudgeVerification(plan_, measured_); }

  VerificationPlan plan_;
  std::vector<Sample> measured_;
};

TEST_F(JudgeTest, PromotesWhatIsFaster) {
  AddPoint(80, 100, 160);
  AddPoint(100, 100, 100);
  const Verdict verdict = Judge();
  EXPECT_TRUE(verdict.promote) << verdict.reason;
  EXPECT_NEAR(verdict.geomean_vs_incumbent, 1.118, 1e-3);
  EXPECT_NEAR(verdict.geomean_vs_default, 1.414, 1e-3);
  EXPECT_EQ(verdict.worst_vs_incumbent, 1);
}

TEST_F(JudgeTest, AnIncumbentThatIsAsGoodStays) {
  AddPoint(99.6, 100, 120);
  AddPoint(99.6, 100, 120);
  EXPECT_FALSE(Judge().promote);
  EXPECT_THAT(Judge().reason, HasSubstr("less than 0.5 % is gained"));
  AddPoint(98, 100, 120);
  EXPECT_TRUE(Judge().promote) << Judge().reason;
}

TEST_F(JudgeTest, AnIncumbentHoldsThatIsNoSlowerThanTheDefault) {
  AddPoint(120, 100, 110);
  AddPoint(120, 100, 110);
  EXPECT_FALSE(Judge().promote);
  EXPECT_TRUE(Judge().incumbent_holds);
  plan_.points[0].has_incumbent = false;
  EXPECT_FALSE(Judge().incumbent_holds);
  plan_.points[0].has_incumbent = true;
  AddPoint(120, 150, 110);
  EXPECT_FALSE(Judge().incumbent_holds);
}

TEST_F(JudgeTest, RegretIsAgainstTheBestAtEachPoint) {
  AddPoint(100, 120, 110);
  AddPoint(100, 100, 80);
  EXPECT_NEAR(Judge().regret_incumbent, (0.2 + 0.25) / 2, 1e-9);
  EXPECT_NEAR(Judge().regret_chosen, (0 + 0.25) / 2, 1e-9);
  measured_.clear();
  EXPECT_LT(Judge().regret_chosen, 0);
}

TEST_F(JudgeTest, AStaleIncumbentGivesWayToWhatIsEqualUpToNoise) {
  AddPoint(100.5, 100, 100);
  AddPoint(100.5, 100, 100);
  EXPECT_FALSE(Judge().promote);
  plan_.incumbent_is_stale = true;
  EXPECT_TRUE(Judge().promote) << Judge().reason;
}

TEST_F(JudgeTest, AnIncumbentThatCannotRunSomewhereGivesWay) {
  AddPoint(100, 100, 120);
  AddPoint(100, 100, 100);
  EXPECT_FALSE(Judge().promote);
  plan_.points[1].has_incumbent = false;
  EXPECT_TRUE(Judge().promote) << Judge().reason;
}

TEST_F(JudgeTest, RefusesWhatIsSlowerOnTheWhole) {
  AddPoint(102, 100, 120);
  AddPoint(102, 100, 120);
  EXPECT_FALSE(Judge().promote);
  EXPECT_THAT(Judge().reason, HasSubstr("slower than the incumbent"));
}

TEST_F(JudgeTest, RefusesWhatIsSlowerThanTheDefault) {
  AddPoint(100, 120, 95);
  AddPoint(100, 120, 95);
  EXPECT_FALSE(Judge().promote);
  EXPECT_THAT(Judge().reason, HasSubstr("slower than the default"));
}

TEST_F(JudgeTest, RefusesWhatIsSlowerThanAnEnginesFileWhateverElseIsGained) {
  AddPoint(80, 100, 160);
  AddPoint(100, 100, 95);
  EXPECT_TRUE(Judge().promote) << Judge().reason;
  plan_.points[1].file = "vllm's file";
  EXPECT_FALSE(Judge().promote);
  EXPECT_THAT(Judge().reason,
              AllOf(HasSubstr("refused: slower than vllm's file: "),
                    HasSubstr("0.950 times as fast as vllm's file at 1 of "
                              "them")));
  // 1 % is noise.
  measured_[5].latency_us = 99.5;
  EXPECT_TRUE(Judge().promote) << Judge().reason;
  EXPECT_THAT(Judge().reason,
              HasSubstr("0.995 times as fast as vllm's file at 1 of them"));
}

TEST_F(JudgeTest, LosesALittleAtAPointWhereTheOthersGainMuchMore) {
  for (int i = 0; i < 5; ++i) AddPoint(60, 100, 100);
  AddPoint(108, 100, 100);
  EXPECT_TRUE(Judge().promote) << Judge().reason;
}

TEST_F(JudgeTest, RefusesPointsThatLoseAFifthOfWhatTheOthersGain) {
  for (int i = 0; i < 5; ++i) AddPoint(96, 100, 100);
  AddPoint(106, 100, 100);
  EXPECT_FALSE(Judge().promote);
  EXPECT_THAT(Judge().reason, HasSubstr("a fifth of what the others gain"));
}

TEST_F(JudgeTest, RefusesAPointThatLosesMuchWhateverTheOthersGain) {
  for (int i = 0; i < 9; ++i) AddPoint(20, 100, 100);
  AddPoint(120, 100, 100);
  EXPECT_FALSE(Judge().promote);
  EXPECT_THAT(Judge().reason,
              HasSubstr("a named point loses more than 15 % and three times"));
}

TEST_F(JudgeTest, RefusesWhatIsSlowerBesideWhatTheManifestNames) {
  for (int i = 0; i < 6; ++i) AddPoint(83, 100, 100);
  EXPECT_TRUE(Judge().promote) << Judge().reason;
  for (int i = 0; i < 6; ++i) AddPoint(110, 100, 100);
  for (size_t i = 6; i < 12; ++i) plan_.points[i].ragged = true;
  EXPECT_FALSE(Judge().promote);
  EXPECT_THAT(Judge().reason,
              HasSubstr("0.909 at the 6 ragged neighbours of named problems"));
}

TEST_F(JudgeTest, ARaggedNeighbourMayLoseMuchWhereTheOthersGainMuchMore) {
  for (int i = 0; i < 9; ++i) AddPoint(70, 100, 100);
  AddPoint(130, 100, 100);
  EXPECT_FALSE(Judge().promote);
  plan_.points.back().ragged = true;
  EXPECT_TRUE(Judge().promote) << Judge().reason;
  EXPECT_THAT(Judge().reason, HasSubstr("worst point 0.769"));
}

TEST_F(JudgeTest, RaggedNeighboursThatARecordingDoesNotHaveAreNotMissed) {
  AddPoint(90, 100, 100);
  AddPoint(90, 100, 100);
  for (int i = 0; i < 3; ++i) {
    AddPoint(0, 0, 0);
    plan_.points.back().ragged = true;
  }
  EXPECT_TRUE(Judge().promote) << Judge().reason;
  measured_[0].latency_us = 0;
  EXPECT_TRUE(Judge().promote);
  measured_[3].latency_us = 0;
  EXPECT_FALSE(Judge().judged);
  EXPECT_THAT(Judge().reason, HasSubstr("only 0 of 2"));
}

TEST_F(JudgeTest, ALossWithinThreeSpreadsIsNoise) {
  AddPoint(50, 100, 100);
  AddPoint(104, 100, 110, /*spread=*/0.02);
  EXPECT_TRUE(Judge().promote);
}

TEST_F(JudgeTest, LeavesOutMissingMeasurementsAndRefusesWithTooFew) {
  AddPoint(90, 100, 100);
  AddPoint(90, 100, 100);
  AddPoint(90, 100, 100);
  measured_[3].latency_us = 0;
  EXPECT_TRUE(Judge().promote);
  measured_[7].latency_us = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(Judge().promote);
  EXPECT_THAT(Judge().reason, HasSubstr("only 1 of 3"));
  measured_.clear();
  EXPECT_FALSE(Judge().promote);
  EXPECT_FALSE(JudgeVerification({}, {}).promote);
}

TEST_F(JudgeTest, RefusesWhereTheDeviceWasThrottled) {
  AddPoint(90, 100, 100);
  AddPoint(90, 100, 100);
  measured_[0].throttled = true;
  EXPECT_TRUE(Judge().promote);  // Half of the points are left.
  EXPECT_TRUE(Judge().judged);
  measured_[4].throttled = true;
  EXPECT_FALSE(Judge().promote);
  EXPECT_THAT(Judge().reason,
              HasSubstr("throttled for 2 of 6 measurements: let it cool"));
  EXPECT_FALSE(Judge().judged);
}

TEST_F(JudgeTest, ClaimsNothingOfADefaultThatDidNotRun) {
  AddPoint(100, 120, 100);
  AddPoint(100, 120, 100);
  for (VerificationPlan::Point& point : plan_.points) {
    point.default_configuration = point.chosen;
    point.has_default = false;
  }
  const Verdict verdict = Judge();
  EXPECT_TRUE(verdict.promote) << verdict.reason;
  EXPECT_THAT(verdict.reason,
              HasSubstr("1.200 times as fast as the incumbent"));
  EXPECT_THAT(verdict.reason, Not(HasSubstr("times as fast as the default")));
  EXPECT_THAT(verdict.reason, HasSubstr("the default cannot be measured"));
}

TEST_F(JudgeTest, ClaimsNothingOfAnIncumbentThatDoesNotExist) {
  AddPoint(100, 130, 130);
  plan_.points[0].has_incumbent = false;
  const Verdict verdict = Judge();
  EXPECT_TRUE(verdict.promote) << verdict.reason;
  EXPECT_THAT(verdict.reason, HasSubstr("1.300 times as fast as the default"));
  EXPECT_THAT(verdict.reason, Not(HasSubstr("incumbent")));
  plan_.points[0].has_default = false;
  EXPECT_THAT(Judge().reason, HasSubstr("measured at 1 points"));
  EXPECT_THAT(Judge().reason, Not(HasSubstr("times as fast")));
}

class PlanVerificationTest : public ::testing::Test {
 protected:
  PlanVerificationTest()
      : device_(testing::GemmSpec(), {}),
        input_(Profile(device_, device_.Input())),
        table_(FitTable(input_).value().table) {}

  static size_t NamedOf(const VerificationPlan& plan) {
    return static_cast<size_t>(
        std::count_if(plan.points.begin(), plan.points.end(),
                      [](const auto& point) { return !point.ragged; }));
  }

  const SyntheticDevice device_;
  ProfileInput input_;
  Table table_;
};

TEST_F(PlanVerificationTest, AsksRaggedNeighboursOfNamedProblems) {
  const VerificationPlan plan = PlanVerification(input_, table_, nullptr);
  double named = 0;
  double ragged = 0;
  for (const VerificationPlan::Point& point : plan.points) {
    (point.ragged ? ragged : named) += point.weight;
    if (!point.ragged) continue;
    EXPECT_TRUE(point.has_default);
    EXPECT_EQ(point.problem.extents[1] % 2, 1);  // n: no multiple of a tile.
  }
  EXPECT_GT(ragged, 0);
  EXPECT_LE(ragged, named * (1 + 1e-9));
}

TEST_F(PlanVerificationTest, RaggedNeighboursTakeATwentiethOfTheSamplesAtMost) {
  const size_t most = input_.samples.size() / 20;
  const VerificationPlan plan = PlanVerification(input_, table_, &table_);
  EXPECT_LE(3 * (plan.points.size() - NamedOf(plan)), most);
  input_.samples.resize(59);
  const VerificationPlan few = PlanVerification(input_, table_, &table_);
  EXPECT_EQ(few.points.size(), NamedOf(few));
}

TEST_F(PlanVerificationTest, FallsBackToTheLeastMeasuredProblems) {
  for (const WeightedProblem& asked : device_.spec().representative_problems) {
    input_.samples.push_back(
        device_.Measure({device_.spec().default_configuration, asked.problem}));
  }
  const VerificationPlan plan = PlanVerification(input_, table_, nullptr);
  EXPECT_EQ(NamedOf(plan), 3u);  // All that the kernel has.
  EXPECT_EQ(NamedOf(PlanVerification(input_, table_, nullptr, 2)), 2u);
  EXPECT_TRUE(PlanVerification(input_, table_, nullptr, 0).points.empty());
}

TEST_F(PlanVerificationTest, EachPairIsMeasuredOnce) {
  const VerificationPlan plan = PlanVerification(input_, table_, &table_);
  for (size_t i = 0; i < plan.items.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(plan.items[i] == plan.items[j]);
  }
  for (const VerificationPlan::Point& point : plan.points) {
    EXPECT_EQ(point.incumbent, point.chosen);
    EXPECT_EQ(point.default_configuration,
              device_.spec().default_configuration);
  }
}

TEST_F(PlanVerificationTest, WhatAnEnginesFileHasIsTheDefaultThere) {
  KernelSpec spec = device_.spec();
  WeightedProblem& declared = spec.representative_problems.back();
  const Configuration slow = input_.candidates[0].front().configuration;
  declared.rivals = {{"vllm's file", {1, 1, 1, 1, 1}, "GPU"},  // Not compiled.
                     {"sglang's file", slow, "GPU"}};
  input_.spec = &spec;
  int files = 0;
  const VerificationPlan plan = PlanVerification(input_, table_, nullptr);
  for (const VerificationPlan::Point& point : plan.points) {
    const bool of_file = point.problem == declared.problem;
    files += of_file;
    EXPECT_EQ(point.file, of_file ? "sglang's file" : "");
    EXPECT_EQ(point.default_configuration,
              of_file ? slow : spec.default_configuration);
    EXPECT_NE(
        std::find(plan.items.begin(), plan.items.end(),
                  MeasureItem{point.default_configuration, point.problem}),
        plan.items.end());
  }
  EXPECT_EQ(files, 1);
}

TEST_F(PlanVerificationTest, AnIncumbentThatCannotRunIsReplacedByTheDefault) {
  Table other = table_;
  other.parameters[3] = "DEPTH";  // The kernel has changed.
  for (const auto& point : PlanVerification(input_, table_, &other).points) {
    EXPECT_EQ(point.incumbent, device_.spec().default_configuration);
  }
}

TEST_F(PlanVerificationTest, WithoutADefaultThatCompiledThereIsStillAPlan) {
  for (Candidate& c : input_.candidates[0]) {
    if (c.configuration == device_.spec().default_configuration) {
      c.excluded_reason = "does not compile";
    }
  }
  const Table table = FitTable(input_).value().table;
  const VerificationPlan plan = PlanVerification(input_, table, nullptr);
  EXPECT_EQ(NamedOf(plan), 3u);
  for (const auto& point : plan.points) {
    EXPECT_EQ(point.default_configuration, point.chosen);
  }
}

TEST_F(PlanVerificationTest, ADefaultThatIsExcludedIsNotMeasured) {
  for (Candidate& candidate : input_.candidates[0]) {
    if (candidate.configuration == device_.spec().default_configuration) {
      candidate.excluded_reason = "does not compile: line 3";
    }
  }
  const VerificationPlan plan = PlanVerification(
      input_, FitTable(input_).value().table, /*incumbent=*/nullptr);
  ASSERT_FALSE(plan.points.empty());
  for (const VerificationPlan::Point& point : plan.points) {
    EXPECT_FALSE(point.has_default);
    EXPECT_FALSE(point.has_incumbent);
  }
  for (const MeasureItem& item : plan.items) {
    EXPECT_NE(item.configuration, device_.spec().default_configuration);
  }
}

class PlanBuildsTest : public ::testing::Test {
 protected:
  PlanBuildsTest()
      : device_(testing::GemmSpec(), {.multiprocessors = 132}),
        input_(testing::Profile(device_, device_.Input())),
        table_(
            CompiledTable::Create(EncodeTable(FitTable(input_)->table).value())
                .value()) {}

  MeasuredBuild Build(absl::Span<const Sample> samples) const {
    return {table_.get(), samples};
  }

  // Of a build in which everything takes `factor` times as long, and of which
  // all is measured already.
  std::string WhySlower(double factor) const {
    std::vector<Sample> now = input_.samples;
    for (Sample& sample : now) sample.latency_us *= factor;
    VerificationPlan plan;
    PlanBuilds(Build(input_.samples), Build(now), /*measure=*/true, plan);
    EXPECT_THAT(plan.items, IsEmpty());
    return WhySlowerBuild(plan, {});
  }

  const SyntheticDevice device_;
  const ProfileInput input_;
  const std::shared_ptr<const CompiledTable> table_;
};

TEST_F(PlanBuildsTest, ABuildThatIsSlowerIsFound) {
  EXPECT_THAT(WhySlower(1.07), HasSubstr("1.070 times as long"));
}

TEST_F(PlanBuildsTest, ABuildThatIsAsFastOrFasterPasses) {
  EXPECT_EQ(WhySlower(1), "");
  EXPECT_EQ(WhySlower(1.02), "");
  EXPECT_EQ(WhySlower(0.5), "");
}

TEST_F(PlanBuildsTest, WhatIsMissingForAVerdictIsMeasured) {
  VerificationPlan plan;
  PlanBuilds(Build(input_.samples), Build({}), /*measure=*/true, plan);
  ASSERT_THAT(plan.items, SizeIs(12));
  std::vector<Sample> now;
  for (const MeasureItem& item : plan.items) {
    now.push_back(device_.Measure(item));
    now.back().latency_us *= 1.3;
  }
  EXPECT_THAT(WhySlowerBuild(plan, now), HasSubstr("over 12 problems"));
  // Nothing is said of few.
  EXPECT_EQ(WhySlowerBuild(plan, {now.begin(), now.begin() + 5}), "");
  // What is known of four, and is measured for the points, is not added.
  VerificationPlan rest{.items = {plan.items[4], plan.items[5]}};
  PlanBuilds(Build(input_.samples), Build(absl::MakeSpan(now).first(4)),
             /*measure=*/true, rest);
  EXPECT_THAT(rest.builds, SizeIs(6));
  EXPECT_THAT(rest.items, SizeIs(2));
}

TEST_F(PlanBuildsTest, WithoutADeviceOrSamplesOfBeforeNothingIsMeasured) {
  VerificationPlan plan;
  PlanBuilds(Build(input_.samples), Build({}), /*measure=*/false, plan);
  EXPECT_THAT(plan.items, IsEmpty());
  PlanBuilds({nullptr, {}}, Build(input_.samples), /*measure=*/true, plan);
  EXPECT_THAT(plan.builds, IsEmpty());
  EXPECT_EQ(WhySlowerBuild(plan, {}), "");
}

}  // namespace
}  // namespace wavetune
