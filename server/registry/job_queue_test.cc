#include "server/registry/job_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "model/kernel_validation.h"
#include "model/testing/kernels.h"
#include "server/registry/fake_measurement_executor.h"
#include "server/registry/fake_profiling.h"
#include "server/registry/fake_stores.h"
#include "server/registry/faulty_stores.h"
#include "server/registry/job_test_support.h"

namespace wavetune {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class JobQueueTest : public ::testing::Test {
 protected:
  JobQueueTest()
      : device_({.facts = testing::H200(),
                 .latency_us = SyntheticLatency(&spec_, 64)}) {
    kernels_.Add(spec_);
    directory_.Attach(&device_);
    RememberDevice();
  }

  void RememberDevice() {
    ASSERT_TRUE(devices_.Put({.facts = device_.device()}).ok());
  }

  JobServices Services() {
    JobServices services;
    services.samples = &samples_;
    services.jobs = &job_store_;
    services.devices = &devices_;
    services.tables = &tables_;
    services.kernels = &kernels_;
    services.executors = &directory_;
    services.clock = &clock_;
    services.profiling = FakeProfiling();
    services.warn = [this](const std::string& text) {
      std::lock_guard lock(warnings_mutex_);
      warnings_.push_back(text);
    };
    return services;
  }

  // Starts a daemon's worth of jobs; an earlier one stops.
  JobQueue& StartQueue() {
    queue_ = nullptr;
    queue_ = std::make_unique<JobQueue>(Services());
    EXPECT_TRUE(queue_->Start().ok());
    return *queue_;
  }

  JobRecord Wait(JobQueue& queue, uint64_t id) { return WaitForEnd(queue, id); }

  JobRecord Run(JobQueue& queue, ReprofileRequest request = {}) {
    const auto jobs = queue.Reprofile(request);
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    if (!jobs.ok()) return {};
    EXPECT_THAT(*jobs, SizeIs(1));
    return Wait(queue, jobs->front().id);
  }

  int64_t StoredSamples() { return samples_.GetStats()->samples; }

  int64_t Candidates() const {
    return static_cast<int64_t>(EnumerateConfigurations(spec_).size());
  }

  const KernelSpec spec_ = JobTestSpec();
  FakeSampleStore fake_samples_;
  FaultySampleStore samples_{&fake_samples_};
  FakeTableStore table_store_;
  FakeJobStore fake_jobs_;
  FaultyJobStore job_store_{&fake_jobs_};
  FakeDeviceStore devices_;
  TableCatalog tables_{&table_store_, [](const std::string&) {}};
  FakeKernelCatalog kernels_;
  FakeMeasurementExecutor device_;
  FakeExecutorDirectory directory_;
  FakeClock clock_;
  std::mutex warnings_mutex_;
  std::vector<std::string> warnings_;
  std::unique_ptr<JobQueue> queue_;  // Last: stops before the rest goes.
};

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

TEST_F(JobQueueTest, StopsMeasuringWhenTheBudgetIsSpentAndFitsWhatThereIs) {
  // All samples take some milliseconds of device time.
  const JobRecord job = Run(StartQueue(), {.budget_s = 0.002});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_LT(device_.measured(), 3 * Candidates());
  EXPECT_GE(job.device_time_us, 2000);
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
      queue.Reprofile({.device_uuid = uuid, .refit_only = true});
  ASSERT_TRUE(second.ok()) << second.status();
  const auto cancelled = queue.Cancel(second->front().id);
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->state, JobState::kCancelled);
  EXPECT_THAT(cancelled->message, HasSubstr("before it ran"));
  ASSERT_TRUE(queue.Cancel(first->front().id).ok());
  EXPECT_EQ(Wait(queue, first->front().id).state, JobState::kCancelled);
}

TEST_F(JobQueueTest, GoesOnWhenTheAgentComesBackInTheMiddleOfABatch) {
  const std::string uuid = device_.device().uuid;
  device_.LoseAfter(Candidates() + 10);
  int waits = 0;
  directory_.OnWait([&] {
    if (++waits < 3) return;
    device_.Restore();
    directory_.Attach(&device_);
  });
  // The session notices the loss: the directory no longer has the device.
  int64_t reports = 0;
  device_.OnReport([&] {
    if (reports++ == Candidates() + 10) directory_.Detach(uuid);
  });
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_EQ(waits, 3);
  // Nothing was measured twice, nothing got lost.
  EXPECT_EQ(StoredSamples(), device_.measured());
  EXPECT_EQ(device_.prepared(), Candidates());
}

TEST_F(JobQueueTest, FailsWhenTheAgentStaysAway) {
  JobQueue& queue = StartQueue();
  const std::string uuid = device_.device().uuid;
  directory_.Detach(uuid);
  const JobRecord job = Run(queue, {.device_uuid = uuid});
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("start wavetune-agent"));
  EXPECT_TRUE(absl::IsFailedPrecondition(queue.Reprofile({}).status()));
}

TEST_F(JobQueueTest, GivesUpOnADeviceThatReportsNothing) {
  device_.LoseAfter(0);
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("went away"));
}

TEST_F(JobQueueTest, RefusesADeviceThatComesBackAsAnotherOne) {
  const DeviceFacts before = device_.device();
  int64_t reports = 0;
  device_.OnReport([&] {
    if (reports++ != Candidates() + 10) return;
    device_.LoseAfter(0);
    directory_.Detach(before.uuid);
  });
  directory_.OnWait([&] {
    DeviceFacts upgraded = before;
    upgraded.driver = "999.1";
    device_.SetFacts(upgraded);
    device_.Restore();
    directory_.Attach(&device_);
  });
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("came back as another one"));
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

TEST_F(JobQueueTest, TheIncumbentStaysWhenVerificationRefuses) {
  const JobRecord first = Run(StartQueue());
  ASSERT_EQ(first.state, JobState::kSucceeded);
  JobServices services = Services();
  services.profiling.judge_verification = [](const VerificationPlan&,
                                             const std::vector<Sample>&) {
    return Verdict{.promote = false, .reason = "5 % slower at m=65"};
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
  EXPECT_THAT(second.message, HasSubstr(first.digest.substr(0, 8)));
  EXPECT_TRUE(second.digest.empty());
  EXPECT_EQ(tables_.snapshot()->tables[0].record.digest, first.digest);
}

TEST_F(JobQueueTest, WaitsWhileOthersUseTheDeviceAndSaysSo) {
  device_.SetBusy("H200 is used by 2 other processes, 93 % utilisation");
  std::mutex mutex;
  std::string waiting;
  JobQueue& queue = StartQueue();
  uint64_t id = 0;
  device_.OnAwaitIdle([&](bool busy) {
    std::lock_guard lock(mutex);
    if (!busy || !waiting.empty()) return;
    const JobRecord job = *queue.Get(id);
    if (job.message.empty()) return;  // The first look.
    EXPECT_EQ(job.phase, JobPhase::kWaiting);
    waiting = job.message;
    device_.SetBusy("");
  });
  {
    std::lock_guard lock(mutex);
    id = queue.Reprofile({})->front().id;
  }
  const JobRecord job = Wait(queue, id);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_FALSE(job.digest.empty());
  EXPECT_EQ(waiting,
            "waiting: H200 is used by 2 other processes, 93 % utilisation; "
            "reprofile with --even-if-busy to measure anyway");
}

TEST_F(JobQueueTest, PausesInTheMiddleWhenOthersComeAndMeasuresEachItemOnce) {
  int pauses = 0;
  device_.OnReport([&] {
    if (device_.measured() == 20) device_.SetBusy("used by others");
  });
  device_.OnAwaitIdle([&](bool busy) {
    if (!busy) return;
    ++pauses;
    device_.OnReport(nullptr);
    device_.SetBusy("");
  });
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(device_.measured(), StoredSamples());
}

TEST_F(JobQueueTest, AWaitingJobCanBeCancelled) {
  device_.SetBusy("used by others");
  JobQueue& queue = StartQueue();
  const uint64_t id = queue.Reprofile({})->front().id;
  ASSERT_TRUE(queue.Cancel(id).ok());
  EXPECT_EQ(Wait(queue, id).state, JobState::kCancelled);
  EXPECT_EQ(device_.measured(), 0);
}

TEST_F(JobQueueTest, AWaitingJobGoesOnWhenAskedToMeasureEvenIfBusy) {
  device_.SetBusy("used by others");
  JobQueue& queue = StartQueue();
  const uint64_t id = queue.Reprofile({})->front().id;
  const auto again = queue.Reprofile({.even_if_busy = true});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->front().id, id);
  const JobRecord job = Wait(queue, id);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_TRUE(job.even_if_busy);
}

TEST_F(JobQueueTest, ADaemonMayMeasureEvenIfBusyByDefault) {
  device_.SetBusy("used by others");
  JobServices services = Services();
  services.even_if_busy = true;
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  EXPECT_EQ(Run(queue).state, JobState::kSucceeded);
}

TEST_F(JobQueueTest, RefittingWaitsForNobody) {
  ASSERT_EQ(Run(StartQueue()).state, JobState::kSucceeded);
  device_.SetBusy("used by others");
  EXPECT_EQ(Run(*queue_, {.refit_only = true}).state, JobState::kSucceeded);
}

TEST_F(JobQueueTest, AThrottledProfileIsNotPromotedAndMeasuredAnewLater) {
  JobQueue& queue = StartQueue();
  device_.Throttle(0x40);
  const JobRecord hot = Run(queue);
  EXPECT_EQ(hot.state, JobState::kSucceeded);
  EXPECT_TRUE(hot.digest.empty());
  EXPECT_GT(hot.throttled_samples, 0);
  EXPECT_EQ(hot.throttled_samples, hot.samples);
  EXPECT_THAT(hot.message,
              HasSubstr("not promoted, the default configuration serves on: "
                        "100 % of what was measured was measured while the "
                        "device was throttled (hardware thermal slowdown)"));
  const int64_t measured = device_.measured();
  device_.Throttle(0);
  const JobRecord cool = Run(queue);
  EXPECT_FALSE(cool.digest.empty()) << cool.message;
  EXPECT_GE(cool.samples, measured);
  EXPECT_EQ(cool.throttled_samples, 0);
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
  const JobRecord refit = Run(queue, {.refit_only = true});
  EXPECT_EQ(refit.state, JobState::kSucceeded) << refit.message;
  EXPECT_EQ(device_.measured(), measured);
  EXPECT_EQ(refit.samples, 0);
  ASSERT_EQ(tables_.snapshot()->tables.size(), 1u);
}

TEST_F(JobQueueTest, RefittingNeedsSamples) {
  const JobRecord job = Run(StartQueue(), {.refit_only = true});
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
  const auto other = waiting.Reprofile({.device_uuid = uuid, .budget_s = 1});
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
      queue.Reprofile({.refit_only = true, .fresh = true}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue.Reprofile({.portfolio_size = 1000}).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(queue.Reprofile({.budget_s = -1}).status()));
}

TEST_F(JobQueueTest, MeasuresExhaustivelyAndJudgesByTheSecondPass) {
  JobQueue& queue = StartQueue();
  ASSERT_EQ(Run(queue).state, JobState::kSucceeded);
  const int64_t samples_before = StoredSamples();
  std::mutex mutex;
  std::vector<MeasuredProblem> results;
  MeasureRequest request{.kernel = spec_.name, .exhaustive = true};
  request.problems = {{.extents = {100, 512, 512}},
                      {.extents = {1000, 512, 514}}};
  const auto queued =
      queue.Measure(request, {.on_result = [&](const MeasuredProblem& result) {
                      std::lock_guard lock(mutex);
                      results.push_back(result);
                    }});
  ASSERT_TRUE(queued.ok()) << queued.status();
  const JobRecord job = Wait(queue, queued->id);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_THAT(results, SizeIs(2));
  for (const MeasuredProblem& result : results) {
    ASSERT_TRUE(result.best && result.chosen && result.standard);
    EXPECT_TRUE(result.best->remeasured);
    EXPECT_TRUE(result.chosen->remeasured);
    EXPECT_GE(result.regret, 0);
    EXPECT_LE(result.best->latency_us, result.all.back().latency_us);
    EXPECT_FALSE(result.digest.empty());
  }
  // k = 514 is no multiple of 4: half of the space is not legal.
  EXPECT_GT(results[0].all.size(), results[1].all.size());
  EXPECT_GT(StoredSamples(), samples_before);
  // No fit reads what quality is judged by.
  EXPECT_THAT(samples_.Load(job.key, 1)->samples,
              Each(Field(&SampleRecord::job_id, 1u)));
}

TEST_F(JobQueueTest, MeasuresPeersAndStoresNoSampleOfThem) {
  KernelSpec spec = spec_;
  spec.implementations = {{.backend = device_.device().backend,
                           .peers = {{.library = "cublaslt"}}}};
  kernels_.Add(spec);
  JobQueue& queue = StartQueue();
  std::vector<MeasuredProblem> results;
  MeasureRequest request{.kernel = spec_.name, .standard = true, .peers = true};
  request.problems = {{.extents = {100, 512, 512}}};
  const auto queued = queue.Measure(
      request,
      {.on_result = [&](const MeasuredProblem& r) { results.push_back(r); }});
  ASSERT_TRUE(queued.ok()) << queued.status();
  const JobRecord job = Wait(queue, queued->id);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  ASSERT_THAT(results, SizeIs(1));
  ASSERT_THAT(results[0].peers, SizeIs(1));
  EXPECT_EQ(results[0].peers[0].library, "cublaslt");
  EXPECT_DOUBLE_EQ(results[0].peers[0].latency_us, 42);
  EXPECT_THAT(results[0].all, SizeIs(1));
  EXPECT_EQ(StoredSamples(), 1);
}

TEST_F(JobQueueTest, AKernelWithoutPeersSaysSo) {
  JobQueue& queue = StartQueue();
  MeasureRequest request{.kernel = spec_.name, .standard = true, .peers = true};
  request.problems = {{.extents = {100, 512, 512}}};
  const auto queued =
      queue.Measure(request, {.on_result = [](const MeasuredProblem&) {}});
  ASSERT_TRUE(queued.ok()) << queued.status();
  const JobRecord job = Wait(queue, queued->id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("names no vendor library"));
}

TEST_F(JobQueueTest, MeasuringWithoutATableStillMeasuresTheDefault) {
  JobQueue& queue = StartQueue();
  std::vector<MeasuredProblem> results;
  MeasureRequest request{
      .kernel = spec_.name, .chosen = true, .standard = true};
  request.problems = {{.extents = {100, 512, 512}}};
  const auto queued = queue.Measure(
      request,
      {.on_result = [&](const MeasuredProblem& r) { results.push_back(r); }});
  ASSERT_TRUE(queued.ok()) << queued.status();
  EXPECT_EQ(Wait(queue, queued->id).state, JobState::kSucceeded);
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_FALSE(results[0].chosen.has_value());
  EXPECT_TRUE(results[0].standard.has_value());
  EXPECT_FALSE(results[0].best.has_value());
}

TEST_F(JobQueueTest, AnInterruptedMeasuringJobFailsAfterARestart) {
  JobRecord record{.kind = JobKind::kMeasure, .kernel = spec_.name};
  record.device_uuid = device_.device().uuid;
  record.state = JobState::kRunning;
  const uint64_t id = fake_jobs_.Create(record)->id;
  JobQueue& queue = StartQueue();
  const JobRecord job = *queue.Get(id);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("start the measurement again"));
}

TEST_F(JobQueueTest, JobsOfSeveralDevicesRunAtTheSameTime) {
  DeviceFacts facts = testing::H200();
  facts.uuid = "GPU-2";
  FakeMeasurementExecutor second(
      {.facts = facts, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&second);
  ASSERT_TRUE(devices_.Put({.facts = facts}).ok());
  JobQueue& queue = StartQueue();
  const auto jobs = queue.Reprofile({});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(2));
  for (const JobRecord& job : *jobs) {
    EXPECT_EQ(Wait(queue, job.id).state, JobState::kSucceeded);
  }
  EXPECT_THAT(*queue.List(10), SizeIs(2));
}

}  // namespace
}  // namespace wavetune
