// Jobs for a class of several devices: which jobs a request becomes, their
// order, and who measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/jobs/job_queue_fixture.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;

using ::testing::HasSubstr;
using ::testing::SizeIs;

DeviceFacts SecondDevice() {
  DeviceFacts facts = testing::H200();
  facts.uuid = "GPU-second";
  return facts;
}

class JobQueueDevicesTest : public JobQueueFixture {
 protected:
  JobQueueDevicesTest()
      : second_({.facts = SecondDevice(),
                 .latency_us = SyntheticLatency(&spec_, 64)}) {
    directory_.Attach(&second_);
  }

  FakeMeasurementExecutor second_;
};

TEST_F(JobQueueDevicesTest, AClassHasOneJobThatItsDevicesShare) {
  JobQueue& queue = StartQueue();
  const auto jobs = queue.Reprofile({});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(1));
  const JobRecord job = Wait(queue, jobs->front().id);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_FALSE(job.digest.empty());
  EXPECT_TRUE(job.whole_class);
  EXPECT_THAT(job.device_uuids, SizeIs(2));
  EXPECT_GT(device_.measured(), 0);
  EXPECT_GT(second_.measured(), 0);
  EXPECT_EQ(device_.prepared() + second_.prepared(), Candidates());
}

TEST_F(JobQueueDevicesTest, ANamedDeviceMeasuresAlone) {
  const JobRecord job = Run(StartQueue(), {.device_uuid = "GPU-second"});
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(job.device_uuids, ElementsAre("GPU-second"));
  EXPECT_EQ(device_.measured(), 0);
}

TEST_F(JobQueueDevicesTest, ASingleDeviceOfEachIsAJobEach) {
  const auto jobs = StartQueue().Reprofile({.single_device = true});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_THAT(*jobs, SizeIs(2));
}

TEST_F(JobQueueDevicesTest, AClassCanBeNamed) {
  JobQueue& queue = StartQueue();
  const std::string silicon = SiliconKey(device_.device());
  const auto jobs = queue.Reprofile({.silicon_key = silicon});
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_THAT(*jobs, SizeIs(1));
  const auto unknown = queue.Reprofile({.silicon_key = "backend=other"});
  EXPECT_TRUE(absl::IsNotFound(unknown.status()));
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr(silicon));
  EXPECT_TRUE(absl::IsInvalidArgument(
      queue.Reprofile({.device_uuid = "GPU-second", .silicon_key = silicon})
          .status()));
}

TEST_F(JobQueueDevicesTest, APriorityOutOfRangeIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      StartQueue().Reprofile({.priority = 101}).status()));
}

TEST_F(JobQueueDevicesTest, ARequestForTheClassMeetsTheJobForTheClass) {
  JobQueue& queue = StartQueue();
  device_.SetBusy("used by others");
  second_.SetBusy("used by others");
  const uint64_t id = queue.Reprofile({})->front().id;
  EXPECT_EQ(queue.Reprofile({})->front().id, id);
  EXPECT_NE(queue.Reprofile({.device_uuid = "GPU-second"})->front().id, id)
      << "one device is not the class";
  EXPECT_TRUE(queue.IsProfiling(spec_.name, "GPU-second"));
  device_.SetBusy("");
  second_.SetBusy("");
  EXPECT_EQ(Wait(queue, id).state, JobState::kSucceeded);
}

TEST_F(JobQueueDevicesTest, AJobOfAHigherPriorityGoesFirst) {
  JobQueue& queue = StartQueue();
  device_.SetBusy("used by others");
  second_.SetBusy("used by others");
  const auto reprofile = [&](double budget_s, int32_t priority) {
    return queue
        .Reprofile({.priority = priority, .options = {.budget_s = budget_s}})
        ->front()
        .id;
  };
  const uint64_t running = reprofile(1, 0);
  while (queue.Get(running)->state != JobState::kRunning) {
    std::this_thread::yield();
  }
  const uint64_t low = reprofile(2, -1);
  const uint64_t usual = reprofile(3, 0);
  const uint64_t high = reprofile(4, 5);
  EXPECT_THAT(queue.Get(high)->message,
              HasSubstr(absl::StrCat("waits for job ", running)));
  EXPECT_THAT(queue.Get(usual)->message,
              HasSubstr(absl::StrCat("waits for job ", high)));
  EXPECT_THAT(queue.Get(low)->message,
              HasSubstr(absl::StrCat("waits for job ", usual)));
  device_.SetBusy("");
  second_.SetBusy("");
  EXPECT_EQ(Wait(queue, low).state, JobState::kSucceeded);
  EXPECT_EQ(queue.Get(high)->priority, 5);
}

TEST_F(JobQueueDevicesTest, WhoMeasuresOnOneDeviceHasItToHimself) {
  JobQueue& queue = StartQueue();
  MeasureRequest request;
  request.kernel = spec_.name;
  request.device_uuid = "GPU-second";
  request.problems = {{.extents = {100, 512, 512}}};
  request.exhaustive = true;
  const uint64_t profile = queue.Reprofile({})->front().id;
  MeasureListener listener;
  listener.on_result = [](const MeasuredProblem&) {};
  const auto measure = queue.Measure(request, listener);
  ASSERT_TRUE(measure.ok()) << measure.status();
  EXPECT_EQ(Wait(queue, measure->id).state, JobState::kSucceeded);
  EXPECT_EQ(Wait(queue, profile).state, JobState::kSucceeded);
}

TEST_F(JobQueueDevicesTest, WhenOneDeviceTurnsHotTheOtherFinishes) {
  second_.OnReport([this] {
    if (second_.measured() == 10) second_.SetHot("it is hot: 86 °C");
  });
  const JobRecord job = Run(StartQueue());
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_EQ(second_.measured(), 10);
}

TEST_F(JobQueueDevicesTest, ASlowDeviceIsToldAndNotFitted) {
  second_.SetSlower(1.3);
  JobServices services = Services();
  std::mutex mutex;
  std::vector<std::string> slow;
  services.device_rated = [&](const JobRecord&, const std::string& uuid,
                              const DeviceRatio& ratio) {
    std::lock_guard lock(mutex);
    if (ratio.deviates()) slow.push_back(uuid);
  };
  JobQueue queue(services);
  ASSERT_TRUE(queue.Start().ok());
  const JobRecord job = Run(queue);
  EXPECT_EQ(job.state, JobState::kSucceeded) << job.message;
  EXPECT_THAT(slow, ElementsAre("GPU-second"));
  EXPECT_EQ(second_.measured(), static_cast<int64_t>(kCommonPairs));
}

}  // namespace
}  // namespace wavetune
