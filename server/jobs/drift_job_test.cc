#include "server/jobs/drift_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/kernel/throttling.h"
#include "server/jobs/drift_fixture.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DriftJobTest : public DriftFixture {
 protected:
  // The daemon ends after a drift probe, before anything was done about what it
  // found of the table of `before`.
  JobRecord Interrupted(const JobRecord& before, DriftAction found) {
    queue_ = nullptr;
    JobRecord job{.kernel = spec_.name,
                  .device_uuid = Upgraded().uuid,
                  .options = {.drift_probe = true},
                  .key = before.key,
                  .generation = 1,
                  .state = JobState::kRunning};
    job.key.environment_key = EnvironmentKey(Upgraded());
    job.drift = DriftReport{.to_environment = job.key.environment_key,
                            .digest = before.digest,
                            .action = found,
                            .reason = "of before"};
    return job_store_.Create(job).value();
  }
};

TEST_F(DriftJobTest, CarriesATableOverThatHolds) {
  const JobRecord before = Run(StartQueue());
  UpgradeAsFast();
  const JobRecord job = RunDriftProbe();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("carried over, epoch 2"));
  EXPECT_EQ(job.digest, before.digest);
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kCarryOver);
  EXPECT_EQ(job.drift->to_environment, EnvironmentKey(Upgraded()));
  EXPECT_LE(upgraded_->measured(), 64);
  // Two members and the default.
  EXPECT_LE(upgraded_->prepared(), 3);

  const TableRecord serving = Serving();
  EXPECT_EQ(serving.how, PromotionKind::kCarriedOver);
  EXPECT_EQ(serving.key.environment_key, EnvironmentKey(Upgraded()));
  EXPECT_EQ(serving.carried_from, EnvironmentKey(testing::H200()));
  for (const DeviceFacts& device : {testing::H200(), Upgraded()}) {
    const auto match = tables_.Find({.kernel = spec_.name, .device = device});
    ASSERT_TRUE(match.ok()) << match.status();
    EXPECT_EQ(match->stale_reason, "");
  }
}

TEST_F(DriftJobTest, ACurrentTableHasNoDriftToLookFor) {
  Run(StartQueue());
  const int64_t measured = device_.measured();
  const JobRecord job = RunDriftProbe();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("is current"));
  EXPECT_FALSE(job.digest.empty());
  EXPECT_EQ(device_.measured(), measured);
}

TEST_F(DriftJobTest, WithoutATableItIsAProfile) {
  const JobRecord job = RunDriftProbe();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_FALSE(job.drift.has_value());
  EXPECT_THAT(ServingAll(), SizeIs(1));
}

TEST_F(DriftJobTest, ProfilesAnewWhereAllBecameSlowerAlike) {
  Run(StartQueue());
  Upgrade([](const Configuration&) { return 1.25; });
  const JobRecord job = RunDriftProbe();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile) << job.drift->reason;
  EXPECT_THAT(job.message, HasSubstr("promoted"));
  EXPECT_THAT(ServingAll(), SizeIs(2));
  EXPECT_EQ(
      tables_.Find({.kernel = spec_.name, .device = Upgraded()})->stale_reason,
      "");
}

TEST_F(DriftJobTest, ProfilesAnewWhereWhatItMayChooseDoesNotCompileAnyMore) {
  Run(StartQueue());
  UpgradeAsFast();
  const Configuration best = BestConfiguration();
  upgraded_->Refuse(best, "internal compiler error");
  const JobRecord job = RunDriftProbe();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile);
  EXPECT_THAT(job.drift->reason, AllOf(HasSubstr("cannot be used any more"),
                                       HasSubstr("internal compiler error")));
  EXPECT_GT(upgraded_->measured(), 60);
}

TEST_F(DriftJobTest, ProfilesAnewWhereWhatItMayChooseCrashes) {
  Run(StartQueue());
  UpgradeAsFast();
  upgraded_->CrashOn(BestConfiguration());
  const JobRecord job = RunDriftProbe();
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile);
  EXPECT_THAT(job.drift->reason, HasSubstr("cannot be used any more"));
}

TEST_F(DriftJobTest, WithdrawsATableThatIsWrongUnderTheNewDriver) {
  Run(StartQueue());
  UpgradeAsFast();
  upgraded_->ComputeWrong(BestConfiguration());
  const JobRecord job = RunDriftProbe();
  EXPECT_THAT(job.message, HasSubstr("was withdrawn"));
  EXPECT_EQ(job.drift->action, DriftAction::kProfile);
}

TEST_F(DriftJobTest, ProfilesAnewWhatIsSlowerThanTheDefaultNow) {
  Run(StartQueue());
  // All that could be compared is as it was, but the default.
  Upgrade([this](const Configuration& c) {
    return c == spec_.default_configuration ? 0.01 : 1;
  });
  const JobRecord job = RunDriftProbe();
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile) << job.drift->reason;
  EXPECT_THAT(job.drift->reason, HasSubstr("; but refused"));
}

TEST_F(DriftJobTest, WhatCannotBeJudgedServesOnAsItIs) {
  Run(StartQueue());
  const TableRecord before = Serving();
  UpgradeAsFast();
  upgraded_->Throttle(kThermal);
  const JobRecord job = RunDriftProbe();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message,
              AllOf(HasSubstr("could not be judged, it serves on"),
                    HasSubstr("throttled"), HasSubstr("reprofile --drift")));
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kUndecided);
  EXPECT_LE(upgraded_->measured(), 64);
  EXPECT_EQ(Serving(), before);
  upgraded_->Throttle(0);
  EXPECT_THAT(RunDriftProbe().message, HasSubstr("carried over, epoch 2"));
}

TEST_F(DriftJobTest, ARestartGoesOnFromTheReport) {
  const JobRecord before = Run(StartQueue());
  UpgradeAsFast();
  const JobRecord job = Interrupted(before, DriftAction::kCarryOver);
  const JobRecord after = Wait(StartQueue(), job.id);
  EXPECT_THAT(after.message, HasSubstr("carried over"));
  EXPECT_EQ(upgraded_->measured(), 0);
}

TEST_F(DriftJobTest, AReportOfAnotherBuildIsForgotten) {
  const JobRecord before = Run(StartQueue());
  UpgradeAsFast();
  const JobRecord job = Interrupted(before, DriftAction::kProfile);
  kernels_.Add(spec_, "2");  // Edited while the daemon was away.
  const JobRecord after = Wait(StartQueue(), job.id);
  EXPECT_THAT(after.message, HasSubstr("promoted"));
  EXPECT_FALSE(after.drift.has_value());
  EXPECT_FALSE(job_store_.Get(job.id)->drift.has_value());
}

TEST_F(DriftJobTest, WhatADriftProbeTakesIsWithoutWaitingForTheDevice) {
  Run(StartQueue());
  UpgradeAsFast();
  bool came = false;
  upgraded_->OnReport([&] {
    // In the middle of it others come, and stay for a minute.
    if (upgraded_->measured() == 5 && !std::exchange(came, true)) {
      upgraded_->SetBusy("used by others");
    } else if (upgraded_->prepared() == 3) {
      clock_.Advance(0.125);
    }
  });
  int asked = 0;
  upgraded_->OnAwaitIdle([&](bool busy) {
    if (!busy || ++asked == 1) return;  // The first looks, and does not wait.
    clock_.Advance(20);
    if (asked == 4) upgraded_->SetBusy("");
  });
  const JobRecord job = RunDriftProbe();
  ASSERT_TRUE(job.drift.has_value()) << job.message;
  EXPECT_GE(asked, 4);
  EXPECT_DOUBLE_EQ(job.drift->seconds, 0.125 * job.drift->samples);
}

TEST_F(DriftJobTest, APinnedTableIsCarriedOverAndAnotherIsNot) {
  Run(StartQueue());
  ASSERT_TRUE(
      tables_.Pin({.kernel = spec_.name, .silicon_key = SiliconKey(Upgraded())})
          .ok());
  UpgradeAsFast();
  EXPECT_THAT(RunDriftProbe().message, HasSubstr("carried over, epoch"));
}

TEST_F(DriftJobTest, DriftExcludesARefit) {
  const auto jobs = StartQueue().Reprofile(
      {.options = {.refit_only = true, .drift_probe = true}});
  EXPECT_TRUE(absl::IsInvalidArgument(jobs.status())) << jobs.status();
}

// --- A class of several devices ---

class DriftClassTest : public DriftJobTest {
 protected:
  using Options = FakeMeasurementExecutor::Options;

  DriftClassTest() : second_(Second(testing::H200())) {
    directory_.Attach(&second_);
  }

  Options Second(DeviceFacts facts) const {
    facts.uuid = "GPU-second";
    return {.facts = facts, .latency_us = SyntheticLatency(&spec_, 64)};
  }

  // Both come back with another driver.
  void UpgradeBoth() {
    UpgradeAsFast();
    second_upgraded_ =
        std::make_unique<FakeMeasurementExecutor>(Second(Upgraded()));
    directory_.Attach(second_upgraded_.get());
  }

  FakeMeasurementExecutor second_;
  std::unique_ptr<FakeMeasurementExecutor> second_upgraded_;
};

TEST_F(DriftClassTest, ADeviceThatNobodyUsesDoesTheDriftProbe) {
  Run(StartQueue());
  UpgradeBoth();
  upgraded_->SetBusy("used by others");
  const JobRecord job = RunDriftProbe();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("carried over, epoch 2"));
  EXPECT_TRUE(job.whole_class);
  EXPECT_EQ(job.device_uuid, "GPU-second");
  EXPECT_EQ(upgraded_->prepared() + upgraded_->measured(), 0);
}

TEST_F(DriftClassTest, ADeviceIsComparedWithItself) {
  second_.SetSlower(1.04);
  Run(StartQueue());
  ASSERT_GT(second_.measured(), 0);
  UpgradeBoth();
  second_upgraded_->SetSlower(1.04);
  upgraded_->SetHot("it is hot: 86 °C");
  const JobRecord job = RunDriftProbe();
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kCarryOver) << job.drift->reason;
  EXPECT_THAT(job.drift->reason, HasSubstr("1.000 times"));
}

TEST_F(DriftClassTest, ADeviceThatMeasuredForTheTableGoesBeforeANewcomer) {
  directory_.Detach("GPU-second");
  Run(StartQueue());
  UpgradeBoth();
  DeviceFacts facts = Upgraded();
  facts.uuid = "A-newcomer";  // Sorted first.
  FakeMeasurementExecutor newcomer(
      Options{.facts = facts, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&newcomer);
  const JobRecord job = RunDriftProbe();
  EXPECT_EQ(job.device_uuid, Upgraded().uuid);
  EXPECT_EQ(newcomer.measured() + second_upgraded_->measured(), 0);
  queue_ = nullptr;
}

TEST_F(DriftClassTest, AnotherDeviceBeginsAnewWhereOneIsLost) {
  directory_.Detach("GPU-second");
  Run(StartQueue());
  UpgradeBoth();
  upgraded_->LoseAfter(10);
  const JobRecord job = RunDriftProbe();
  EXPECT_THAT(job.message, HasSubstr("carried over"));
  EXPECT_EQ(job.device_uuid, "GPU-second");
  EXPECT_GT(upgraded_->measured(), 0);
  EXPECT_EQ(second_upgraded_->measured(), job.drift->samples);
}

TEST_F(DriftClassTest, WhatIsProfiledAfterADriftProbeIsSpread) {
  Run(StartQueue());
  UpgradeBoth();
  const Configuration best = BestConfiguration();
  upgraded_->Refuse(best, "internal compiler error");
  second_upgraded_->Refuse(best, "internal compiler error");
  const JobRecord job = RunDriftProbe();
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile);
  EXPECT_THAT(job.message, HasSubstr("promoted"));
  EXPECT_THAT(job.device_uuids, SizeIs(2));
}

// --- What becomes of an incumbent without a drift probe ---

TEST_F(DriftJobTest, ARefusedProfileDoesNotLeaveTheOldTableStaleForEver) {
  Run(StartQueue());
  UpgradeAsFast();
  JobServices services = Services();
  services.profiling.judge_verification = [](const VerificationPlan&,
                                             const std::vector<Sample>&) {
    Verdict verdict{.reason = "refused: slower than the incumbent"};
    verdict.incumbent_holds = true;
    return verdict;
  };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord job = Run(queue);
  EXPECT_THAT(job.message, AllOf(HasSubstr("carried over, epoch 2"),
                                 HasSubstr("slower than the incumbent")));
  EXPECT_EQ(Serving().how, PromotionKind::kCarriedOver);
  EXPECT_THAT(tables_.Rejected(spec_.name, SiliconKey(Upgraded())).value(),
              SizeIs(1));
}

TEST_F(DriftJobTest, ASlowerBuildIsRefusedUnlessSomebodyWantsIt) {
  Run(StartQueue());
  kernels_.Add(spec_, "2");
  const LatencyFunction before = SyntheticLatency(&spec_, 64);
  FakeMeasurementExecutor slower(
      {.facts = testing::H200(),
       .latency_us = [&](const Configuration& c, const Problem& p) {
         return 1.07 * before(c, p);
       }});
  directory_.Attach(&slower);
  const JobRecord refused = Run(StartQueue());
  EXPECT_EQ(refused.state, JobState::kSucceeded) << refused.message;
  EXPECT_THAT(refused.message,
              AllOf(HasSubstr("not promoted"), HasSubstr("1.070 times"),
                    HasSubstr("--promote-although-slower")));
  EXPECT_THAT(ServingAll(), SizeIs(1));
  EXPECT_THAT(tables_.Rejected(spec_.name, SiliconKey(Upgraded())).value(),
              SizeIs(1));
  const JobRecord wanted =
      Run(*queue_, {.options = {.promote_although_slower = true}});
  EXPECT_THAT(wanted.message, HasSubstr("promoted"));
  EXPECT_THAT(ServingAll(), SizeIs(2));
  queue_ = nullptr;
}

// As with a small budget.
TEST_F(DriftJobTest, WhatABuildIsComparedByIsMeasuredWhereItLacks) {
  Run(StartQueue());
  kernels_.Add(spec_, "2");
  const LatencyFunction before = SyntheticLatency(&spec_, 64);
  FakeMeasurementExecutor slower(
      {.facts = testing::H200(),
       .latency_us = [&](const Configuration& c, const Problem& p) {
         return 2 * before(c, p);
       }});
  directory_.Attach(&slower);
  JobServices services = Services();
  services.profiling.plan_next = [](const ProfileInput& input,
                                    const std::vector<MeasureItem>& failed,
                                    const std::vector<MeasureItem>& pending) {
    ProfileStep step = FakeProfiling().plan_next(input, failed, pending);
    const Problem& first = input.spec->representative_problems[0].problem;
    std::erase_if(step.items, [&](const MeasureItem& item) {
      return item.problem.extents != first.extents;
    });
    return step;
  };
  services.profiling.plan_verification = [](const ProfileInput&, const Table&,
                                            const Table*) {
    return VerificationPlan();
  };
  services.profiling.judge_verification = [](const VerificationPlan&,
                                             const std::vector<Sample>&) {
    return Verdict{.promote = true, .reason = "promoted: it is as fast"};
  };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord job = Run(queue);
  EXPECT_THAT(job.message,
              AllOf(HasSubstr("not promoted"), HasSubstr("over 6 problems")));
}

}  // namespace
}  // namespace wavetune
