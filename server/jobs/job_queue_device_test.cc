// Jobs and their device: lost, busy, throttled, several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/jobs/job_queue_fixture.h"

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class JobQueueDeviceTest : public JobQueueFixture {};

TEST_F(JobQueueDeviceTest, GoesOnWhenTheAgentComesBackInTheMiddleOfABatch) {
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

TEST_F(JobQueueDeviceTest, FailsWhenTheAgentStaysAway) {
  JobQueue& queue = StartQueue();
  const std::string uuid = device_.device().uuid;
  directory_.Detach(uuid);
  const JobRecord job = Run(queue, {.device_uuid = uuid});
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("start wavetune-agent"));
  EXPECT_TRUE(absl::IsFailedPrecondition(queue.Reprofile({}).status()));
}

TEST_F(JobQueueDeviceTest, GivesUpOnADeviceThatReportsNothing) {
  device_.LoseAfter(0);
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("went away"));
}

TEST_F(JobQueueDeviceTest, SaysWhyItsDeviceCannotBeUsed) {
  const std::string uuid = device_.device().uuid;
  JobQueue& queue = StartQueue();
  directory_.Detach(uuid);
  directory_.Explain("agent node1:42 has sent nothing for more than 30 s");
  std::mutex mutex;
  uint64_t id = 0;
  std::string waiting;
  directory_.OnWait([&] {
    std::lock_guard lock(mutex);
    waiting = queue.Get(id)->message;
    directory_.Attach(&device_);
  });
  {
    std::lock_guard lock(mutex);
    id = queue.Reprofile({.device_uuid = uuid})->front().id;
  }
  const JobRecord job = Wait(queue, id);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_EQ(waiting, "waiting for the agent of device " + uuid +
                         ": agent node1:42 has sent nothing for more than 30 "
                         "s");
}

TEST_F(JobQueueDeviceTest, WhatTheHostHadNoMemoryForIsTriedAgainByTheNextJob) {
  const Configuration victim = EnumerateConfigurations(spec_).back();
  device_.Exhaust(victim, "out of memory: killed; give the agent more memory");
  JobQueue& queue = StartQueue();
  const JobRecord first = Run(queue);
  EXPECT_EQ(first.state, JobState::kSucceeded) << first.message;
  EXPECT_THAT(first.message,
              HasSubstr("1 candidate could not be compiled and checked"));
  EXPECT_THAT(first.message, HasSubstr("give the agent more memory"));
  EXPECT_THAT(first.excluded, SizeIs(0));
  EXPECT_EQ(device_.prepared(), Candidates());

  device_.Exhaust(victim, "");
  const JobRecord second = Run(queue);
  EXPECT_EQ(second.state, JobState::kSucceeded) << second.message;
  EXPECT_THAT(second.message, Not(HasSubstr("could not be compiled")));
  EXPECT_EQ(device_.prepared(), Candidates() + 1);
}

TEST_F(JobQueueDeviceTest, SaysWhatRanOutWhereNoCandidateCanBePrepared) {
  for (const Configuration& configuration : EnumerateConfigurations(spec_)) {
    device_.Exhaust(configuration, "out of disk space: /cache is full");
  }
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.message, HasSubstr("no candidate of kernel"));
  EXPECT_THAT(job.message, HasSubstr("out of disk space: /cache is full"));
  EXPECT_THAT(job.excluded, SizeIs(0));
}

TEST_F(JobQueueDeviceTest, AQueuedJobSaysWhichJobItWaitsFor) {
  device_.SetBusy("used by others");
  JobQueue& queue = StartQueue();
  const uint64_t first = queue.Reprofile({})->front().id;
  const uint64_t second =
      queue.Reprofile({.options = {.budget_s = 7}})->front().id;
  const uint64_t third =
      queue.Reprofile({.options = {.budget_s = 8}})->front().id;
  EXPECT_EQ(queue.Get(third)->message,
            absl::StrCat("waits for job ", second, " on the same device"));
  EXPECT_EQ(queue.Get(second)->message,
            absl::StrCat("waits for job ", first, " on the same device"));
  device_.SetBusy("");
  EXPECT_THAT(Wait(queue, third).message, Not(HasSubstr("waits for job")));
}

TEST_F(JobQueueDeviceTest, JobsRunWhereTheirDeviceCanHaveNoThread) {
  JobServices services = Services();
  std::atomic<int> started = 0;
  services.start_thread = [&](std::function<void()> run) {
    if (++started > 1) {
      throw std::system_error(
          std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    return std::thread(std::move(run));
  };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const uint64_t first = queue.Reprofile({})->front().id;
  const uint64_t second =
      queue.Reprofile({.options = {.budget_s = 7}})->front().id;
  EXPECT_EQ(Wait(queue, first).state, JobState::kSucceeded);
  EXPECT_EQ(Wait(queue, second).state, JobState::kSucceeded);
  EXPECT_GT(started, 1);
  queue.Stop();
  EXPECT_THAT(warnings_, Contains(HasSubstr("limit on processes")));
}

TEST_F(JobQueueDeviceTest, AQueueThatCanHaveNoThreadAtAllDoesNotStart) {
  JobServices services = Services();
  services.start_thread = [](const std::function<void()>&) -> std::thread {
    throw std::system_error(
        std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  JobQueue queue(services);
  const absl::Status status = queue.Start();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("TasksMax"));
}

TEST_F(JobQueueDeviceTest, RefusesADeviceThatComesBackAsAnotherOne) {
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

TEST_F(JobQueueDeviceTest, WaitsWhileOthersUseTheDeviceAndSaysSo) {
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

TEST_F(JobQueueDeviceTest,
       PausesInTheMiddleWhenOthersComeAndMeasuresEachItemOnce) {
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

TEST_F(JobQueueDeviceTest, AWaitingJobCanBeCancelled) {
  device_.SetBusy("used by others");
  JobQueue& queue = StartQueue();
  const uint64_t id = queue.Reprofile({})->front().id;
  ASSERT_TRUE(queue.Cancel(id).ok());
  EXPECT_EQ(Wait(queue, id).state, JobState::kCancelled);
  EXPECT_EQ(device_.measured(), 0);
}

TEST_F(JobQueueDeviceTest, AWaitingJobGoesOnWhenAskedToMeasureEvenIfBusy) {
  device_.SetBusy("used by others");
  JobQueue& queue = StartQueue();
  const uint64_t id = queue.Reprofile({})->front().id;
  const auto again = queue.Reprofile({.options = {.even_if_busy = true}});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->front().id, id);
  const JobRecord job = Wait(queue, id);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_TRUE(job.options.even_if_busy);
}

TEST_F(JobQueueDeviceTest, ADaemonMayMeasureEvenIfBusyByDefault) {
  device_.SetBusy("used by others");
  JobServices services = Services();
  services.settings->even_if_busy = true;
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  EXPECT_EQ(Run(queue).state, JobState::kSucceeded);
}

TEST_F(JobQueueDeviceTest, SettingsHoldForJobsThatAreQueuedAfterTheyChanged) {
  JobServices services = Services();
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord before = queue.Reprofile({})->front();
  EXPECT_EQ(before.options.budget_s, 60);
  EXPECT_EQ(Wait(queue, before.id).state, JobState::kSucceeded);
  services.settings->default_budget_s = 7;
  services.settings->even_if_busy = true;
  const JobRecord after = queue.Reprofile({})->front();
  EXPECT_EQ(after.options.budget_s, 7);
  EXPECT_TRUE(after.options.even_if_busy);
  EXPECT_EQ(Wait(queue, after.id).state, JobState::kSucceeded);
}

TEST_F(JobQueueDeviceTest, RefittingWaitsForNobody) {
  ASSERT_EQ(Run(StartQueue()).state, JobState::kSucceeded);
  device_.SetBusy("used by others");
  EXPECT_EQ(Run(*queue_, {.options = {.refit_only = true}}).state,
            JobState::kSucceeded);
}

TEST_F(JobQueueDeviceTest, AThrottledProfileIsNotPromotedAndMeasuredAnewLater) {
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

TEST_F(JobQueueDeviceTest, JobsOfSeveralDevicesRunAtTheSameTime) {
  DeviceFacts facts = testing::H200();
  facts.uuid = "GPU-2";
  FakeMeasurementExecutor second(
      {.facts = facts, .latency_us = SyntheticLatency(&spec_, 64)});
  directory_.Attach(&second);
  ASSERT_TRUE(devices_.Put({.facts = facts}).ok());
  JobQueue& queue = StartQueue();
  const auto jobs = queue.Reprofile({.single_device = true});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(2));
  for (const JobRecord& job : *jobs) {
    EXPECT_EQ(Wait(queue, job.id).state, JobState::kSucceeded);
  }
  EXPECT_THAT(*queue.List(10), SizeIs(2));
}

TEST_F(JobQueueDeviceTest, AThreadEndsWithTheJobsOfItsDevice) {
  JobQueue& queue = StartQueue();
  for (int i = 0; i < 3; ++i) {
    const JobRecord job = Run(queue, {.fresh = true});
    EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
    // The record ends a moment before the thread.
    while (queue.workers() > 0) std::this_thread::yield();
  }
}

TEST_F(JobQueueDeviceTest, TooManyUnfinishedJobsAreRefused) {
  std::promise<void> agent_comes;
  const std::shared_future<void> waits = agent_comes.get_future().share();
  directory_.OnWait([waits] { waits.wait(); });
  const std::string uuid = device_.device().uuid;
  directory_.Detach(uuid);
  JobQueue& queue = StartQueue();
  for (size_t i = 0; i < JobQueue::kMaxUnfinished; ++i) {
    const auto jobs =
        queue.Reprofile({.device_uuid = uuid,
                         .options = {.budget_s = static_cast<double>(i + 1)}});
    ASSERT_TRUE(jobs.ok()) << jobs.status();
  }
  const absl::Status refused =
      queue.Reprofile({.device_uuid = uuid, .options = {.budget_s = 5000}})
          .status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("1024 jobs wait or run"));
  // One that is there already is still returned.
  EXPECT_TRUE(
      queue.Reprofile({.device_uuid = uuid, .options = {.budget_s = 9}}).ok());
  ASSERT_TRUE(queue.Cancel(1000).ok());
  EXPECT_TRUE(
      queue.Reprofile({.device_uuid = uuid, .options = {.budget_s = 5000}})
          .ok());
  agent_comes.set_value();
  queue.Stop();
}

TEST_F(JobQueueDeviceTest, AReasonOfAnyLengthIsCut) {
  const JobRecord job = Run(StartQueue(), {.reason = std::string(200000, 'r')});
  EXPECT_LT(job.reason.size(), JobRequests::kMaxReasonBytes + 100);
}

}  // namespace
}  // namespace wavetune
