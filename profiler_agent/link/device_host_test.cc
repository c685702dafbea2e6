#include "profiler_agent/link/device_host.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "formats/types.h"
#include "gtest/gtest.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/measure/fake_device.h"
#include "profiler_agent/worker/test_kernels.h"
#include "tests/lib/source_paths.h"

namespace wavetune {
namespace {

class DeviceHostTest : public ::testing::Test {
 protected:
  DeviceHostTest() { script_->facts.backend = "opencl"; }

  std::unique_ptr<DeviceHost> Create() {
    DeviceHostOptions options;
    for (int i = 0; i < workers_; ++i) {
      options.workers.push_back(std::make_unique<FakeDevice>(script_));
      worker_ = static_cast<FakeDevice*>(options.workers.front().get());
      last_worker_ = static_cast<FakeDevice*>(options.workers.back().get());
    }
    options.stop_watching = [this] { ++stops_; };
    options.idle_release = idle_release_;
    options.probe = [this] { return probe_; };
    options.probe_interval = std::chrono::milliseconds(1);
    if (state_.has_value())
      options.read_telemetry = [this] { return ReadTelemetry(); };
    options.quiet_period = std::chrono::milliseconds(0);
    options.quiet_look_interval = std::chrono::milliseconds(0);
    return std::make_unique<DeviceHost>(
        std::move(options), [this](const v1::AttachRequest& message) {
          const std::lock_guard<std::mutex> lock(mutex_);
          reports_.push_back(message);
          changed_.notify_all();
        });
  }

  static v1::PrepareBatch Batch(uint64_t id) {
    v1::PrepareBatch batch;
    batch.set_batch_id(id);
    *batch.add_configurations() = ConfigurationToProto(kColumnSumConfiguration);
    return batch;
  }

  static v1::MeasureBatch Measuring(uint64_t id) {
    v1::MeasureBatch batch;
    batch.set_batch_id(id);
    v1::MeasureItem* item = batch.add_requests();
    *item->mutable_configuration() =
        ConfigurationToProto(kColumnSumConfiguration);
    *item->mutable_problem() =
        ProblemToProto(Kernel()->spec.dimensions, {.extents = {1024, 256}});
    return batch;
  }

  static DeviceHost::SharedKernel Kernel() {
    return std::make_shared<const LoadedKernel>(TestKernel(kColumnSum));
  }

  // Waits for the next report.
  v1::AttachRequest Next() {
    std::unique_lock<std::mutex> lock(mutex_);
    const bool came = changed_.wait_for(lock, std::chrono::seconds(60), [this] {
      return reports_.size() > taken_;
    });
    EXPECT_TRUE(came);
    return came ? reports_[taken_++] : v1::AttachRequest();
  }

  absl::StatusOr<DeviceState> ReadTelemetry() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++looks_;
    if (!look_.ok()) return look_;
    return *state_;
  }
  void FailLooks(const absl::Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    look_ = status;
  }
  void SetState(const DeviceState& state) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = state;
  }

  // Returns whether the worker is released so often within some seconds.
  bool ReleasedSoon(int times) const {
    for (int i = 0; i < 1000 && worker_->releases() < times; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return worker_->releases() == times;
  }

  int workers_ = 1;
  FakeDevice* worker_ = nullptr;  // The first.
  FakeDevice* last_worker_ = nullptr;
  std::chrono::milliseconds idle_release_{60'000};
  int stops_ = 0;
  std::optional<DeviceState> state_;  // None: the device does not say.
  absl::Status look_;                 // What looking fails with.
  int looks_ = 0;
  std::shared_ptr<FakeDeviceScript> script_ =
      std::make_shared<FakeDeviceScript>();
  absl::Status probe_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::AttachRequest> reports_;
  size_t taken_ = 0;
};

TEST_F(DeviceHostTest, RunsABatchAndReportsItsEnd) {
  const std::unique_ptr<DeviceHost> host = Create();
  host->Submit(Batch(7), Kernel());
  EXPECT_EQ(Next().candidate().facts().tiles_per_wave(), 4);
  const v1::AttachRequest done = Next();
  EXPECT_EQ(done.done().batch_id(), 7u);
  EXPECT_EQ(done.done().error(), "");
}

TEST_F(DeviceHostTest, TheWorkerThatMeasuresGetsReadyWhileAnotherPrepares) {
  workers_ = 2;
  std::promise<void> warm;
  std::atomic<int> warm_ups = 0;
  script_->on_warm_up = [&](Device::Use use) {
    if (use != Device::Use::kMeasure) return;
    if (warm_ups++ == 0) warm.set_value();
  };
  std::atomic<int> calls = 0;
  script_->on_call = [&](const Configuration&) {
    if (calls++ == 1) warm.get_future().wait();  // The second candidate.
  };
  const std::unique_ptr<DeviceHost> host = Create();
  v1::PrepareBatch batch = Batch(1);
  *batch.add_configurations() = batch.configurations(0);
  host->Submit(batch, Kernel());
  host->WaitUntilIdle();
  EXPECT_TRUE(worker_->prepared().empty());
  EXPECT_EQ(last_worker_->prepared().size(), 2u);
  EXPECT_EQ(worker_->loaded().size(), 1u);

  host->Submit(Measuring(2), Kernel());
  host->WaitUntilIdle();
  EXPECT_FALSE(worker_->measured().empty());
  EXPECT_TRUE(last_worker_->measured().empty());
  EXPECT_EQ(warm_ups, 1);
  EXPECT_EQ(worker_->releases(), 0);
  EXPECT_EQ(last_worker_->releases(), 1);
}

TEST_F(DeviceHostTest, TheWorkerThatMeasuresMakesRoomWhereSomethingRunsOut) {
  workers_ = 2;
  std::atomic<int> calls = 0;
  // The second of two candidates, once beside others and once alone.
  script_->on_call = [&](const Configuration&) {
    if (++calls == 2) {
      script_->prepare_errors[kColumnSumConfiguration] =
          ExhaustedError(Resource::kMemory, "no more");
    }
    if (calls == 3) {
      EXPECT_EQ(worker_->releases(), 1);
      script_->prepare_errors.clear();
    }
  };
  const std::unique_ptr<DeviceHost> host = Create();
  v1::PrepareBatch batch = Batch(1);
  *batch.add_configurations() = batch.configurations(0);
  host->Submit(batch, Kernel());
  host->WaitUntilIdle();
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(worker_->releases(), 1);
}

TEST_F(DeviceHostTest, TellsThatADeviceIsLostAndThatItIsBack) {
  script_->prepare_errors[kColumnSumConfiguration] =
      absl::UnavailableError("gone");
  const std::unique_ptr<DeviceHost> host = Create();
  host->Submit(Batch(1), Kernel());
  EXPECT_EQ(Next().done().error(), "gone");
  const v1::AttachRequest lost = Next();
  EXPECT_EQ(lost.device().device_uuid(), "fake-0");
  EXPECT_EQ(lost.device().problem(), "gone");
  const v1::AttachRequest back = Next();
  EXPECT_TRUE(back.has_device());
  EXPECT_EQ(back.device().problem(), "");
  EXPECT_EQ(host->problem(), "");
}

TEST_F(DeviceHostTest, AnIdleDeviceIsLostWhereItsTelemetrySaysSo) {
  SetState({.sm_clock_mhz = 1980});
  const std::unique_ptr<DeviceHost> host = Create();
  host->Watch();
  EXPECT_TRUE(Next().has_state());
  FailLooks(absl::UnavailableError("it fell off the bus"));
  host->Watch();
  host->Watch();
  const v1::AttachRequest lost = Next();
  EXPECT_EQ(lost.device().device_uuid(), "fake-0");
  EXPECT_EQ(lost.device().problem(), "it fell off the bus");
  EXPECT_EQ(host->problem(), "it fell off the bus");
  // Nobody could look: that says nothing of the device.
  FailLooks(absl::InternalError("no worker"));
  host->Watch();
  EXPECT_EQ(host->problem(), "it fell off the bus");
  FailLooks(absl::OkStatus());
  host->Watch();
  const v1::AttachRequest back = Next();
  EXPECT_TRUE(back.has_device());
  EXPECT_EQ(back.device().problem(), "");
  EXPECT_TRUE(Next().has_state());
}

// A probe that goes well is no answer of the telemetry's, and the other way
// round.
TEST_F(DeviceHostTest, ALostDeviceIsBackWhenAllSourcesSaySo) {
  SetState({.sm_clock_mhz = 1980});
  script_->prepare_errors[kColumnSumConfiguration] =
      absl::UnavailableError("gone");
  const std::unique_ptr<DeviceHost> host = Create();
  FailLooks(absl::UnavailableError("it fell off the bus"));
  host->Watch();
  EXPECT_EQ(Next().device().problem(), "it fell off the bus");
  host->Submit(Batch(1), Kernel());
  EXPECT_EQ(Next().done().error(), "gone");
  EXPECT_EQ(Next().device().problem(), "gone");
  // The probe is done, and the telemetry's problem stays.
  EXPECT_EQ(Next().device().problem(), "it fell off the bus");
  FailLooks(absl::OkStatus());
  host->Watch();
  const v1::AttachRequest back = Next();
  EXPECT_TRUE(back.has_device());
  EXPECT_EQ(back.device().problem(), "");
}

TEST_F(DeviceHostTest, WorkersWithNothingToDoAreReleasedOnce) {
  idle_release_ = std::chrono::milliseconds(1);
  const std::unique_ptr<DeviceHost> host = Create();
  EXPECT_TRUE(ReleasedSoon(0));
  for (int batch = 1; batch <= 2; ++batch) {
    host->Submit(Batch(static_cast<uint64_t>(batch)), Kernel());
    EXPECT_EQ(Next().candidate().facts().tiles_per_wave(), 4);
    EXPECT_EQ(Next().done().error(), "");
    EXPECT_TRUE(ReleasedSoon(batch)) << worker_->releases();
  }
}

TEST_F(DeviceHostTest, LettingGoReleasesWorkersThatHaveNothingToDo) {
  const std::unique_ptr<DeviceHost> host = Create();
  host->Submit(Batch(1), Kernel());
  Next();
  EXPECT_EQ(Next().done().error(), "");
  EXPECT_TRUE(ReleasedSoon(0));
  host->LetGo();
  EXPECT_EQ(stops_, 1);
  EXPECT_TRUE(ReleasedSoon(1));
  // It goes on as before.
  host->Submit(Batch(2), Kernel());
  Next();
  EXPECT_EQ(Next().done().error(), "");
}

TEST_F(DeviceHostTest, ABatchThatWaitsIsDoneAsSoonAsItIsCancelled) {
  std::mutex blocked;
  blocked.lock();
  script_->on_call = [&blocked](const Configuration&) {
    const std::lock_guard<std::mutex> wait(blocked);
  };
  const std::unique_ptr<DeviceHost> host = Create();
  host->Submit(Batch(1), Kernel());
  host->Submit(Batch(2), Kernel());
  host->Cancel(2);
  const v1::AttachRequest done = Next();
  EXPECT_EQ(done.done().batch_id(), 2u);
  EXPECT_TRUE(done.done().cancelled());
  blocked.unlock();
  host->WaitUntilIdle();
  EXPECT_TRUE(Next().has_candidate());
}

TEST_F(DeviceHostTest, ReportsWhatTheDeviceDoesAndWhetherOthersUseIt) {
  SetState({.sm_clock_mhz = 1980, .other_processes = 2});
  const std::unique_ptr<DeviceHost> host = Create();
  host->Watch();
  const v1::AttachRequest report = Next();
  EXPECT_EQ(report.state().device_uuid(), "fake-0");
  EXPECT_EQ(report.state().state().sm_clock_mhz(), 1980);
  EXPECT_EQ(report.state().state().busy(),
            "fake-0 is used by 2 other processes");
}

TEST_F(DeviceHostTest, SaysNothingOfADeviceThatDoesNot) {
  const std::unique_ptr<DeviceHost> host = Create();
  host->Watch();
  host->Submit(Batch(1), Kernel());
  EXPECT_TRUE(Next().has_candidate());
}

TEST_F(DeviceHostTest, LooksBetweenBatchesWhereOnlyUtilisationTellsOfOthers) {
  SetState({.utilisation_percent = 93, .own_workers = 1});
  const std::unique_ptr<DeviceHost> host = Create();
  script_->on_call = [&](const Configuration&) { host->Watch(); };
  host->Watch();
  EXPECT_FALSE(Next().state().state().busy().empty());
  SetState({.utilisation_percent = 0, .own_workers = 1});
  host->Submit(Batch(1), Kernel());
  EXPECT_TRUE(Next().state().state().busy().empty());  // Before the batch.
  // While ours runs its own launches count for nothing.
  EXPECT_TRUE(Next().state().state().busy().empty());
  EXPECT_TRUE(Next().has_candidate());
  EXPECT_TRUE(Next().has_done());
}

TEST_F(DeviceHostTest, OurOwnLaunchesDoNotHideWhatWasSeenBefore) {
  SetState({.utilisation_percent = 93, .own_workers = 1});
  const std::unique_ptr<DeviceHost> host = Create();
  script_->on_call = [&](const Configuration&) { host->Watch(); };
  host->Watch();
  Next();
  host->Submit(Batch(1), Kernel());
  Next();                                               // Before the batch.
  EXPECT_FALSE(Next().state().state().busy().empty());  // In the middle.
}

TEST_F(DeviceHostTest, TellsOfAnotherPowerLimit) {
  script_->facts.power_limit_w = 700;
  SetState({.power_limit_w = 700});
  const std::unique_ptr<DeviceHost> host = Create();
  host->Watch();
  EXPECT_TRUE(Next().has_state());
  SetState({.power_limit_w = 500});
  host->Watch();
  const v1::AttachRequest report = Next();
  ASSERT_TRUE(report.has_device());
  EXPECT_EQ(report.device().facts().power_limit_w(), 500);
  EXPECT_EQ(report.device().facts().uuid(), "fake-0");
  EXPECT_TRUE(report.device().problem().empty());
  EXPECT_EQ(host->facts().power_limit_w, 500);
}

TEST_F(DeviceHostTest, TwoDevicesMeasureAtTheSameTime) {
  std::mutex mutex;
  std::condition_variable met;
  int running = 0;
  bool together = true;
  // Each waits for the other: one after the other they would never meet.
  script_->on_call = [&](const Configuration&) {
    std::unique_lock<std::mutex> lock(mutex);
    ++running;
    met.notify_all();
    together &= met.wait_for(lock, std::chrono::seconds(30),
                             [&] { return running == 2; });
  };
  const std::unique_ptr<DeviceHost> first = Create();
  const std::unique_ptr<DeviceHost> second = Create();
  first->Submit(Batch(1), Kernel());
  second->Submit(Batch(2), Kernel());
  first->WaitUntilIdle();
  second->WaitUntilIdle();
  EXPECT_TRUE(together);
}

}  // namespace
}  // namespace wavetune
