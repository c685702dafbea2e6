#include "server/jobs/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/jobs/drift_fixture.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using JobPlanTest = DriftFixture;

TEST_F(JobPlanTest, APlanSaysWhatAProfileWouldCostAndQueuesNothing) {
  JobQueue& queue = StartQueue();
  const auto first = queue.Plan({});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_THAT(*first, SizeIs(1));
  EXPECT_EQ(first->front().candidates, Candidates());
  EXPECT_EQ(first->front().samples, Candidates() * 32);
  EXPECT_LT(first->front().device_s, 0);
  EXPECT_THAT(first->front().what, HasSubstr("no table serves yet"));
  EXPECT_THAT(queue.List(10).value(), IsEmpty());
  Run(queue);
  const PlannedJob again = queue.Plan({}).value().front();
  EXPECT_EQ(again.candidates, 0);
  EXPECT_LT(again.samples, Candidates() * 32);
  EXPECT_GT(again.device_s, 0);
}

TEST_F(JobPlanTest, APlanOfDriftSaysWhatTheDriftProbeIsOf) {
  JobQueue& queue = StartQueue();
  Run(queue);
  const PlannedJob current =
      queue.Plan({.options = {.drift_probe = true}}).value().front();
  EXPECT_THAT(current.what, HasSubstr("is current"));
  EXPECT_EQ(current.samples, 0);
  UpgradeAsFast();
  const PlannedJob drifted =
      queue.Plan({.options = {.drift_probe = true}}).value().front();
  EXPECT_THAT(drifted.what, AllOf(HasSubstr("drift probe of table"),
                                  HasSubstr("999.1"), HasSubstr("64")));
  EXPECT_GT(drifted.device_s, 0);
  kernels_.Add(spec_, "2");
  EXPECT_THAT(
      queue.Plan({.options = {.drift_probe = true}}).value().front().what,
      HasSubstr("manifest, sources or compiler"));
}

}  // namespace
}  // namespace wavetune
