#include "fit/plan/build_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "fit/build/fit_table.h"
#include "fit/testing/synthetic_device.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::SyntheticDevice;

class BuildVerdictTest : public ::testing::Test {
 protected:
  BuildVerdictTest()
      : device_(testing::GemmSpec(), {.multiprocessors = 132}),
        input_(testing::Profile(device_, device_.Input())),
        table_(
            CompiledTable::Create(EncodeTable(FitTable(input_)->table).value())
                .value()) {}

  // Of a build in which everything takes `factor` times as long.
  BuildVerdict Judge(double factor) const {
    std::vector<Sample> now = input_.samples;
    for (Sample& sample : now) sample.latency_us *= factor;
    return JudgeBuild({table_.get(), input_.samples}, {table_.get(), now});
  }

  const SyntheticDevice device_;
  const ProfileInput input_;
  const std::shared_ptr<const CompiledTable> table_;
};

TEST_F(BuildVerdictTest, ABuildThatIsSlowerIsFound) {
  const BuildVerdict verdict = Judge(1.07);
  EXPECT_TRUE(verdict.slower);
  EXPECT_GE(verdict.problems, 6);
  EXPECT_NEAR(verdict.ratio, 1.07, 1e-9);
  EXPECT_THAT(verdict.reason, HasSubstr("1.070 times as long"));
}

TEST_F(BuildVerdictTest, ABuildThatIsAsFastOrFasterPasses) {
  EXPECT_FALSE(Judge(1).slower);
  EXPECT_FALSE(Judge(1.02).slower);
  EXPECT_FALSE(Judge(0.5).slower);
}

TEST_F(BuildVerdictTest, NothingIsSaidOfFewProblems) {
  std::vector<Sample> few(input_.samples.begin(), input_.samples.begin() + 1);
  few[0].latency_us *= 10;
  EXPECT_FALSE(
      JudgeBuild({table_.get(), input_.samples}, {table_.get(), few}).slower);
  EXPECT_FALSE(
      JudgeBuild({table_.get(), {}}, {table_.get(), input_.samples}).slower);
}

TEST_F(BuildVerdictTest, WhatIsMissingForAVerdictIsPlanned) {
  const MeasuredBuild before{table_.get(), input_.samples};
  ASSERT_GT(CountChosenMeasured(before), 12);
  const std::vector<MeasureItem> items =
      PlanBuildComparison(before, {table_.get(), {}});
  ASSERT_THAT(items, SizeIs(12));
  std::vector<Sample> now;
  for (const MeasureItem& item : items) {
    now.push_back(device_.Measure(item));
    now.back().latency_us *= 1.3;
  }
  const BuildVerdict verdict = JudgeBuild(before, {table_.get(), now});
  EXPECT_EQ(verdict.problems, 12);
  EXPECT_TRUE(verdict.slower);
  EXPECT_THAT(PlanBuildComparison(before, {table_.get(), now}), IsEmpty());
  now.resize(4);
  EXPECT_THAT(PlanBuildComparison(before, {table_.get(), now}), SizeIs(8));
  EXPECT_THAT(PlanBuildComparison({table_.get(), {}}, before), IsEmpty());
}

}  // namespace
}  // namespace wavetune
