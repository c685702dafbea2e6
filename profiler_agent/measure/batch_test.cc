// Prepare and measure batches on fake devices.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/throttling.h"
#include "profiler_agent/measure/candidate_failure.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/measure/fake_device.h"
#include "profiler_agent/measure/measure_batch.h"
#include "profiler_agent/measure/prepare_batch.h"
#include "profiler_agent/measure/tiny_kernel.h"

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::StartsWith;

const Configuration kA = {16, 8, 0};
const Configuration kB = {64, 8, 0};
const Configuration kC = {64, 32, 0};

Problem At(int64_t n, int64_t k, const std::string& specialisation = "plain") {
  return {.extents = {n, k}, .specialisation = specialisation};
}

class PrepareBatchTest : public ::testing::Test {
 protected:
  absl::Status Run(const std::vector<Device*>& devices) {
    return RunPrepareBatch(
        devices,
        {.kernel = kernel_,
         .configurations = configurations_,
         .correctness_problems = declared_},
        [this](size_t index, const Candidate& candidate) {
          EXPECT_TRUE(reported_.emplace(index, candidate).second);
          on_reported_();
          if (cancel_after_ == reported_.size()) cancel_.request_stop();
        },
        cancel_.get_token(), options_);
  }

  PrepareOptions options_;
  std::shared_ptr<FakeDeviceScript> script_ =
      std::make_shared<FakeDeviceScript>();
  FakeDevice first_{script_};
  FakeDevice second_{script_};
  LoadedKernel kernel_ = TinyKernel("fake");
  std::vector<Configuration> configurations_ = {kA, kB, kC};
  std::vector<Problem> declared_;
  std::map<size_t, Candidate> reported_;
  std::function<void()> on_reported_ = [] {};
  size_t cancel_after_ = 0;
  std::stop_source cancel_;
};

TEST_F(PrepareBatchTest, ReportsEveryConfigurationOnce) {
  ASSERT_TRUE(Run({&first_, &second_}).ok());
  ASSERT_EQ(reported_.size(), 3u);
  EXPECT_EQ(reported_[1].configuration, kB);
  EXPECT_EQ(first_.prepared().size() + second_.prepared().size(), 3u);
}

TEST_F(PrepareBatchTest, AFewDevicesStartAtATime) {
  std::mutex mutex;
  int starting = 0;
  int most = 0;
  int started = 0;
  script_->on_warm_up = [&](Device::Use use) {
    EXPECT_EQ(use, Device::Use::kPrepare);
    {
      const std::lock_guard lock(mutex);
      ++started;
      most = std::max(most, ++starting);
    }
    std::this_thread::yield();
    const std::lock_guard lock(mutex);
    --starting;
  };
  std::vector<std::unique_ptr<FakeDevice>> all;
  std::vector<Device*> devices;
  for (int i = 0; i < 3 * kMostStarting; ++i) {
    all.push_back(std::make_unique<FakeDevice>(script_));
    devices.push_back(all.back().get());
  }
  configurations_.assign(devices.size(), kA);
  ASSERT_TRUE(Run(devices).ok());
  EXPECT_EQ(reported_.size(), devices.size());
  EXPECT_GE(started, 1);
  EXPECT_LE(most, kMostStarting);
}

TEST_F(PrepareBatchTest, ADeviceDoesNotStartWhereNothingIsLeftByThen) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<FakeDevice>> all;
  std::vector<Device*> devices;
  int started = 0;
  size_t prepared = 0;
  // The first to start does all before the others have started.
  script_->on_warm_up = [&](Device::Use) {
    std::unique_lock lock(mutex);
    if (started++ == 0) return;
    changed.wait(lock, [&] { return prepared == configurations_.size(); });
  };
  on_reported_ = [&] {
    const std::lock_guard lock(mutex);
    ++prepared;
    changed.notify_all();
  };
  for (int i = 0; i < 3 * kMostStarting; ++i) {
    all.push_back(std::make_unique<FakeDevice>(script_));
    devices.push_back(all.back().get());
  }
  configurations_.assign(devices.size(), kA);
  ASSERT_TRUE(Run(devices).ok());
  EXPECT_EQ(reported_.size(), devices.size());
  EXPECT_LE(started, kMostStarting + 1);
}

TEST_F(PrepareBatchTest, ChecksEachCandidateAtTheEdgesOfItsOwnTiles) {
  kernel_.spec.correctness.emplace();
  declared_ = {At(40, 3)};
  ASSERT_TRUE(Run({&first_}).ok());
  EXPECT_EQ(first_.checked_at().at(kA),
            (std::vector<Problem>{At(40, 3), At(1, 1), At(15, 7), At(17, 9),
                                  At(1, 20)}));
  EXPECT_EQ(first_.checked_at().at(kC),
            (std::vector<Problem>{At(40, 3), At(1, 1), At(63, 31), At(65, 33),
                                  At(1, 80)}));
}

TEST_F(PrepareBatchTest, ChecksNoEdgesWhereThereIsNoReference) {
  declared_ = {At(40, 3)};
  ASSERT_TRUE(Run({&first_}).ok());
  EXPECT_EQ(first_.checked_at().at(kA), declared_);
}

TEST_F(PrepareBatchTest, ExcludesACandidateWithTheReasonAndGoesOn) {
  script_->prepare_errors[kB] = absl::DataLossError("error 0.5");
  ASSERT_TRUE(Run({&first_}).ok());
  ASSERT_EQ(reported_.size(), 3u);
  EXPECT_EQ(reported_[1].excluded_reason, "wrong result: error 0.5");
  EXPECT_EQ(reported_[1].configuration, kB);
  EXPECT_FALSE(reported_[2].excluded());
}

TEST_F(PrepareBatchTest, AnotherDeviceTakesOverFromOneThatIsLost) {
  auto broken = std::make_shared<FakeDeviceScript>();
  for (const Configuration& c : {kA, kB, kC}) {
    broken->prepare_errors[c] = absl::UnavailableError("gone");
  }
  FakeDevice lost(broken);
  ASSERT_TRUE(Run({&lost, &second_}).ok());
  EXPECT_EQ(reported_.size(), 3u);
}

TEST_F(PrepareBatchTest, EndsWhenEveryDeviceIsLost) {
  script_->on_call = [this](const Configuration& configuration) {
    if (configuration == kA) return;
    for (const Configuration& c : {kA, kB, kC}) {
      script_->prepare_errors[c] = absl::UnavailableError("gone");
    }
  };
  const absl::Status status = Run({&first_});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(reported_.size(), 1u);
}

TEST_F(PrepareBatchTest, ACandidateThatTakesTheDeviceAwayTwiceIsExcluded) {
  for (const Configuration& bad : {kA, kB}) {
    reported_.clear();
    script_->prepare_errors = {{bad, absl::UnavailableError("gone")}};
    FakeDevice device(script_);
    ASSERT_TRUE(Run({&device}).ok());
    ASSERT_EQ(reported_.size(), 3u);
    for (const auto& [index, candidate] : reported_) {
      EXPECT_EQ(candidate.excluded_reason,
                candidate.configuration == bad ? "device lost: gone" : "");
    }
    EXPECT_EQ(device.prepared().size(), 4u);
  }
}

TEST_F(PrepareBatchTest, WhatMayPassIsTriedAgainAndExcludedAtTheSecondTime) {
  script_->prepare_errors[kA] = absl::AbortedError("SIGSEGV");
  script_->prepare_errors[kB] = absl::InternalError("odd");
  script_->on_call = [this](const Configuration& configuration) {
    if (configuration == kC) script_->prepare_errors.erase(kB);
  };
  ASSERT_TRUE(Run({&first_}).ok());
  EXPECT_THAT(first_.prepared(), ElementsAre(kA, kB, kC, kA, kB));
  EXPECT_EQ(reported_[0].excluded_reason, "crashed: SIGSEGV");
  EXPECT_FALSE(reported_[1].excluded());
}

TEST_F(PrepareBatchTest, WhatRunsOutAloneTooIsTheEnvironmentsFault) {
  script_->prepare_errors[kA] = absl::ResourceExhaustedError("4 GiB");
  script_->prepare_errors[kB] = ExhaustedError(Resource::kKilled, "SIGKILL");
  std::map<size_t, std::string> environment;
  options_.on_environment = [&](size_t index, const std::string& reason) {
    EXPECT_TRUE(environment.emplace(index, reason).second);
  };
  ASSERT_TRUE(Run({&first_}).ok());
  EXPECT_THAT(reported_, ElementsAre(Key(2)));
  EXPECT_THAT(environment[0], StartsWith("out of memory: 4 GiB; give the "));
  EXPECT_THAT(environment[1], StartsWith("killed: SIGKILL; find out who "));
}

TEST_F(PrepareBatchTest, WhatRanOutBesideOthersIsTriedAgainWithTheirsEnded) {
  script_->prepare_errors[kA] = absl::ResourceExhaustedError("4 GiB");
  std::atomic<int> tries = 0;
  script_->on_call = [&](const Configuration& configuration) {
    if (configuration != kA || ++tries < 2) return;
    EXPECT_GT(first_.releases(), 0);
    EXPECT_GT(second_.releases(), 0);
    script_->prepare_errors.clear();
  };
  PrepareWidth width(2);
  options_.width = &width;
  ASSERT_TRUE(Run({&first_, &second_}).ok());
  EXPECT_EQ(tries, 2);
  for (const auto& [index, candidate] : reported_) {
    EXPECT_FALSE(candidate.excluded()) << candidate.excluded_reason;
  }
  EXPECT_EQ(reported_.size(), 3u);
  EXPECT_EQ(width.now(), 1u);
}

TEST_F(PrepareBatchTest, WhereNothingWorksAloneEitherTheRestIsNotTried) {
  for (const Configuration& c : {kA, kB, kC}) {
    script_->prepare_errors[c] = ExhaustedError(Resource::kDisk, "full");
  }
  size_t environment = 0;
  options_.on_environment = [&](size_t, const std::string& reason) {
    EXPECT_THAT(reason, StartsWith("out of disk space: full"));
    ++environment;
  };
  PrepareBatch batch{.kernel = TinyKernel("fake")};
  for (int i = 0; i < 4; ++i) {
    batch.configurations.insert(batch.configurations.end(), {kA, kB, kC});
  }
  ASSERT_TRUE(RunPrepareBatch(
                  std::vector<Device*>{&first_}, batch,
                  [](size_t, const Candidate&) { FAIL(); }, cancel_.get_token(),
                  options_)
                  .ok());
  EXPECT_EQ(environment, 12u);
  EXPECT_EQ(first_.prepared().size(), 6u);
}

TEST_F(PrepareBatchTest, FewerPrepareAtOnceAfterSomethingRanOut) {
  PrepareWidth width(8);
  options_.width = &width;
  script_->prepare_errors[kB] = absl::ResourceExhaustedError("4 GiB");
  ASSERT_TRUE(Run({&first_}).ok());
  EXPECT_EQ(width.now(), 4u);
  script_->prepare_errors.clear();
  reported_.clear();
  ASSERT_TRUE(Run({&first_, &second_}).ok());
  EXPECT_EQ(width.now(), 5u);
  for (int i = 0; i < 9; ++i) width.Grow();
  EXPECT_EQ(width.now(), 8u);
}

TEST_F(PrepareBatchTest, AWorkerThatCannotBeStartedIsNoCandidatesFault) {
  auto broken = std::make_shared<FakeDeviceScript>();
  for (const Configuration& c : {kA, kB, kC}) {
    broken->prepare_errors[c] =
        NotTried(absl::UnavailableError("Resource temporarily unavailable"));
  }
  FakeDevice lost(broken);
  ASSERT_TRUE(Run({&lost, &second_}).ok());
  EXPECT_EQ(reported_.size(), 3u);
  reported_.clear();
  const absl::Status status = Run({&lost});
  EXPECT_TRUE(IsDeviceLost(status)) << status;
  EXPECT_TRUE(reported_.empty());
}

TEST_F(PrepareBatchTest, ABrokenReferenceEndsTheBatchAndExcludesNobody) {
  for (const Configuration& c : {kA, kB, kC}) {
    script_->prepare_errors[c] = absl::UnimplementedError("no reference");
  }
  const absl::Status status = Run({&first_, &second_});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "no reference");
  EXPECT_TRUE(reported_.empty());
}

// It may have followed one of them out of its buffer.
TEST_F(PrepareBatchTest, ABrokenReferenceNamesTheIntegersThatNothingBounds) {
  script_->prepare_errors[kA] = absl::UnimplementedError("it crashed");
  configurations_ = {kA};
  kernel_.spec.arguments = {{.name = "table", .type = ElementType::kInt32},
                            {.name = "slots",
                             .type = ElementType::kInt64,
                             .below = Expression::Constant(8)},
                            {.name = "y",
                             .role = ArgumentRole::kOutput,
                             .type = ElementType::kInt32}};
  const absl::Status status = Run({&first_});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("it crashed (nothing bounds the integers of 'table', "
                        "so all of their bits are random"));
}

TEST_F(PrepareBatchTest, StopsWhenCancelled) {
  cancel_after_ = 1;
  EXPECT_EQ(Run({&first_}).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(reported_.size(), 1u);
}

TEST_F(PrepareBatchTest, RefusesAKernelThatTheDeviceCannotRun) {
  EXPECT_EQ(
      RunPrepareBatch(std::vector<Device*>{&first_},
                      {.kernel = TinyKernel("cuda"), .configurations = {kA}},
                      [](size_t, const Candidate&) { FAIL(); }, {})
          .code(),
      absl::StatusCode::kInvalidArgument);
}

class MeasureBatchTest : public ::testing::Test {
 protected:
  MeasureBatchTest() { script_->facts.memory_bytes = 0; }  // A processor.

  absl::Status Run(std::vector<MeasureItem> items) {
    MeasureBatch batch{.kernel = TinyKernel("fake"),
                       .items = std::move(items),
                       .rule = {.min_launches = 4, .max_launches = 16},
                       .sleep = [this](CoolDown::Duration, const auto&) {
                         ++pauses_;
                         on_pause_();
                       }};
    return RunMeasureBatch(
        device_, batch, history_,
        [this](const MeasureOutcome& outcome) {
          EXPECT_NE(outcome.sample == nullptr, outcome.failure.empty());
          order_.push_back(outcome.index);
          if (outcome.sample != nullptr) {
            samples_[outcome.index] = *outcome.sample;
          } else {
            failures_[outcome.index] = outcome;
          }
        },
        cancel_.get_token());
  }

  std::shared_ptr<FakeDeviceScript> script_ =
      std::make_shared<FakeDeviceScript>();
  FakeDevice device_{script_};
  PowerCapHistory history_;
  std::vector<size_t> order_;
  std::map<size_t, Sample> samples_;
  std::map<size_t, MeasureOutcome> failures_;
  int pauses_ = 0;
  std::function<void()> on_pause_ = [] {};
  std::stop_source cancel_;
};

void Throttle(LaunchTimes& times) {
  times.throttled = true;
  times.throttle_reasons = 0x20;
  times.sm_clock_mhz = 900;
  for (double& us : times.launch_us) us *= 2;
}

TEST_F(MeasureBatchTest, MeasuresAThrottledTurnAgainAfterAPause) {
  script_->on_times = [](int burst, LaunchTimes& times) {
    if (burst == 2 || burst == 3) Throttle(times);
  };
  ASSERT_TRUE(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).ok());
  EXPECT_EQ(pauses_, 2);
  for (const auto& [index, sample] : samples_) {
    EXPECT_DOUBLE_EQ(sample.latency_us, 100);
    EXPECT_FALSE(sample.suspect);
  }
}

TEST_F(MeasureBatchTest, WhatStaysThrottledIsASuspectSampleInTheEnd) {
  script_->on_times = [](int, LaunchTimes& times) { Throttle(times); };
  ASSERT_TRUE(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).ok());
  ASSERT_EQ(samples_.size(), 2u);
  for (const auto& [index, sample] : samples_) {
    EXPECT_DOUBLE_EQ(sample.latency_us, 200);
    EXPECT_TRUE(sample.suspect);
    EXPECT_TRUE(sample.throttled);
    EXPECT_EQ(sample.sm_clock_mhz, 900);
    EXPECT_EQ(sample.throttle_reasons, 0x20U);
  }
  EXPECT_EQ(device_.measured().size(), 8u);
}

TEST_F(MeasureBatchTest, CancellingEndsAPauseAndTheBatch) {
  script_->on_times = [](int, LaunchTimes& times) { Throttle(times); };
  on_pause_ = [this] { cancel_.request_stop(); };
  EXPECT_EQ(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(pauses_, 1);
  EXPECT_THAT(order_, IsEmpty());
}

TEST_F(MeasureBatchTest, MeasuresEveryItem) {
  script_->latency_us = [](const Configuration& c, const Problem&, int) {
    return static_cast<double>(c[0]);
  };
  ASSERT_TRUE(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).ok());
  ASSERT_EQ(samples_.size(), 2u);
  EXPECT_DOUBLE_EQ(samples_[0].latency_us, 16);
  EXPECT_DOUBLE_EQ(samples_[1].latency_us, 64);
  EXPECT_GE(samples_[1].launches, 4);
}

TEST_F(MeasureBatchTest, MeasuresInTurns) {
  ASSERT_TRUE(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).ok());
  EXPECT_THAT(std::vector<Configuration>(device_.measured().begin(),
                                         device_.measured().begin() + 4),
              ElementsAre(kA, kB, kA, kB));
}

TEST_F(MeasureBatchTest, ADisturbedTurnDoesNotDecideAComparison) {
  // The first turn of everything falls into a slow moment, of equal launches:
  // its narrow interval alone would look like a good measurement.
  script_->latency_us = [this](const Configuration& c, const Problem&, int) {
    return static_cast<double>(c[0] * 10) *
           (device_.measured().size() <= 2 ? 2 : 1);
  };
  ASSERT_TRUE(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).ok());
  EXPECT_EQ(device_.measured().size(), 16u);
  EXPECT_EQ(samples_[0].launches, 16);
  EXPECT_DOUBLE_EQ(samples_[0].latency_us, 160);
  EXPECT_DOUBLE_EQ(samples_[1].latency_us, 640);
}

TEST_F(MeasureBatchTest, ShortLaunchesAreMoreInAsManyTurns) {
  script_->latency_us = [](const Configuration&, const Problem&, int launch) {
    return launch % 3 == 0 ? 12.0 : 8.0;  // Never the target.
  };
  ASSERT_TRUE(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).ok());
  EXPECT_GT(samples_[0].launches, 16);
  EXPECT_LE(samples_[0].launches, 8 * 16);
  EXPECT_LE(device_.measured().size(), 2 * 16u);
}

TEST_F(MeasureBatchTest, AnAcceleratorNeedsFewerTurns) {
  script_->facts.memory_bytes = int64_t{1} << 30;
  ASSERT_TRUE(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).ok());
  EXPECT_EQ(device_.measured().size(), 6u);
  EXPECT_GE(samples_[0].launches, 4);
}

TEST_F(MeasureBatchTest, AnAcceleratorTakesTheLightestLevelFirst) {
  script_->facts.memory_bytes = int64_t{1} << 30;
  // Without buffers a level goes with the iterations alone.
  std::vector<int64_t> extents;
  script_->latency_us = [&](const Configuration&, const Problem& problem, int) {
    if (extents.empty() || extents.back() != problem.extents[1]) {
      extents.push_back(problem.extents[1]);
    }
    return 100.0;
  };
  ASSERT_TRUE(
      Run({{kA, At(64, 4096)}, {kA, At(64, 64)}, {kB, At(64, 4096)}}).ok());
  EXPECT_THAT(extents, ElementsAre(64, 4096));
  EXPECT_THAT(order_, ElementsAre(1, 0, 2));
}

TEST_F(MeasureBatchTest, AtThePowerLimitLatenciesAreOfOneClock) {
  script_->facts.memory_bytes = int64_t{1} << 30;
  // Full clocks at first; then, at the limit, now more, now less.
  script_->on_times = [](int burst, LaunchTimes& times) {
    times.sm_clock_mhz = burst < 10 ? 1980 : burst % 2 == 0 ? 1400 : 1410;
    for (double& us : times.launch_us) us = 1500e3 / times.sm_clock_mhz;
  };
  ASSERT_TRUE(Run({{kB, At(64, 64)}, {kC, At(64, 64)}}).ok());
  ASSERT_EQ(samples_.size(), 2u);
  for (const auto& [index, sample] : samples_) {
    EXPECT_NEAR(sample.sm_clock_mhz, 1405, 8);
    EXPECT_NEAR(sample.latency_us, 1500e3 / sample.sm_clock_mhz, 0.5);
    EXPECT_LT(sample.relative_spread, 1e-9);
    // What found out the clock took device time, too.
    EXPECT_GT(sample.device_time_us, 50e3);
  }
  EXPECT_THAT(device_.measured(),
              Contains(TinyKernel("fake").spec.default_configuration));
}

TEST_F(MeasureBatchTest, ADefaultThatFailsLeavesItsLevelUntried) {
  script_->facts.memory_bytes = int64_t{1} << 30;
  script_->on_times = [](int, LaunchTimes& times) {
    times.sm_clock_mhz = 1980;
  };
  const Configuration by_default =
      TinyKernel("fake").spec.default_configuration;
  for (const absl::Status& status :
       {absl::AbortedError("SIGSEGV"), absl::NotFoundError("not recorded")}) {
    script_->measure_errors[by_default] = status;
    ASSERT_TRUE(Run({{kB, At(64, 64)}}).ok());
    EXPECT_EQ(samples_.size(), 1u);
    EXPECT_THAT(failures_, IsEmpty());
    samples_.clear();
  }
}

TEST_F(MeasureBatchTest, MeasuresAVendorBaselineInTurnsWithCandidates) {
  script_->peer_us["lib"] = 400;
  ASSERT_TRUE(Run({{kA, At(64, 64)},
                   {.problem = At(64, 64), .vendor_baseline = "lib"},
                   {.problem = At(64, 64), .vendor_baseline = "other"}})
                  .ok());
  EXPECT_DOUBLE_EQ(samples_[1].latency_us, 400);
  EXPECT_EQ(samples_[1].launches, samples_[0].launches);
  EXPECT_THAT(failures_[2].failure, HasSubstr("has no library 'other'"));
  EXPECT_FALSE(failures_[2].exclude_candidate);
}

TEST_F(MeasureBatchTest, LaunchesOfAGroupAllCostTime) {
  script_->launches_per_timing = 10;
  script_->latency_us = [](const Configuration&, const Problem&, int) {
    return 100.0;
  };
  ASSERT_TRUE(Run({{kA, At(64, 64)}}).ok());
  EXPECT_DOUBLE_EQ(samples_[0].latency_us, 100);
  EXPECT_GE(samples_[0].device_time_us, samples_[0].launches * 1000);
}

TEST_F(MeasureBatchTest, ALongKernelIsMeasuredOnlyAsOftenAsItsTimeAllows) {
  script_->latency_us = [](const Configuration&, const Problem&, int) {
    return 25e3;
  };
  ASSERT_TRUE(Run({{kA, At(64, 64)}}).ok());
  EXPECT_EQ(samples_[0].launches, 2);
  EXPECT_EQ(device_.measured().size(), 1u);
}

TEST_F(MeasureBatchTest, AnExcludedCandidateIsNotLaunchedAgain) {
  script_->measure_errors[kA] = absl::AbortedError("SIGSEGV");
  ASSERT_TRUE(
      Run({{kA, At(64, 64)}, {kB, At(64, 64)}, {kA, At(128, 64)}}).ok());
  EXPECT_EQ(failures_[0].failure, "crashed: SIGSEGV");
  EXPECT_TRUE(failures_[0].exclude_candidate);
  EXPECT_EQ(failures_[2].failure, "crashed: SIGSEGV");
  EXPECT_EQ(samples_.size(), 1u);
  EXPECT_THAT(device_.measured(), Contains(kB).Times(8));
  EXPECT_THAT(device_.measured(), Contains(kA).Times(1));
}

TEST_F(MeasureBatchTest, AProblemThatDoesNotFitIsNotTheCandidatesFault) {
  script_->measure_errors[kA] = absl::ResourceExhaustedError("too big");
  ASSERT_TRUE(Run({{kA, At(64, 64)}, {kA, At(128, 64)}}).ok());
  EXPECT_FALSE(failures_[0].exclude_candidate);
  EXPECT_EQ(device_.measured().size(), 2u);
}

TEST_F(MeasureBatchTest, WhereEverythingRunsOutTheRestIsNotTried) {
  for (const Configuration& c : {kA, kB}) {
    script_->measure_errors[c] = ExhaustedError(Resource::kMemory, "1 GiB");
  }
  std::vector<MeasureItem> items;
  for (int64_t n = 1; n <= 10; ++n) {
    items.push_back({kA, At(64 * n, 64)});
    items.push_back({kB, At(64 * n, 64, "causal")});
  }
  ASSERT_TRUE(Run(items).ok());
  EXPECT_EQ(failures_.size(), items.size());
  for (const auto& [index, outcome] : failures_) {
    EXPECT_THAT(outcome.failure, StartsWith("out of memory: 1 GiB"));
    EXPECT_FALSE(outcome.exclude_candidate);
  }
  EXPECT_EQ(device_.measured().size(), 8u);
}

TEST_F(MeasureBatchTest, WhatRunsOutNowAndThenStopsNothing) {
  script_->measure_errors[kA] = ExhaustedError(Resource::kMemory, "1 GiB");
  std::vector<MeasureItem> items;
  for (int64_t n = 1; n <= 20; ++n) {
    items.push_back({kA, At(64 * n, 64)});
    items.push_back({kB, At(64 * n, 64)});
  }
  ASSERT_TRUE(Run(items).ok());
  EXPECT_EQ(samples_.size(), 20u);
  EXPECT_THAT(device_.measured(), Contains(kA).Times(20));
}

TEST_F(MeasureBatchTest, EndsWhenTheDeviceIsLost) {
  script_->measure_errors[kA] = absl::UnavailableError("gone");
  EXPECT_EQ(Run({{kB, At(64, 64)}, {kA, At(64, 64)}, {kC, At(64, 64)}}).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_THAT(order_, IsEmpty());
}

TEST_F(MeasureBatchTest, CancellingStopsAfterTheRunningBurst) {
  script_->on_call = [this](const Configuration&) { cancel_.request_stop(); };
  EXPECT_EQ(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).code(),
            absl::StatusCode::kCancelled);
  EXPECT_THAT(order_, IsEmpty());
  EXPECT_EQ(device_.measured().size(), 1u);
}

TEST_F(MeasureBatchTest, WhatMeetsTheRuleIsReportedWhenCancelled) {
  // Two items in turns, two launches each: the rule's four after two turns.
  script_->on_call = [this](const Configuration&) {
    if (device_.measured().size() == 9) cancel_.request_stop();
  };
  EXPECT_EQ(Run({{kA, At(64, 64)}, {kB, At(64, 64)}}).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(samples_.size(), 2u);
  EXPECT_LT(samples_[0].launches, 16);
}

TEST_F(MeasureBatchTest, ALongBatchReportsOnItsWay) {
  size_t before_first = 0;
  MeasureBatch batch{.kernel = TinyKernel("fake"), .items = {}, .rule = {}};
  for (int64_t k = 1; k <= 200; ++k) {
    batch.items.push_back({kA, At(64, k)});
  }
  const auto on_outcome = [&](const MeasureOutcome&) {
    if (before_first == 0) before_first = device_.measured().size();
  };
  ASSERT_TRUE(
      RunMeasureBatch(device_, batch, history_, on_outcome, cancel_.get_token())
          .ok());
  EXPECT_EQ(before_first, 7u * 128 + 1);
}

TEST_F(MeasureBatchTest, LoadsEachSpecialisationOnce) {
  ASSERT_TRUE(Run({{kA, At(64, 64, "plain")},
                   {kA, At(64, 64, "causal")},
                   {kB, At(64, 64, "plain")}})
                  .ok());
  EXPECT_EQ(samples_.size(), 3u);
  ASSERT_EQ(device_.loaded().size(), 2u);
  EXPECT_EQ(device_.loaded()[0].specialisation, "causal");
  EXPECT_EQ(device_.loaded()[1].specialisation, "plain");
}

TEST_F(MeasureBatchTest, AnIllegalProblemNamesItself) {
  ASSERT_TRUE(Run({{{16, 8, 1}, At(63, 64)}}).ok());
  EXPECT_THAT(failures_[0].failure, HasSubstr("n=63"));
  EXPECT_FALSE(failures_[0].exclude_candidate);
}

}  // namespace
}  // namespace wavetune
