// JobQueueFixture: a job queue on fakes, with a device whose latencies are made
// up. For tests.
#ifndef WAVETUNE_SERVER_JOBS_JOB_QUEUE_FIXTURE_H_
#define WAVETUNE_SERVER_JOBS_JOB_QUEUE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "model/kernel/kernel_space.h"
#include "model/testing/kernels.h"
#include "server/jobs/fake_measurement_executor.h"
#include "server/jobs/fake_profiling.h"
#include "server/jobs/job_queue.h"
#include "server/jobs/job_test_support.h"
#include "server/store/fake_stores.h"
#include "server/store/faulty_stores.h"

namespace wavetune {

class JobQueueFixture : public ::testing::Test {
 protected:
  JobQueueFixture()
      : device_({.facts = testing::H200(),
                 .latency_us = SyntheticLatency(&spec_, 64)}) {
    kernels_.Add(spec_);
    directory_.Attach(&device_);
    RememberDevice();
  }

  void RememberDevice() {
    ASSERT_TRUE(devices_.Put({.facts = device_.device()}).ok());
  }

  // Jobs that still run end before what a test of its own has goes: devices of
  // a fixture that derives from this one, say.
  void TearDown() override { queue_ = nullptr; }

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
    services.warn = Warn();
    return services;
  }

  std::function<void(const std::string&)> Warn() {
    return [this](const std::string& text) {
      std::lock_guard lock(warnings_mutex_);
      warnings_.push_back(text);
    };
  }

  // Starts a daemon's worth of jobs; an earlier one stops.
  JobQueue& StartQueue() {
    queue_ = nullptr;
    queue_ = std::make_unique<JobQueue>(Services());
    EXPECT_TRUE(queue_->Start().ok());
    return *queue_;
  }

  JobRecord Wait(JobQueue& queue, uint64_t id) { return WaitForEnd(queue, id); }

  JobRecord Run(JobQueue& queue, const ReprofileRequest& request = {}) {
    const auto jobs = queue.Reprofile(request);
    EXPECT_TRUE(jobs.ok()) << jobs.status();
    if (!jobs.ok()) return {};
    EXPECT_THAT(*jobs, ::testing::SizeIs(1));
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
  std::unique_ptr<JobQueue> queue_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_JOB_QUEUE_FIXTURE_H_
