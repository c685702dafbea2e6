#include "server/usage/usage_top_ups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "server/jobs/job_queue_fixture.h"
#include "server/store/fake_usage_store.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kHour = 3600;

// A GEMM with a promoted table on one device, and clients that report.
class UsageTopUpsTest : public JobQueueFixture {
 protected:
  UsageTopUpsTest() { StartDaemon({.due_for_s = 0}); }
  ~UsageTopUpsTest() override { queue_ = nullptr; }  // Before the ledger goes.

  void StartDaemon(UsageTopUps::Options options) {
    refiner_ = nullptr;
    queue_ = nullptr;
    ledger_ = std::make_unique<UsageLedger>(&usage_store_, &clock_,
                                            UsageLedger::Options(), Warn());
    ASSERT_TRUE(ledger_->Load().ok());
    JobServices services = Services();
    services.profiling = profiling_;
    services.used_problems = [this](const std::string& kernel,
                                    const std::string& silicon_key) {
      return ledger_->Problems(kernel, silicon_key);
    };
    queue_ = std::make_unique<JobQueue>(services);
    ASSERT_TRUE(queue_->Start().ok());
    refiner_ = std::make_unique<UsageTopUps>(
        UsageTopUps::Services{.ledger = ledger_.get(),
                              .jobs = queue_.get(),
                              .tables = &tables_,
                              .kernels = &kernels_,
                              .executors = &directory_,
                              .clock = &clock_,
                              .warn = Warn()},
        options);
  }

  // Profiles and returns the digest of what serves then.
  std::string Promote() {
    const auto jobs = queue_->Reprofile({.kernel = spec_.name});
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    const JobRecord done = WaitForEnd(*queue_, jobs->front().id);
    EXPECT_EQ(done.state, JobState::kSucceeded) << done.message;
    EXPECT_THAT(tables_.snapshot()->tables, SizeIs(1));
    return tables_.snapshot()->tables[0].record.digest;
  }

  UsageReport Report(double fitted, double extrapolated, double wide = 0) {
    return {.kernel = spec_.name,
            .silicon_key = silicon_,
            .digest = tables_.snapshot()->tables[0].record.digest,
            .serving = true,
            .counts = {.fitted = fitted,
                       .wide_bound = wide,
                       .extrapolated = extrapolated},
            .problems = {{asked_, fitted, 0}}};
  }

  std::optional<JobRecord> Consider() {
    return refiner_->Consider(spec_.name, silicon_);
  }

  const std::string silicon_ = SiliconKey(testing::H200());
  const Problem asked_ = {.extents = {24, 768, 3072}};
  FakeUsageStore usage_store_;
  ProfilingFunctions profiling_ = FakeProfiling();
  std::unique_ptr<UsageLedger> ledger_;
  std::unique_ptr<UsageTopUps> refiner_;
};

TEST_F(UsageTopUpsTest, QueuesOneJobAboveFivePercent) {
  Promote();
  ledger_->Add(Report(95000, 3000, 2000));
  EXPECT_EQ(Consider(), std::nullopt);  // Five, not more.
  ledger_->Add(Report(0, 1000, 0));
  const auto job = Consider();
  ASSERT_TRUE(job);
  EXPECT_TRUE(job->options.top_up);
  EXPECT_EQ(job->options.budget_s, 20);
  EXPECT_THAT(job->reason, HasSubstr("5.9 % of some 101000 decisions"));
  EXPECT_THAT(job->reason, HasSubstr("extrapolated (4.0 %)"));
  EXPECT_THAT(job->reason, HasSubstr("bound above 25 % (2.0 %)"));
  EXPECT_EQ(WaitForEnd(*queue_, job->id).state, JobState::kSucceeded);
  EXPECT_EQ(Consider(), std::nullopt);
}

TEST_F(UsageTopUpsTest, ASingleReportDecidesNothing) {
  StartDaemon({.due_for_s = 600});
  Promote();
  ledger_->Add(Report(0, 1e6));
  EXPECT_EQ(Consider(), std::nullopt);
  clock_.Advance(599);
  EXPECT_EQ(Consider(), std::nullopt);
  clock_.Advance(1);
  EXPECT_TRUE(Consider());
}

TEST_F(UsageTopUpsTest, ItHasToBeDueAllTheWhile) {
  StartDaemon({.due_for_s = 600});
  Promote();
  ledger_->Add(Report(0, 20000));
  EXPECT_EQ(Consider(), std::nullopt);
  clock_.Advance(300);
  ledger_->Add(Report(1e6, 0));  // What came since is certain.
  EXPECT_EQ(Consider(), std::nullopt);
  ledger_->Add(Report(0, 1e6));
  EXPECT_EQ(Consider(), std::nullopt);
  clock_.Advance(400);
  EXPECT_EQ(Consider(), std::nullopt);
  clock_.Advance(200);
  EXPECT_TRUE(Consider());
}

TEST_F(UsageTopUpsTest, AnEditedKernelIsNeitherReadNorRun) {
  Promote();
  ledger_->Add(Report(0, 1e6));
  kernels_.EditOnReload(spec_.name);
  const auto job = Consider();
  ASSERT_TRUE(job);
  EXPECT_EQ(kernels_.reloads(), 1);  // By Promote's reprofile.
  const JobRecord done = WaitForEnd(*queue_, job->id);
  EXPECT_EQ(done.state, JobState::kSucceeded) << done.message;
  EXPECT_EQ(done.key.fingerprint,
            tables_.snapshot()->tables[0].record.key.fingerprint);
}

TEST_F(UsageTopUpsTest, ATopUpOfAKernelThatWasEditedSinceEndsWithAReason) {
  Promote();
  ledger_->Add(Report(0, 1e6));
  // Another kernel's profile goes before it and waits for the device.
  KernelSpec other = spec_;
  other.name = "other";
  kernels_.Add(other);
  device_.SetBusy("used by others");
  const auto first = queue_->Reprofile({.kernel = "other"});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto job = Consider();
  ASSERT_TRUE(job);
  kernels_.EditOnReload(spec_.name);
  kernels_.Reload();
  device_.SetBusy("");
  WaitForEnd(*queue_, first->front().id);
  const JobRecord done = WaitForEnd(*queue_, job->id);
  EXPECT_EQ(done.state, JobState::kFailed);
  EXPECT_THAT(done.message, HasSubstr("changed since this top-up"));
  EXPECT_THAT(done.message, HasSubstr("wavetune reprofile --kernel"));
}

TEST_F(UsageTopUpsTest, NeedsEnoughDecisions) {
  Promote();
  ledger_->Add(Report(0, 9999));
  EXPECT_EQ(Consider(), std::nullopt);
  ledger_->Add(Report(0, 1));
  EXPECT_TRUE(Consider());
}

TEST_F(UsageTopUpsTest, WhatIsUsedIsMeasuredAndPartOfTheJob) {
  Promote();
  ledger_->Add(Report(90000, 10000));
  const auto job = Consider();
  ASSERT_TRUE(job);
  ASSERT_THAT(job->used_problems, SizeIs(1));
  EXPECT_EQ(job->used_problems[0].problem, asked_);
  WaitForEnd(*queue_, job->id);
  std::set<Problem> measured;
  for (const MeasureItem& item : device_.items()) {
    measured.insert(item.problem);
  }
  EXPECT_TRUE(measured.contains(asked_));
  // As it was then, whatever is asked for later.
  ledger_->Add(Report(5e6, 0));
  EXPECT_EQ(queue_->Get(job->id)->used_problems, job->used_problems);
}

TEST_F(UsageTopUpsTest, APersonsProfileKnowsWhatIsUsed) {
  Promote();
  ledger_->Add(Report(90000, 0));
  const auto jobs = queue_->Reprofile({.kernel = spec_.name});
  EXPECT_THAT(jobs->front().used_problems, SizeIs(1));
  EXPECT_FALSE(jobs->front().options.top_up);
  WaitForEnd(*queue_, jobs->front().id);
}

TEST_F(UsageTopUpsTest, RefinesNoMoreOftenThanEverySixHours) {
  Promote();
  ledger_->Add(Report(0, 100000));
  ASSERT_TRUE(Consider());
  WaitForEnd(*queue_, 2);
  clock_.Advance(5.9 * kHour);
  ledger_->Add(Report(50000, 50000));
  EXPECT_EQ(Consider(), std::nullopt);
  clock_.Advance(0.2 * kHour);
  ledger_->Add(Report(50000, 50000));
  EXPECT_TRUE(Consider());
}

TEST_F(UsageTopUpsTest, WaitsTwiceAsLongAfterEachThatDidNotHelp) {
  Promote();
  for (const double hours : {0.0, 12.0, 24.0, 48.0, 96.0, 192.0, 192.0}) {
    clock_.Advance((hours - 0.1) * kHour);
    ledger_->Add(Report(0, 100000));
    if (hours > 0) {
      EXPECT_EQ(Consider(), std::nullopt) << hours;
    }
    clock_.Advance(0.2 * kHour);
    ledger_->Add(Report(0, 100000));
    const auto job = Consider();
    ASSERT_TRUE(job) << hours;
    WaitForEnd(*queue_, job->id);
  }
  // One that helps brings six hours back.
  clock_.Advance(6.1 * kHour);
  ledger_->Add(Report(50000, 50000));
  EXPECT_TRUE(Consider());
}

TEST_F(UsageTopUpsTest, RemembersThatOverARestart) {
  Promote();
  ledger_->Add(Report(0, 100000));
  ASSERT_TRUE(Consider());
  WaitForEnd(*queue_, 2);
  StartDaemon({.due_for_s = 0});
  ledger_->Add(Report(0, 100000));
  EXPECT_EQ(Consider(), std::nullopt);
}

TEST_F(UsageTopUpsTest, WaitsWhileTheKernelIsProfiledAnyway) {
  Promote();
  device_.SetBusy("used by others");
  const auto jobs =
      queue_->Reprofile({.kernel = spec_.name, .options = {.budget_s = 7}});
  ledger_->Add(Report(0, 100000));
  EXPECT_EQ(Consider(), std::nullopt);
  device_.SetBusy("");
  WaitForEnd(*queue_, jobs->front().id);
  ledger_->Add(Report(0, 100000));
  EXPECT_TRUE(Consider());
}

TEST_F(UsageTopUpsTest, LeavesOtherKernelsDriversAndDevicesAlone) {
  const std::string digest = Promote();
  ledger_->Add(Report(0, 100000));
  EXPECT_EQ(refiner_->Consider("attention", silicon_), std::nullopt);
  EXPECT_EQ(refiner_->Consider(spec_.name, "sm_80"), std::nullopt);
  DeviceFacts upgraded = testing::H200();
  upgraded.driver = "999.99";
  device_.SetFacts(upgraded);
  EXPECT_EQ(Consider(), std::nullopt);
  device_.SetFacts(testing::H200());
  EXPECT_TRUE(Consider());
}

TEST_F(UsageTopUpsTest, ATableThatServesNoMoreIsNotRefined) {
  Promote();
  ledger_->Add(Report(0, 100000));
  ASSERT_TRUE(tables_.Retire(tables_.snapshot()->tables[0].record.key).ok());
  EXPECT_EQ(Consider(), std::nullopt);
}

TEST_F(UsageTopUpsTest, TriesAgainLaterWhereTheJobCannotBeQueued) {
  Promote();
  ledger_->Add(Report(0, 100000));
  job_store_.writes().Fail(absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(Consider(), std::nullopt);
  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(warnings_[0], HasSubstr("disk full"));
  job_store_.writes().Heal();
  EXPECT_EQ(Consider(), std::nullopt);
  clock_.Advance(601);
  EXPECT_TRUE(Consider());
}

TEST_F(UsageTopUpsTest, CanBeTurnedOff) {
  StartDaemon({.enabled = false});
  Promote();
  ledger_->Add(Report(0, 100000));
  EXPECT_EQ(Consider(), std::nullopt);
  EXPECT_FALSE(refiner_->enabled());
}

// With the model's own planning: a profile that has had its samples gets more.
TEST_F(UsageTopUpsTest, MeasuresSomeSamplesMore) {
  profiling_ = ModelProfilingFunctions();
  // The fake device's waves make its ragged problems a matter of luck.
  profiling_.plan_verification =
      [plan = profiling_.plan_verification](const auto&... of) {
        return WithoutRagged(plan(of...));
      };
  StartDaemon({.due_for_s = 0});
  Promote();
  const int64_t before = samples_.GetStats()->samples;
  ledger_->Add(Report(0, 100000));
  UsageReport far = Report(0, 100000);
  far.problems.clear();
  for (int64_t m = 4096; m <= 8192; m += 512) {
    far.problems.push_back({{.extents = {m, 4096, 4096}}, 10000, 0});
  }
  ledger_->Add(far);
  const auto job = Consider();
  ASSERT_TRUE(job);
  const JobRecord done = WaitForEnd(*queue_, job->id);
  EXPECT_EQ(done.state, JobState::kSucceeded) << done.message;
  EXPECT_GT(samples_.GetStats()->samples, before);
  // Eight per candidate, and verification.
  EXPECT_LE(samples_.GetStats()->samples - before,
            8 * device_.prepared() + 3 * 12);
}

}  // namespace
}  // namespace wavetune
