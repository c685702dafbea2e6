#include "server/jobs/drift_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/table/table_codec.h"
#include "server/catalog/table_staleness.h"
#include "server/jobs/drift_watch.h"
#include "server/jobs/job_queue_fixture.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

DeviceFacts Upgraded() {
  DeviceFacts facts = testing::H200();
  facts.driver = "999.1";
  return facts;
}

class DriftJobTest : public JobQueueFixture {
 protected:
  // The device comes back with another driver, under which a configuration
  // takes `slower` times as long.
  void Upgrade(const std::function<double(const Configuration&)>& slower) {
    const LatencyFunction before = SyntheticLatency(&spec_, 64);
    upgraded_ = std::make_unique<FakeMeasurementExecutor>(
        FakeMeasurementExecutor::Options{
            .facts = Upgraded(),
            .latency_us = [=](const Configuration& c, const Problem& p) {
              return slower(c) * before(c, p);
            }});
    directory_.Attach(upgraded_.get());
    ASSERT_TRUE(devices_.Put({.facts = Upgraded()}).ok());
  }

  void UpgradeAsFast() {
    Upgrade([](const Configuration&) { return 1; });
  }

  JobRecord RunCanary() { return Run(StartQueue(), {.canary = true}); }

  // Of the only table.
  TableRecord Serving() const {
    const auto snapshot = tables_.snapshot();
    EXPECT_THAT(snapshot->tables, SizeIs(1));
    return snapshot->tables.empty() ? TableRecord()
                                    : snapshot->tables.front().record;
  }

  std::vector<TableRecord> ServingAll() const {
    std::vector<TableRecord> records;
    for (const ServingTable& table : tables_.snapshot()->tables) {
      records.push_back(table.record);
    }
    return records;
  }

  Configuration BestConfiguration() const {
    return tables_.snapshot()
        ->tables.front()
        .table->table()
        .sub_tables[0]
        .portfolio[0]
        .configuration;
  }

  std::unique_ptr<FakeMeasurementExecutor> upgraded_;
};

TEST_F(DriftJobTest, CarriesATableOverThatHolds) {
  const JobRecord before = Run(StartQueue());
  UpgradeAsFast();
  const JobRecord job = RunCanary();
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
  const JobRecord job = RunCanary();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("is current"));
  EXPECT_EQ(device_.measured(), measured);
}

TEST_F(DriftJobTest, WithoutATableItIsAProfile) {
  const JobRecord job = RunCanary();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_FALSE(job.drift.has_value());
  EXPECT_THAT(ServingAll(), SizeIs(1));
}

TEST_F(DriftJobTest, RefitsWithTheSamplesThatHoldWhereAllBecameSlowerAlike) {
  Run(StartQueue());
  Upgrade([](const Configuration&) { return 1.25; });
  const JobRecord job = RunCanary();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kRefit) << job.drift->reason;
  EXPECT_NEAR(job.drift->overall_ratio, 1.25, 0.001);
  EXPECT_THAT(job.message, HasSubstr("promoted"));
  // What was kept is not measured again: the canary and verification alone.
  EXPECT_LT(upgraded_->measured(), 30);
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
  const JobRecord job = RunCanary();
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
  const JobRecord job = RunCanary();
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile);
  EXPECT_THAT(job.drift->reason, HasSubstr("cannot be used any more"));
}

TEST_F(DriftJobTest, WithdrawsATableThatIsWrongUnderTheNewDriver) {
  Run(StartQueue());
  UpgradeAsFast();
  upgraded_->ComputeWrong(BestConfiguration());
  const JobRecord job = RunCanary();
  EXPECT_THAT(job.message, HasSubstr("was withdrawn"));
  EXPECT_EQ(job.drift->action, DriftAction::kProfile);
}

TEST_F(DriftJobTest, ProfilesAnewWhatIsSlowerThanTheDefaultNow) {
  Run(StartQueue());
  // All that could be compared is as it was, but the default.
  Upgrade([this](const Configuration& c) {
    return c == spec_.default_configuration ? 0.01 : 1;
  });
  const JobRecord job = RunCanary();
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile) << job.drift->reason;
  EXPECT_THAT(job.drift->reason, HasSubstr("; but refused"));
}

TEST_F(DriftJobTest, ARestartGoesOnFromTheReport) {
  const JobRecord before = Run(StartQueue());
  UpgradeAsFast();
  queue_ = nullptr;
  JobRecord job{.kernel = spec_.name,
                .device_uuid = Upgraded().uuid,
                .canary = true,
                .key = before.key,
                .generation = 1,
                .state = JobState::kRunning};
  job.key.environment_key = EnvironmentKey(Upgraded());
  job.drift = DriftReport{.to_environment = job.key.environment_key,
                          .digest = before.digest,
                          .action = DriftAction::kCarryOver,
                          .reason = "as it was"};
  job = job_store_.Create(job).value();
  const JobRecord after = Wait(StartQueue(), job.id);
  EXPECT_THAT(after.message, HasSubstr("carried over"));
  EXPECT_EQ(upgraded_->measured(), 0);
}

TEST_F(DriftJobTest, AReportOfAnotherBuildIsForgotten) {
  const JobRecord before = Run(StartQueue());
  UpgradeAsFast();
  queue_ = nullptr;
  JobRecord job{.kernel = spec_.name,
                .device_uuid = Upgraded().uuid,
                .canary = true,
                .key = before.key,
                .generation = 1,
                .state = JobState::kRunning};
  job.key.environment_key = EnvironmentKey(Upgraded());
  job.drift = DriftReport{.to_environment = job.key.environment_key,
                          .digest = before.digest,
                          .action = DriftAction::kRefit,
                          .reason = "as the build of before was"};
  job = job_store_.Create(job).value();
  kernels_.Add(spec_, "2");  // Edited while the daemon was away.
  const JobRecord after = Wait(StartQueue(), job.id);
  EXPECT_THAT(after.message, HasSubstr("promoted"));
  EXPECT_FALSE(after.drift.has_value());
  EXPECT_FALSE(job_store_.Get(job.id)->drift.has_value());
}

TEST_F(DriftJobTest, WhatACanaryTakesIsWithoutWaitingForTheDevice) {
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
  const JobRecord job = RunCanary();
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
  EXPECT_THAT(RunCanary().message, HasSubstr("carried over, epoch"));
}

TEST_F(DriftJobTest, DriftExcludesARefit) {
  const auto jobs =
      StartQueue().Reprofile({.refit_only = true, .canary = true});
  EXPECT_TRUE(absl::IsInvalidArgument(jobs.status())) << jobs.status();
}

// --- A class of several boards ---

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

TEST_F(DriftClassTest, ABoardThatNobodyUsesDoesTheCanary) {
  Run(StartQueue());
  UpgradeBoth();
  upgraded_->SetBusy("used by others");
  const JobRecord job = RunCanary();
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("carried over, epoch 2"));
  EXPECT_TRUE(job.whole_class);
  EXPECT_EQ(job.device_uuid, "GPU-second");
  EXPECT_EQ(upgraded_->prepared() + upgraded_->measured(), 0);
}

TEST_F(DriftClassTest, ABoardIsComparedWithItself) {
  second_.SetSlower(1.04);
  Run(StartQueue());
  ASSERT_GT(second_.measured(), 0);
  UpgradeBoth();
  second_upgraded_->SetSlower(1.04);
  upgraded_->SetHot("it is hot: 86 °C");
  const JobRecord job = RunCanary();
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kCarryOver) << job.drift->reason;
  EXPECT_NEAR(job.drift->overall_ratio, 1, 1e-9);
}

TEST_F(DriftClassTest, ABoardThatMeasuredForTheTableGoesBeforeANewcomer) {
  directory_.Detach("GPU-second");
  Run(StartQueue());
  UpgradeBoth();
  DeviceFacts facts = Upgraded();
  facts.uuid = "A-newcomer";  // Sorted first.
  FakeMeasurementExecutor newcomer(
      Options{.facts = facts, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&newcomer);
  const JobRecord job = RunCanary();
  EXPECT_EQ(job.device_uuid, Upgraded().uuid);
  EXPECT_EQ(newcomer.measured() + second_upgraded_->measured(), 0);
  queue_ = nullptr;
}

TEST_F(DriftClassTest, AnotherBoardBeginsAnewWhereOneIsLost) {
  directory_.Detach("GPU-second");
  Run(StartQueue());
  UpgradeBoth();
  upgraded_->LoseAfter(10);
  const JobRecord job = RunCanary();
  EXPECT_THAT(job.message, HasSubstr("carried over"));
  EXPECT_EQ(job.device_uuid, "GPU-second");
  EXPECT_GT(upgraded_->measured(), 0);
  EXPECT_EQ(second_upgraded_->measured(), job.drift->samples);
}

TEST_F(DriftClassTest, WhatIsProfiledAfterACanaryIsSpread) {
  Run(StartQueue());
  UpgradeBoth();
  const Configuration best = BestConfiguration();
  upgraded_->Refuse(best, "internal compiler error");
  second_upgraded_->Refuse(best, "internal compiler error");
  const JobRecord job = RunCanary();
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile);
  EXPECT_THAT(job.message, HasSubstr("promoted"));
  EXPECT_THAT(job.device_uuids, SizeIs(2));
}

TEST_F(DriftClassTest, WhatIsRefittedIsAtTheClasssSpeed) {
  second_.SetSlower(1.04);
  Run(StartQueue());
  Upgrade([](const Configuration&) { return 1.25; });
  second_upgraded_ =
      std::make_unique<FakeMeasurementExecutor>(Second(Upgraded()));
  second_upgraded_->SetSlower(1.25 * 1.04);
  directory_.Attach(second_upgraded_.get());
  upgraded_->SetBusy("used by others");
  JobServices services = Services();
  std::vector<double> errors;
  services.profiling.fit_table = [&](const ProfileInput& input) {
    const LatencyFunction before = SyntheticLatency(&spec_, 64);
    for (const Sample& s : input.samples) {
      errors.push_back(s.latency_us / before(s.configuration, s.problem) /
                       1.25);
    }
    return FakeProfiling().fit_table(input);
  };
  services.canary_judged = [&](const JobRecord&) { upgraded_->SetBusy(""); };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord job = Run(queue, {.canary = true});
  EXPECT_EQ(job.drift->action, DriftAction::kRefit) << job.drift->reason;
  // The canary's own come first, as its board measured them.
  const int32_t own = job.drift->samples;
  ASSERT_GT(errors.size(), static_cast<size_t>(own));
  errors.erase(errors.begin(), errors.begin() + own);
  EXPECT_THAT(errors, Each(DoubleNear(1, 1e-6)));
}

// --- Verification of a table ---

class VerifyTableTest : public DriftJobTest {
 protected:
  ProfileKey KeyHere() {
    const DeviceFacts facts = testing::H200();
    return {spec_.name, *kernels_.Fingerprint(spec_.name, facts),
            SiliconKey(facts), EnvironmentKey(facts)};
  }
  // A table that came with its kernel and always chooses a configuration.
  TableRecord Ship(const ProfileKey& key, const Configuration& choice) {
    const auto shipped = tables_.Ship(
        {.key = key}, *EncodeTable(FixedTable(spec_, key, choice, 10)));
    EXPECT_TRUE(shipped.ok()) << shipped.status();
    return shipped.ok() ? *shipped : TableRecord();
  }
  JobRecord Verify(const TableRecord& table) {
    return Run(
        StartQueue(),
        {.kernel = spec_.name, .canary = true, .verify_digest = table.digest});
  }
  // The fastest of all over the problems of a verification, or the slowest.
  Configuration Ranked(bool fastest) const {
    const LatencyFunction latency_us = SyntheticLatency(&spec_, 64);
    const auto sum_us = [&](const Configuration& configuration) {
      double sum = 0;
      for (const WeightedProblem& weighted : spec_.representative_problems) {
        Problem problem = weighted.problem;
        problem.extents[0] += 1;
        sum += latency_us(configuration, problem);
      }
      return sum;
    };
    std::vector<Configuration> all = EnumerateConfigurations(spec_);
    std::sort(all.begin(), all.end(),
              [&](const Configuration& a, const Configuration& b) {
                return sum_us(a) < sum_us(b);
              });
    return fastest ? all.front() : all.back();
  }
};

TEST_F(VerifyTableTest, AShippedTableThatHoldsIsStaleNoLonger) {
  const TableRecord shipped = Ship(KeyHere(), Ranked(/*fastest=*/true));
  EXPECT_TRUE(shipped.unverified);
  const JobRecord job = Verify(shipped);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message, HasSubstr("carried over, epoch 2: chosen"));
  EXPECT_LE(device_.measured(), 64);
  EXPECT_EQ(Serving().digest, shipped.digest);
  EXPECT_EQ(Serving().how, PromotionKind::kCarriedOver);
  EXPECT_FALSE(Serving().unverified);
  EXPECT_EQ(StaleReason(Serving(), testing::H200(), kernels_), "");
  // Again, it says so and changes nothing.
  const JobRecord again = Verify(Serving());
  EXPECT_EQ(again.state, JobState::kSucceeded) << again.message;
  EXPECT_THAT(again.message, HasSubstr("holds, and was current"));
  EXPECT_EQ(Serving().epoch, 2u);
}

TEST_F(VerifyTableTest, OneThatIsSlowerThanTheDefaultServesOnAndSaysSo) {
  const TableRecord shipped = Ship(KeyHere(), Ranked(/*fastest=*/false));
  const JobRecord job = Verify(shipped);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message,
              AllOf(HasSubstr("does NOT hold"), HasSubstr("refused: chosen"),
                    HasSubstr("wavetune reprofile --kernel")));
  EXPECT_EQ(Serving(), shipped);
  ASSERT_TRUE(job.drift.has_value());
  EXPECT_EQ(job.drift->action, DriftAction::kProfile);
}

TEST_F(VerifyTableTest, ATableOfAnotherDriverIsComparedWithItsSamples) {
  Run(StartQueue());
  Upgrade([](const Configuration&) { return 1.25; });
  const TableRecord before = Serving();
  const JobRecord drifted = Verify(before);
  EXPECT_EQ(drifted.state, JobState::kFailed);
  EXPECT_THAT(drifted.message, HasSubstr("1.25"));
  EXPECT_EQ(Serving(), before);
  EXPECT_LE(upgraded_->measured(), 64);
  UpgradeAsFast();
  EXPECT_THAT(Verify(before).message, HasSubstr("carried over, epoch 2"));
  EXPECT_EQ(Serving().carried_from, EnvironmentKey(testing::H200()));
}

TEST_F(VerifyTableTest, ATableThatIsRetiredMeanwhileIsNotSaidToHold) {
  Run(StartQueue());
  const TableRecord before = Serving();
  bool retired = false;
  Upgrade([&](const Configuration&) {
    if (!retired) retired = tables_.Retire(before.key).ok();
    return 1.0;
  });
  const JobRecord job = Verify(before);
  EXPECT_TRUE(retired);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("not carried over"));
}

TEST_F(VerifyTableTest, ATableStaysWithTheAttachedClassThatItWasCarriedTo) {
  Run(StartQueue());
  UpgradeAsFast();
  EXPECT_THAT(Verify(Serving()).message, HasSubstr("carried over"));
  DeviceFacts other = Upgraded();
  other.uuid = "GPU-other";
  other.driver = "888.1";
  FakeMeasurementExecutor third(FakeMeasurementExecutor::Options{
      .facts = other, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&third);
  ASSERT_TRUE(devices_.Put({.facts = other}).ok());
  const JobRecord job = Run(*queue_, {.kernel = spec_.name,
                                      .device_uuid = other.uuid,
                                      .canary = true,
                                      .verify_digest = Serving().digest});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message,
              AllOf(HasSubstr("holds"), HasSubstr("it stays stale here")));
  EXPECT_EQ(Serving().key.environment_key, EnvironmentKey(Upgraded()));
  queue_ = nullptr;
  directory_.Detach(other.uuid);
}

TEST_F(VerifyTableTest, WhatIsOfAnotherBuildHoldsAndStaysStale) {
  ProfileKey key = KeyHere();
  key.fingerprint = std::string(64, 'e');
  const TableRecord shipped = Ship(key, Ranked(/*fastest=*/true));
  const JobRecord job = Verify(shipped);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.message,
              AllOf(HasSubstr("holds"), HasSubstr("it stays stale")));
  EXPECT_EQ(Serving(), shipped);
}

TEST_F(VerifyTableTest, JudgesNoOtherTableThanTheOneThatIsMeant) {
  const TableRecord shipped = Ship(KeyHere(), Ranked(/*fastest=*/true));
  TableRecord other = shipped;
  other.digest = std::string(64, 'b');
  const JobRecord job = Verify(other);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, AllOf(HasSubstr("is not what answers"),
                                 HasSubstr(shipped.digest.substr(0, 8))));
  EXPECT_EQ(device_.measured(), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue_->Reprofile({.verify_digest = shipped.digest}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue_
          ->Reprofile({.kernel = spec_.name,
                       .canary = true,
                       .verify_digest = shipped.digest.substr(0, 8)})
          .status()));
}

TEST_F(VerifyTableTest, AProfileVerifiesTheTableThatItsFitGivesAgain) {
  Run(StartQueue());
  Run(*queue_, {.refit_only = true});
  const TableRecord own = Serving();
  const std::string payload = table_store_.Get(own.digest)->payload;
  TableRecord imported{.key = own.key};
  imported.how = PromotionKind::kImported;
  imported.unverified = true;
  ASSERT_TRUE(tables_.Retire(own.key).ok());
  ASSERT_TRUE(tables_.Import(imported, payload).ok());
  const JobRecord job = Run(*queue_, {.refit_only = true});
  EXPECT_THAT(job.message, HasSubstr("promoted"));
  EXPECT_EQ(Serving().digest, own.digest);
  EXPECT_FALSE(Serving().unverified);
}

// --- What becomes of an incumbent without a canary ---

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
  const JobRecord wanted = Run(*queue_, {.promote_although_slower = true});
  EXPECT_THAT(wanted.message, HasSubstr("promoted"));
  EXPECT_THAT(ServingAll(), SizeIs(2));
  queue_ = nullptr;
}

// --- What would be done ---

TEST_F(DriftJobTest, APlanSaysWhatAProfileWouldCostAndQueuesNothing) {
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

TEST_F(DriftJobTest, APlanOfDriftSaysWhatTheCanaryIsOf) {
  JobQueue& queue = StartQueue();
  Run(queue);
  const PlannedJob current = queue.Plan({.canary = true}).value().front();
  EXPECT_THAT(current.what, HasSubstr("is current"));
  EXPECT_EQ(current.samples, 0);
  UpgradeAsFast();
  const PlannedJob drifted = queue.Plan({.canary = true}).value().front();
  EXPECT_THAT(drifted.what, AllOf(HasSubstr("canary of table"),
                                  HasSubstr("999.1"), HasSubstr("64")));
  EXPECT_GT(drifted.device_s, 0);
  kernels_.Add(spec_, "2");
  EXPECT_THAT(queue.Plan({.canary = true}).value().front().what,
              HasSubstr("was edited"));
}

// --- Who asks ---

class DriftWatchTest : public DriftJobTest {
 protected:
  DriftWatch Watch(JobQueue& queue) {
    return DriftWatch({.tables = &tables_,
                       .kernels = &kernels_,
                       .executors = &directory_,
                       .jobs = &queue,
                       .clock = &clock_,
                       .warn = Warn()});
  }

  // Jobs with a canary, once all have ended.
  static std::vector<JobRecord> Canaries(JobQueue& queue) {
    std::vector<JobRecord> canaries;
    const std::vector<JobRecord> jobs = queue.List(100).value();
    for (const JobRecord& job : jobs) {
      if (job.canary) canaries.push_back(WaitForEnd(queue, job.id));
    }
    return canaries;
  }
};

TEST_F(DriftWatchTest, QueuesOneCanaryForATableThatBecameStale) {
  JobQueue& queue = StartQueue();
  Run(queue);
  DriftWatch watch = Watch(queue);
  watch.Look();
  EXPECT_THAT(Canaries(queue), IsEmpty());
  UpgradeAsFast();
  watch.Look();
  watch.Look();
  const std::vector<JobRecord> canaries = Canaries(queue);
  ASSERT_THAT(canaries, SizeIs(1));
  EXPECT_EQ(canaries[0].by, kDaemonUser);
  EXPECT_THAT(canaries[0].reason,
              AllOf(HasSubstr("automatic"), HasSubstr("999.1")));
  EXPECT_THAT(canaries[0].message, HasSubstr("carried over"));
  watch.Look();
  EXPECT_THAT(Canaries(queue), SizeIs(1));
}

TEST_F(DriftWatchTest, TheCanaryIsOfTheStaleClassAlone) {
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
  const std::vector<JobRecord> canaries = Canaries(queue);
  ASSERT_THAT(canaries, SizeIs(1));
  EXPECT_TRUE(canaries[0].whole_class);
  EXPECT_EQ(canaries[0].key.environment_key, EnvironmentKey(Upgraded()));
  directory_.Detach(facts.uuid);
}

TEST_F(DriftWatchTest, ATableStaysWithTheAttachedClassThatItWasCarriedTo) {
  JobQueue& queue = StartQueue();
  Run(queue);
  UpgradeAsFast();
  DriftWatch watch = Watch(queue);
  watch.Look();
  ASSERT_THAT(Canaries(queue), SizeIs(1));
  DeviceFacts other = Upgraded();
  other.uuid = "GPU-other";
  other.driver = "888.1";
  FakeMeasurementExecutor third(FakeMeasurementExecutor::Options{
      .facts = other, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&third);
  watch.Look();
  EXPECT_THAT(Canaries(queue), SizeIs(1));
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
    return Canaries(queue).size();
  };
  EXPECT_EQ(look_after(0), 1U);
  EXPECT_EQ(look_after(9), 1U);
  EXPECT_EQ(look_after(2), 2U);
  EXPECT_EQ(look_after(11), 2U);
  EXPECT_EQ(look_after(10), 3U);
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
  EXPECT_THAT(Canaries(queue), IsEmpty());
}

}  // namespace
}  // namespace wavetune
