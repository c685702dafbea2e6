#include "server/jobs/drift_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/kernel/throttling.h"
#include "server/jobs/drift_fixture.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DriftWatchTest : public DriftFixture {
 protected:
  DriftWatch Watch(JobQueue& queue) {
    return DriftWatch({.tables = &tables_,
                       .kernels = &kernels_,
                       .executors = &directory_,
                       .jobs = &queue,
                       .clock = &clock_,
                       .warn = Warn()});
  }

  // Jobs with a drift probe, once all have ended.
  static std::vector<JobRecord> DriftProbes(JobQueue& queue) {
    std::vector<JobRecord> probes;
    const std::vector<JobRecord> jobs = queue.List(100).value();
    for (const JobRecord& job : jobs) {
      if (job.options.drift_probe) probes.push_back(WaitForEnd(queue, job.id));
    }
    return probes;
  }
};

TEST_F(DriftWatchTest, QueuesOneDriftProbeForATableThatBecameStale) {
  JobQueue& queue = StartQueue();
  Run(queue);
  DriftWatch watch = Watch(queue);
  watch.Look();
  EXPECT_THAT(DriftProbes(queue), IsEmpty());
  UpgradeAsFast();
  watch.Look();
  watch.Look();
  const std::vector<JobRecord> probes = DriftProbes(queue);
  ASSERT_THAT(probes, SizeIs(1));
  EXPECT_EQ(probes[0].by, kDaemonUser);
  EXPECT_THAT(probes[0].reason,
              AllOf(HasSubstr("automatic"), HasSubstr("999.1")));
  EXPECT_THAT(probes[0].message, HasSubstr("carried over"));
  watch.Look();
  EXPECT_THAT(DriftProbes(queue), SizeIs(1));
}

TEST_F(DriftWatchTest, TheDriftProbeIsOfTheStaleClassAlone) {
  JobQueue& queue = StartQueue();
  Run(queue);
  // Of one silicon, two drivers.
  DeviceFacts facts = testing::H200();
  facts.uuid = "GPU-of-before";
  FakeMeasurementExecutor current(FakeMeasurementExecutor::Options{
      .facts = facts, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&current);
  UpgradeAsFast();
  Watch(queue).Look();
  const std::vector<JobRecord> probes = DriftProbes(queue);
  ASSERT_THAT(probes, SizeIs(1));
  EXPECT_TRUE(probes[0].whole_class);
  EXPECT_EQ(probes[0].key.environment_key, EnvironmentKey(Upgraded()));
  directory_.Detach(facts.uuid);
}

TEST_F(DriftWatchTest, ATableStaysWithTheAttachedClassThatItWasCarriedTo) {
  JobQueue& queue = StartQueue();
  Run(queue);
  UpgradeAsFast();
  DriftWatch watch = Watch(queue);
  watch.Look();
  ASSERT_THAT(DriftProbes(queue), SizeIs(1));
  DeviceFacts other = Upgraded();
  other.uuid = "GPU-other";
  other.driver = "888.1";
  FakeMeasurementExecutor third(FakeMeasurementExecutor::Options{
      .facts = other, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&third);
  watch.Look();
  EXPECT_THAT(DriftProbes(queue), SizeIs(1));
  EXPECT_EQ(Serving().key.environment_key, EnvironmentKey(Upgraded()));
  directory_.Detach(other.uuid);
}

TEST_F(DriftWatchTest, TriesAgainLaterWhatIsStillStale) {
  JobQueue& queue = StartQueue();
  Run(queue);
  UpgradeAsFast();
  for (const Configuration& c : EnumerateConfigurations(spec_)) {
    upgraded_->Refuse(c, "the compiler is broken");
  }
  DriftWatch watch = Watch(queue);
  const auto look_after = [&](double minutes) {
    clock_.Advance(60 * minutes);
    watch.Look();
    return DriftProbes(queue).size();
  };
  EXPECT_EQ(look_after(0), 1U);
  EXPECT_EQ(look_after(9), 1U);
  EXPECT_EQ(look_after(2), 2U);
  EXPECT_EQ(look_after(11), 2U);
  EXPECT_EQ(look_after(10), 3U);
}

TEST_F(DriftWatchTest, TriesAgainWhatCouldNotBeJudged) {
  JobQueue& queue = StartQueue();
  Run(queue);
  UpgradeAsFast();
  upgraded_->Throttle(kThermal);
  DriftWatch watch = Watch(queue);
  watch.Look();
  ASSERT_THAT(DriftProbes(queue), SizeIs(1));
  EXPECT_THAT(DriftProbes(queue)[0].message, HasSubstr("could not be judged"));
  upgraded_->Throttle(0);
  clock_.Advance(60 * 11);
  watch.Look();
  ASSERT_THAT(DriftProbes(queue), SizeIs(2));
  EXPECT_EQ(Serving().how, PromotionKind::kCarriedOver);
}

TEST_F(DriftWatchTest, LeavesAloneWhatAnOperatorChoseAndWhatWasEdited) {
  JobQueue& queue = StartQueue();
  Run(queue);
  kernels_.Add(spec_, "2");
  DriftWatch watch = Watch(queue);
  watch.Look();
  kernels_.Add(spec_, "1");
  UpgradeAsFast();
  ASSERT_TRUE(
      tables_.Pin({.kernel = spec_.name, .silicon_key = SiliconKey(Upgraded())})
          .ok());
  watch.Look();
  EXPECT_THAT(DriftProbes(queue), IsEmpty());
}

TEST_F(DriftWatchTest, WhatAnOperatorRolledBackToIsJudgedUnderAnotherDriver) {
  JobQueue& queue = StartQueue();
  Run(queue);
  const TableRecord first = Serving();
  ASSERT_TRUE(tables_.Retire(first.key).ok());
  ASSERT_TRUE(tables_.RollBack(first, "0", "slower in production", 1).ok());
  ASSERT_EQ(Serving().how, PromotionKind::kRolledBack);
  DriftWatch watch = Watch(queue);
  EXPECT_FALSE(watch.WillJudge(Serving()));
  UpgradeAsFast();
  EXPECT_TRUE(watch.WillJudge(Serving()));
  watch.Look();
  EXPECT_THAT(DriftProbes(queue), SizeIs(1));
  EXPECT_FALSE(watch.WillJudge(Serving()));
}

}  // namespace
}  // namespace wavetune
