#include "server/jobs/job_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "model/kernel/kernel_spec.h"
#include "server/jobs/job_queue_fixture.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class JobQueueTest : public JobQueueFixture {};

TEST_F(JobQueueTest, ProfilesAndPromotes) {
  const JobRecord job = Run(StartQueue(), {.reason = "test"});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_EQ(job.phase, JobPhase::kDone);
  EXPECT_EQ(job.reason, "test");
  EXPECT_THAT(job.message, HasSubstr("promoted"));
  EXPECT_EQ(device_.prepared(), Candidates());
  EXPECT_EQ(job.samples, device_.measured());
  EXPECT_EQ(StoredSamples(), device_.measured());
  EXPECT_GT(job.device_time_us, 0);
  const auto snapshot = tables_.snapshot();
  ASSERT_EQ(snapshot->tables.size(), 1u);
  EXPECT_EQ(snapshot->tables[0].record.digest, job.digest);
  EXPECT_EQ(snapshot->tables[0].record.device_uuid, device_.device().uuid);
}

TEST_F(JobQueueTest, ThePortfolioIsAsLargeAsTheKernelSays) {
  KernelSpec spec = spec_;
  spec.portfolio_size = 2;
  kernels_.Add(spec);
  JobQueue& queue = StartQueue();
  const JobRecord said = Run(queue, {});
  EXPECT_EQ(said.options.portfolio_size, 2);
  ASSERT_THAT(tables_.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(tables_.snapshot()->tables[0].record.portfolio_size, 2);
  EXPECT_EQ(Run(queue, {.options = {.portfolio_size = 3, .refit_only = true}})
                .options.portfolio_size,
            3);
}

TEST_F(JobQueueTest, StopsMeasuringWhenTheBudgetIsSpentAndFitsWhatThereIs) {
  // All samples take some milliseconds of device time.
  const JobRecord job = Run(StartQueue(), {.options = {.budget_s = 0.002}});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_LT(device_.measured(), 3 * Candidates());
  EXPECT_GE(job.device_time_us, 2000);
}

TEST_F(JobQueueTest, ABudgetTooSmallForATableIsSaidWithWhatItNeeds) {
  JobServices services = Services();
  services.profiling.fit_table =
      [](const ProfileInput&) -> absl::StatusOr<FitResult> {
    return absl::FailedPreconditionError("no candidate has enough samples");
  };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord job = Run(queue, {.options = {.budget_s = 0.002}});
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("the budget of 0.002 s"));
  EXPECT_THAT(job.message, HasSubstr("A first table needs about 4 s more"));
  EXPECT_THAT(job.message, HasSubstr("no candidate has enough samples"));
  // With all that was planned measured the budget is not to blame.
  const JobRecord other =
      Run(queue, {.fresh = true, .options = {.budget_s = 60}});
  EXPECT_EQ(other.message, "no candidate has enough samples");
}

TEST_F(JobQueueTest, AJobThatWaitsForAnotherNodeLetsOthersOfItsDeviceGoFirst) {
  JobServices services = Services();
  std::atomic<uint64_t> waiting = 0;
  std::mutex mutex;
  std::vector<uint64_t> ended;
  services.await_turn =
      [&](JobControl* job,
          const JobServices::OthersWait& others_wait) -> ProfileTurn {
    uint64_t none = 0;
    if (!waiting.compare_exchange_strong(none, job->record().id)) return {};
    while (!others_wait()) std::this_thread::yield();
    return {.later = "waits for node node-2"};
  };
  services.job_changed = [&](const JobRecord& job) {
    if (!job.finished()) return;
    std::lock_guard lock(mutex);
    ended.push_back(job.id);
  };
  queue_ = std::make_unique<JobQueue>(services);
  ASSERT_TRUE(queue_->Start().ok());
  const uint64_t first = queue_->Reprofile({})->front().id;
  while (waiting == 0) std::this_thread::yield();
  const uint64_t second =
      queue_->Reprofile({.options = {.budget_s = 1e6}})->front().id;
  EXPECT_EQ(Wait(*queue_, second).state, JobState::kSucceeded);
  EXPECT_EQ(Wait(*queue_, first).state, JobState::kSucceeded);
  queue_ = nullptr;
  EXPECT_THAT(ended, ElementsAre(second, first));
}

TEST_F(JobQueueTest, CancelsWithinABatchAndKeepsWhatWasMeasured) {
  JobQueue& queue = StartQueue();
  uint64_t id = 0;
  std::mutex mutex;
  device_.OnReport([&] {
    std::lock_guard lock(mutex);
    if (device_.measured() == 20 && id != 0) {
      EXPECT_TRUE(queue.Cancel(id).ok());
      // A daemon that is killed now does not go on with it.
      EXPECT_EQ(fake_jobs_.Get(id)->state, JobState::kCancelled);
    }
  });
  {
    std::lock_guard lock(mutex);
    const auto jobs = queue.Reprofile({});
    ASSERT_TRUE(jobs.ok()) << jobs.status();
    id = jobs->front().id;
  }
  const JobRecord job = Wait(queue, id);
  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_THAT(job.message, HasSubstr("20 samples are kept"));
  EXPECT_EQ(StoredSamples(), 20);
  EXPECT_TRUE(tables_.snapshot()->tables.empty());
  EXPECT_TRUE(absl::IsFailedPrecondition(queue.Cancel(id).status()));
  EXPECT_TRUE(absl::IsNotFound(queue.Cancel(99).status()));
}

TEST_F(JobQueueTest, CancelsAQueuedJobAtOnce) {
  directory_.Detach(device_.device().uuid);  // The first job waits for it.
  JobServices patient = Services();
  patient.agent_wait_s = 1e9;
  JobQueue queue(patient);
  ASSERT_TRUE(queue.Start().ok());
  const std::string uuid = device_.device().uuid;
  const auto first = queue.Reprofile({.device_uuid = uuid});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second =
      queue.Reprofile({.device_uuid = uuid, .options = {.refit_only = true}});
  ASSERT_TRUE(second.ok()) << second.status();
  const auto cancelled = queue.Cancel(second->front().id);
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->state, JobState::kCancelled);
  EXPECT_THAT(cancelled->message, HasSubstr("before it ran"));
  ASSERT_TRUE(queue.Cancel(first->front().id).ok());
  EXPECT_EQ(Wait(queue, first->front().id).state, JobState::kCancelled);
}

TEST_F(JobQueueTest, ExcludesACandidateThatCrashes) {
  const std::vector<Configuration> space = EnumerateConfigurations(spec_);
  device_.CrashOn(space[3]);
  device_.Refuse(space[5], "does not compile: line 3");
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_THAT(job.excluded, SizeIs(2));
  const SampleSet stored = *samples_.Load(job.key, job.generation);
  int excluded = 0;
  for (const CandidateRecord& record : stored.candidates) {
    if (record.candidate.excluded()) ++excluded;
  }
  EXPECT_EQ(excluded, 2);
  int crashes = 0;
  for (const MeasureItem& item : device_.items()) {
    crashes += item.configuration == space[3] ? 1 : 0;
    EXPECT_NE(item.configuration, space[5]);
  }
  // The first step may have held it at several problems; later steps do not.
  EXPECT_LE(crashes, 2);
}

TEST_F(JobQueueTest, PreparesOnlyWhatIsMeantForTheDevice) {
  const KernelSpec spec = testing::HopperGemmSpec();
  kernels_.Add(spec);
  DeviceFacts a100 = testing::H200();
  a100.backend = "cuda";
  a100.architecture = "sm_80";
  FakeMeasurementExecutor gpu(
      {.facts = a100, .latency_us = SyntheticLatency(&spec, 64)});
  directory_.Detach(a100.uuid);
  directory_.Attach(&gpu);
  const JobRecord job = Run(StartQueue(), {.kernel = spec.name});
  queue_ = nullptr;
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_EQ(gpu.prepared(), 24);
  EXPECT_EQ(job.not_meant_for_device, 24);
  EXPECT_THAT(job.excluded, SizeIs(0));
  const int hopper = spec.ParameterIndex("HOPPER");
  for (const MeasureItem& item : gpu.items()) {
    ASSERT_EQ(item.configuration[hopper], 0);
  }
  // The manifest's default is not meant for the device either.
  const auto snapshot = tables_.snapshot();
  ASSERT_EQ(snapshot->tables.size(), 1u);
  const Table& table = snapshot->tables[0].table->table();
  EXPECT_EQ(table.default_configuration,
            Configuration({16, 32, 16, 1, 1, 0, 1}));
}

TEST_F(JobQueueTest, FailsWhenNoCandidateCompiles) {
  for (const Configuration& c : EnumerateConfigurations(spec_)) {
    device_.Refuse(c, "error: missing semicolon");
  }
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("missing semicolon"));
}

TEST_F(JobQueueTest, AFullStoreFailsTheJobAndNothingElse) {
  JobQueue& queue = StartQueue();
  device_.OnReport([&] {
    if (device_.measured() == 20) {
      samples_.writes().Fail(
          absl::ResourceExhaustedError("the disk is full: free some space"));
      job_store_.writes().Fail(absl::ResourceExhaustedError("disk full"));
    }
  });
  const JobRecord job = Run(queue);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("free some space"));
  EXPECT_EQ(queue.Get(job.id)->state, JobState::kFailed);
  // With space again everything goes on, from what was stored.
  samples_.writes().Heal();
  job_store_.writes().Heal();
  device_.OnReport(nullptr);
  const int64_t stored = StoredSamples();
  const int64_t measured = device_.measured();
  const JobRecord next = Run(queue);
  EXPECT_EQ(next.state, JobState::kSucceeded) << next.message;
  EXPECT_EQ(StoredSamples() - stored, device_.measured() - measured);
}

TEST_F(JobQueueTest, AJobThatFailedWhileTheStoreWasFullDoesNotRunAgain) {
  JobQueue& queue = StartQueue();
  device_.OnReport([&] {
    samples_.writes().Fail(absl::ResourceExhaustedError("disk full"));
    job_store_.writes().Fail(absl::ResourceExhaustedError("disk full"));
  });
  const JobRecord job = Run(queue);
  ASSERT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(fake_jobs_.Get(job.id)->state, JobState::kRunning);
  samples_.writes().Heal();
  job_store_.writes().Heal();
  device_.OnReport(nullptr);
  queue.Stop();
  EXPECT_EQ(fake_jobs_.Get(job.id)->state, JobState::kFailed);
  EXPECT_EQ(fake_jobs_.Get(job.id)->message, job.message);
  const int64_t measured = device_.measured();
  StartQueue().Stop();
  EXPECT_EQ(device_.measured(), measured);
}

TEST_F(JobQueueTest, AJobCancelledWhileTheStoreWasFullStaysCancelled) {
  device_.SetBusy("another process uses the device");  // It waits for ever.
  JobQueue& queue = StartQueue();
  const uint64_t id = queue.Reprofile({})->front().id;
  job_store_.writes().Fail(absl::ResourceExhaustedError("disk full"));
  ASSERT_TRUE(queue.Cancel(id).ok());
  EXPECT_EQ(Wait(queue, id).state, JobState::kCancelled);
  EXPECT_NE(fake_jobs_.Get(id)->state, JobState::kCancelled);
  job_store_.writes().Heal();
  queue.SaveJobs();
  EXPECT_EQ(fake_jobs_.Get(id)->state, JobState::kCancelled);
}

TEST(JobControlTest, KeepsWhatTheStoreRefusedUntilItIsSaved) {
  FakeJobStore fake;
  FaultyJobStore store(&fake);
  const JobRecord job = fake.Create({}).value();
  JobControl control(job, &store, [](const std::string&) {});
  store.writes().Fail(absl::ResourceExhaustedError("disk full"));
  control.Update([](JobRecord& record) { record.state = JobState::kFailed; },
                 JobControl::Persist::kSynced);
  EXPECT_TRUE(control.unsaved());
  EXPECT_FALSE(control.Save().ok());
  store.writes().Heal();
  EXPECT_TRUE(control.Save().ok());
  EXPECT_FALSE(control.unsaved());
  EXPECT_EQ(fake.Get(job.id)->state, JobState::kFailed);
}

TEST_F(JobQueueTest, TheIncumbentStaysWhenVerificationRefuses) {
  const JobRecord first = Run(StartQueue());
  ASSERT_EQ(first.state, JobState::kSucceeded);
  JobServices services = Services();
  bool holds = false;
  services.profiling.judge_verification = [&](const VerificationPlan&,
                                              const std::vector<Sample>&) {
    return Verdict{.promote = false,
                   .reason = "5 % slower at m=65",
                   .incumbent_holds = holds};
  };
  // Another ranking, so that there is another table to judge.
  services.profiling.fit_table = [](const ProfileInput& input) {
    ProfileInput worse = input;
    for (Sample& sample : worse.samples) {
      sample.latency_us = 1000 / sample.latency_us;
    }
    return FakeProfiling().fit_table(worse);
  };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord second = Run(queue);
  EXPECT_EQ(second.state, JobState::kSucceeded);
  EXPECT_THAT(second.message, HasSubstr("5 % slower"));
  EXPECT_THAT(second.message, HasSubstr(ShortDigest(first.digest)));
  EXPECT_TRUE(second.digest.empty());
  EXPECT_EQ(tables_.snapshot()->tables[0].record.digest, first.digest);
  // What was measured beside it, and holds, is a result just as well.
  holds = true;
  EXPECT_EQ(Run(queue).digest, first.digest);
}

TEST_F(JobQueueTest, TheIncumbentStaysWhenTheFitRefuses) {
  const JobRecord first = Run(StartQueue());
  ASSERT_EQ(first.state, JobState::kSucceeded);
  // Everything that is measured from now on is nonsense.
  JobServices services = Services();
  services.profiling.fit_table = [](const ProfileInput& input) {
    ProfileInput nonsense = input;
    for (size_t i = 0; i < nonsense.samples.size(); ++i) {
      nonsense.samples[i].latency_us = i % 2 == 0 ? std::nan("") : -1;
    }
    return ModelProfilingFunctions().fit_table(nonsense);
  };
  queue_ = std::make_unique<JobQueue>(services);
  ASSERT_TRUE(queue_->Start().ok());
  const JobRecord second = Run(*queue_);
  EXPECT_EQ(second.state, JobState::kFailed);
  EXPECT_THAT(second.message, HasSubstr("samples"));
  ASSERT_THAT(tables_.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(tables_.snapshot()->tables[0].record.digest, first.digest);
}

TEST_F(JobQueueTest, AKernelThatIsNotForTheDeviceIsRefusedAndSaysSo) {
  KernelSpec spec = testing::HopperGemmSpec();
  spec.name = "hopper_only";
  // compute_capability >= 90
  spec.implementations[0].device_predicates.push_back(
      {Expression::OfDimension(0), Relation::Operator::kGreaterOrEqual,
       Expression::Constant(90)});
  kernels_.Add(spec);
  DeviceFacts a100 = testing::H200();
  a100.backend = "cuda";
  a100.architecture = "sm_80";
  device_.SetFacts(a100);
  JobQueue& queue = StartQueue();
  const absl::Status refused =
      queue.Reprofile({.kernel = "hopper_only"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("sm_80"));
  EXPECT_EQ(queue.counts().queued, 0);
  EXPECT_EQ(device_.prepared(), 0);
  // Other kernels of the device are profiled all the same.
  const auto jobs = queue.Reprofile({});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(1));
  EXPECT_EQ(jobs->front().kernel, spec_.name);
  EXPECT_EQ(Wait(queue, jobs->front().id).state, JobState::kSucceeded);
}

TEST_F(JobQueueTest, ARestartGoesOnWithoutMeasuringStoredSamplesAgain) {
  std::atomic<bool> reached = false;
  device_.OnReport([&] {
    if (device_.measured() < 30) return;
    reached = true;
    reached.notify_all();
    // The batch goes no further before the daemon stops.
    while (device_.cancels() == 0) std::this_thread::yield();
  });
  JobQueue& queue = StartQueue();
  const auto jobs = queue.Reprofile({});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  reached.wait(false);
  queue.Stop();
  EXPECT_EQ(StoredSamples(), 30);
  EXPECT_EQ(fake_jobs_.Get(jobs->front().id)->state, JobState::kRunning);
  device_.OnReport(nullptr);
  JobQueue& restarted = StartQueue();
  const JobRecord job = Wait(restarted, jobs->front().id);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_EQ(device_.prepared(), Candidates());
  EXPECT_EQ(StoredSamples(), device_.measured());
  EXPECT_EQ(job.samples, StoredSamples());
}

TEST_F(JobQueueTest, RefittingMeasuresNothing) {
  JobQueue& queue = StartQueue();
  const JobRecord first = Run(queue);
  ASSERT_EQ(first.state, JobState::kSucceeded);
  const int64_t measured = device_.measured();
  directory_.Detach(device_.device().uuid);
  const JobRecord refit = Run(queue, {.options = {.refit_only = true}});
  EXPECT_EQ(refit.state, JobState::kSucceeded) << refit.message;
  EXPECT_EQ(device_.measured(), measured);
  EXPECT_EQ(refit.samples, 0);
  ASSERT_EQ(tables_.snapshot()->tables.size(), 1u);
}

TEST_F(JobQueueTest, RefittingNeedsSamples) {
  const JobRecord job = Run(StartQueue(), {.options = {.refit_only = true}});
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("without refit-only first"));
}

TEST_F(JobQueueTest, AFreshJobMeasuresEverythingAnew) {
  JobQueue& queue = StartQueue();
  const JobRecord first = Run(queue);
  const int64_t measured = device_.measured();
  const JobRecord fresh = Run(queue, {.fresh = true});
  EXPECT_EQ(fresh.generation, first.generation + 1);
  EXPECT_GE(device_.measured(), measured + 3 * Candidates());
}

TEST_F(JobQueueTest, AFreshJobFitsWhatEarlierOnesMeasuredToo) {
  JobQueue& queue = StartQueue();
  const JobRecord first = Run(queue);
  EXPECT_THAT(first.message, Not(HasSubstr("of earlier profiles")));
  const JobRecord fresh = Run(queue, {.fresh = true});
  EXPECT_THAT(fresh.message, HasSubstr("of earlier profiles"));
}

TEST_F(JobQueueTest, OldGenerationsGoWithoutAPromotionToo) {
  JobQueue& queue = StartQueue();
  JobRecord job = Run(queue);
  for (int i = 0; i < 6; ++i) {
    job = Run(queue, {.fresh = true});
    EXPECT_THAT(job.message, HasSubstr("not promoted"));
  }
  EXPECT_THAT(samples_.Generations(job.key).value(), ElementsAre(5, 6, 7));
}

TEST_F(JobQueueTest, ReturnsTheQueuedJobInsteadOfASecondOne) {
  directory_.Detach(device_.device().uuid);
  std::mutex mutex;
  bool attach = false;
  directory_.OnWait([&] {
    std::lock_guard lock(mutex);
    if (attach) directory_.Attach(&device_);
  });
  JobServices patient = Services();
  patient.agent_wait_s = 1e9;
  JobQueue waiting(patient);
  ASSERT_TRUE(waiting.Start().ok());
  const std::string uuid = device_.device().uuid;
  const auto first = waiting.Reprofile({.device_uuid = uuid});
  const auto second = waiting.Reprofile({.device_uuid = uuid});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->front().id, second->front().id);
  const auto other =
      waiting.Reprofile({.device_uuid = uuid, .options = {.budget_s = 1}});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(other->front().id, first->front().id);
  {
    std::lock_guard lock(mutex);
    attach = true;
  }
  EXPECT_EQ(Wait(waiting, first->front().id).state, JobState::kSucceeded);
}

TEST_F(JobQueueTest, RefusesWhatItCannotDo) {
  JobQueue& queue = StartQueue();
  EXPECT_TRUE(absl::IsNotFound(queue.Reprofile({.kernel = "nope"}).status()));
  EXPECT_TRUE(
      absl::IsNotFound(queue.Reprofile({.device_uuid = "nope"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue.Reprofile({.fresh = true, .options = {.refit_only = true}})
          .status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue.Reprofile({.options = {.portfolio_size = 1000}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue.Reprofile({.options = {.budget_s = -1}}).status()));
}

TEST_F(JobQueueTest, NobodyWaitsForTheDiskOfAnother) {
  JobQueue& queue = StartQueue();
  const JobRecord done = Run(queue);
  job_store_.writes().Hold();
  std::future<bool> stored = std::async(std::launch::async, [&] {
    return queue.Reprofile({.fresh = true}).ok();
  });
  job_store_.writes().WaitForHeld();
  EXPECT_EQ(queue.counts().queued, 0);
  EXPECT_EQ(queue.Get(done.id)->state, JobState::kSucceeded);
  EXPECT_TRUE(queue.List(10).ok());
  EXPECT_FALSE(queue.IsProfiling(done.kernel, done.device_uuid));
  EXPECT_TRUE(queue.Subscribe(done.id, [](const JobRecord&) {}).ok());
  job_store_.writes().Release();
  EXPECT_TRUE(stored.get());
}

TEST_F(JobQueueTest, ATableSaysWhichJobMadeItForWhom) {
  const JobRecord job = Run(StartQueue(), {.by = "1000"});
  EXPECT_EQ(job.by, "1000");
  ASSERT_THAT(tables_.snapshot()->tables, SizeIs(1));
  const TableRecord table = tables_.snapshot()->tables[0].record;
  EXPECT_EQ(table.how, PromotionKind::kProfiled);
  EXPECT_EQ(table.job_id, job.id);
  EXPECT_EQ(table.by, "1000");
  EXPECT_EQ(table.why, job.message);
}

TEST_F(JobQueueTest, WhatIsPinnedServesOnWhateverIsProfiled) {
  JobQueue& queue = StartQueue();
  const JobRecord first = Run(queue);
  ASSERT_THAT(tables_.snapshot()->tables, SizeIs(1));
  const ProfileKey key = tables_.snapshot()->tables[0].record.key;
  ASSERT_TRUE(tables_
                  .Pin({.kernel = key.kernel,
                        .silicon_key = key.silicon_key,
                        .by = "0",
                        .why = "release week"})
                  .ok());
  const JobRecord second =
      Run(queue, {.options = {.portfolio_size = 2, .refit_only = true}});
  EXPECT_EQ(second.state, JobState::kSucceeded) << second.message;
  EXPECT_THAT(second.message, HasSubstr("not promoted"));
  EXPECT_THAT(second.message, HasSubstr("release week"));
  EXPECT_EQ(tables_.snapshot()->tables[0].record.digest, first.digest);
}

TEST_F(JobQueueTest, ATableThatIsNotPromotedIsKeptWithItsEvidence) {
  JobServices services = Services();
  services.profiling.judge_verification = [](const VerificationPlan&,
                                             const std::vector<Sample>&) {
    Verdict verdict;
    verdict.reason = "refused: slower than the default";
    return verdict;
  };
  queue_ = std::make_unique<JobQueue>(services);
  ASSERT_TRUE(queue_->Start().ok());
  const JobRecord job = Run(*queue_, {.by = "1000"});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(tables_.snapshot()->tables, SizeIs(0));
  const auto rejected = tables_.Rejected(spec_.name, job.key.silicon_key);
  ASSERT_TRUE(rejected.ok()) << rejected.status();
  ASSERT_THAT(*rejected, SizeIs(1));
  const RejectedTable& table = rejected->front();
  EXPECT_EQ(table.record.job_id, job.id);
  EXPECT_EQ(table.record.by, "1000");
  EXPECT_THAT(table.reason, HasSubstr("slower than the default"));
  ASSERT_FALSE(table.points.empty());
  for (const RejectedPoint& point : table.points) {
    EXPECT_GT(point.chosen_us, 0);
    EXPECT_GT(point.default_us, 0);
  }
  EXPECT_TRUE(tables_.Get(table.record.digest).ok());
}

}  // namespace
}  // namespace wavetune
