#include "server/jobs/device_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/load_level.h"
#include "model/kernel/throttling.h"
#include "model/testing/kernels.h"
#include "server/jobs/fake_measurement_executor.h"
#include "server/jobs/job_test_support.h"
#include "server/store/fake_stores.h"

namespace wavetune {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Uuid(int device) { return absl::StrCat("GPU-", device); }

// A team of devices that answer from a function.
class DeviceTeamTest : public ::testing::Test {
 protected:
  void Attach(int devices) {
    for (int device = 1; device <= devices; ++device) {
      DeviceFacts facts = testing::H200();
      facts.uuid = Uuid(device);
      devices_[facts.uuid] = std::make_unique<FakeMeasurementExecutor>(
          FakeMeasurementExecutor::Options{
              .facts = facts, .latency_us = SyntheticLatency(&spec_, 64)});
      directory_.Attach(devices_[facts.uuid].get());
    }
  }

  FakeMeasurementExecutor& Device(int device) {
    return *devices_.at(Uuid(device));
  }

  DeviceTeam& Team(bool whole_class = true) {
    kernels_.Add(spec_);
    const DeviceFacts facts = Device(1).device();
    const auto kernel = kernels_.Get(spec_.name, facts).value();
    JobRecord record{.kernel = spec_.name,
                     .device_uuid = facts.uuid,
                     .whole_class = whole_class};
    record.key = {spec_.name, kernel->files.fingerprint, SiliconKey(facts),
                  EnvironmentKey(facts)};
    record.generation = 1;
    services_.samples = &samples_;
    services_.jobs = &jobs_;
    services_.executors = &directory_;
    services_.clock = &clock_;
    services_.start_thread = [this](std::function<void()> run) {
      ++threads_;
      return std::thread(std::move(run));
    };
    services_.device_rated = [this](const JobRecord&, const std::string& uuid,
                                    const DeviceRatio& ratio) {
      told_[uuid] = ratio;
    };
    record = jobs_.Create(record).value();
    control_ =
        std::make_unique<JobControl>(record, &jobs_, [](const std::string&) {});
    team_ = std::make_unique<DeviceTeam>(services_, control_.get());
    EXPECT_TRUE(team_->Acquire().ok());
    team_->Bind(kernel, record.key, 1);
    return *team_;
  }

  // Every configuration at some problems.
  std::vector<MeasureItem> Items(int problems) const {
    std::vector<MeasureItem> items;
    for (int64_t i = 1; i <= problems; ++i) {
      for (const Configuration& c : EnumerateConfigurations(spec_)) {
        items.push_back({c, {.extents = {64 * i, 512, 512}}});
      }
    }
    return items;
  }

  // Measures, and expects every item to have a result.
  void ExpectAllMeasured(DeviceTeam& team,
                         const std::vector<MeasureItem>& items,
                         KeepTogether together = KeepTogether::kNothing) {
    const auto results = team.Measure(items, together);
    ASSERT_TRUE(results.ok()) << results.status();
    for (size_t i = 0; i < items.size(); ++i) {
      const auto& sample = (*results)[i].sample;
      ASSERT_TRUE(sample.has_value()) << i << ": " << (*results)[i].failure;
      EXPECT_EQ(sample->problem, items[i].problem);
      EXPECT_EQ(sample->configuration, items[i].configuration);
    }
  }

  int64_t MeasuredInAll() const {
    int64_t all = 0;
    for (const auto& [uuid, device] : devices_) all += device->measured();
    return all;
  }

  const KernelSpec spec_ = JobTestSpec();
  std::map<std::string, std::unique_ptr<FakeMeasurementExecutor>> devices_;
  FakeExecutorDirectory directory_;
  FakeSampleStore samples_;
  FakeJobStore jobs_;
  FakeKernelCatalog kernels_;
  FakeClock clock_;
  JobServices services_;
  std::atomic<int> threads_ = 0;
  std::map<std::string, DeviceRatio> told_;
  std::unique_ptr<JobControl> control_;
  std::unique_ptr<DeviceTeam> team_;
};

TEST_F(DeviceTeamTest, OneDeviceMeasuresOnTheJobsOwnThread) {
  Attach(1);
  const std::vector<MeasureItem> items = Items(3);
  ExpectAllMeasured(Team(), items);
  EXPECT_EQ(threads_, 0);
  EXPECT_EQ(Device(1).items(), items) << "as they were given";
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(DeviceTeamTest, AJobForOneDeviceLeavesTheOthersAlone) {
  Attach(2);
  ExpectAllMeasured(Team(/*whole_class=*/false), Items(3));
  EXPECT_EQ(threads_, 0);
  EXPECT_EQ(Device(2).measured(), 0);
}

TEST_F(DeviceTeamTest, EightDevicesShareTheItemsAndMeasureTheCommonSetEach) {
  Attach(8);
  const std::vector<MeasureItem> items = Items(20);
  ExpectAllMeasured(Team(), items);
  const auto common = static_cast<int64_t>(kCommonPairs);
  EXPECT_EQ(MeasuredInAll(), static_cast<int64_t>(items.size()) + 7 * common);
  EXPECT_THAT(told_, SizeIs(8));
  const JobRecord job = control_->record();
  EXPECT_THAT(job.device_uuids, SizeIs(8));
  EXPECT_EQ(job.samples, MeasuredInAll());
}

TEST_F(DeviceTeamTest, CandidatesOfAComparisonAreMeasuredOnOneDevice) {
  Attach(2);
  DeviceTeam& team = Team();
  ExpectAllMeasured(team, Items(1));
  std::map<Problem, std::set<std::string>> measured_on;
  const std::vector<MeasureItem> items = Items(9);
  ExpectAllMeasured(team, items, KeepTogether::kProblem);
  const SampleSet stored = samples_.Load(control_->record().key, 1).value();
  // The second call's samples are the last of each device.
  for (auto it = stored.samples.rbegin();
       it != stored.samples.rbegin() + static_cast<ptrdiff_t>(items.size());
       ++it) {
    measured_on[it->sample.problem].insert(it->device_uuid);
  }
  for (const auto& [problem, devices] : measured_on) {
    EXPECT_THAT(devices, SizeIs(1));
  }
}

TEST_F(DeviceTeamTest,
       OneDeviceBeginsWithLightProblemsAndTheOtherWithHeavyOnes) {
  Attach(2);
  DeviceTeam& team = Team();
  ExpectAllMeasured(team, Items(1));  // The common set.
  const std::vector<int64_t> before = {Device(1).measured(),
                                       Device(2).measured()};
  std::atomic<bool> begun[2] = {false, false};
  for (const int device : {0, 1}) {
    Device(device + 1).OnReport([&begun, device] {
      begun[device] = true;
      while (!begun[1 - device]) std::this_thread::yield();
    });
  }
  const std::vector<MeasureItem> items = Items(8);
  ExpectAllMeasured(team, items);
  const auto level = [this](const MeasureItem& item) {
    return LoadLevel(spec_, item.problem);
  };
  const auto by_level = [&](const MeasureItem& a, const MeasureItem& b) {
    return level(a) < level(b);
  };
  const auto [lightest, heaviest] =
      std::minmax_element(items.begin(), items.end(), by_level);
  EXPECT_EQ(level(Device(1).items()[static_cast<size_t>(before[0])]),
            level(*lightest));
  EXPECT_EQ(level(Device(2).items()[static_cast<size_t>(before[1])]),
            level(*heaviest));
}

TEST_F(DeviceTeamTest, ADeviceThatWouldBeIdleGoesOnWithFurtherItems) {
  Attach(2);
  DeviceTeam& team = Team();
  ExpectAllMeasured(team, Items(1));  // The common set.
  // The second keeps its first item until further ones were asked for.
  const std::vector<MeasureItem> items = Items(4);
  const std::vector<MeasureItem> further = Items(9);
  const auto all = static_cast<int64_t>(items.size() + further.size());
  std::atomic<int> given = 0;
  std::atomic<int64_t> done = 0;
  std::atomic<bool> held = false;
  Device(1).OnReport([&] {
    while (!held) std::this_thread::yield();
  });
  Device(2).OnReport([&] {
    held = true;
    while (given == 0) std::this_thread::yield();
  });
  std::vector<int> heard(static_cast<size_t>(all));
  const auto results = team.Measure(
      items, KeepTogether::kNothing,
      [&](size_t index, const DeviceTeam::Result& result) {
        const MeasureItem& item =
            index < items.size() ? items[index] : further[index - items.size()];
        EXPECT_EQ(result.sample->problem, item.problem);
        EXPECT_EQ(result.sample->configuration, item.configuration);
        ++heard[index];
        ++done;
      },
      [&]() -> DeviceTeam::Batch {
        if (given++ > 0) return {};
        EXPECT_LT(done, static_cast<int64_t>(items.size()));
        return {further, KeepTogether::kProblem};
      });
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(*results, SizeIs(static_cast<size_t>(all)));
  EXPECT_THAT(heard, Each(1));
}

TEST_F(DeviceTeamTest, SamplesAreHandedOnAtTheClasssSpeedAndStoredRaw) {
  Attach(2);
  Device(2).SetSlower(1.04);
  DeviceTeam& team = Team();
  const LatencyFunction latency = SyntheticLatency(&spec_, 64);
  std::vector<double> errors;
  const auto results = team.Measure(
      Items(10), KeepTogether::kNothing,
      [&](size_t, const DeviceTeam::Result& result) {
        const Sample& sample = result.sample.value();
        errors.push_back(sample.latency_us /
                             latency(sample.configuration, sample.problem) -
                         1);
      });
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(errors, Each(::testing::DoubleNear(0, 1e-9)));
  EXPECT_NEAR(told_.at(Uuid(2)).ratio, 1.04, 1e-9);
  const SampleSet stored = samples_.Load(control_->record().key, 1).value();
  bool raw = false;
  for (const SampleRecord& record : stored.samples) {
    if (record.device_uuid != Uuid(2)) continue;
    raw = true;
    EXPECT_NEAR(
        record.sample.latency_us,
        1.04 * latency(record.sample.configuration, record.sample.problem),
        1e-9);
  }
  EXPECT_TRUE(raw);
}

TEST_F(DeviceTeamTest, ADeviceThatDeviatesIsLeftOutAndTold) {
  Attach(3);
  Device(3).SetSlower(1.2);
  DeviceTeam& team = Team();
  ExpectAllMeasured(team, Items(10));
  EXPECT_TRUE(told_.at(Uuid(3)).deviates());
  EXPECT_FALSE(told_.at(Uuid(1)).deviates());
  EXPECT_EQ(Device(3).measured(), static_cast<int64_t>(kCommonPairs));
  ExpectAllMeasured(team, Items(10));
  EXPECT_EQ(Device(3).measured(), static_cast<int64_t>(kCommonPairs))
      << "not asked again";
}

TEST_F(DeviceTeamTest, ADeviceThatCompilesAloneStaysWithItsJob) {
  Attach(1);
  DeviceTeam& team = Team();
  std::vector<Configuration> configurations;
  for (int64_t i = 1; i <= 600; ++i) configurations.push_back({i, i});
  std::thread other;
  Device(1).OnReport([&] {
    if (Device(1).prepared() != 1) return;
    other = std::thread([&] {
      const auto lease = services_.leases->Take(
          Uuid(1), 99, [](uint64_t) { return absl::OkStatus(); });
      EXPECT_EQ(Device(1).prepared(), 600);
    });
  });
  EXPECT_TRUE(team.Prepare("", configurations, {},
                           [](CandidateRecord&) { std::this_thread::yield(); })
                  .ok());
  other.join();
}

TEST_F(DeviceTeamTest, ADeviceThatComesWhileOneCompilesCompilesTheRest) {
  Attach(2);
  directory_.Detach(Uuid(2));
  DeviceTeam& team = Team();
  std::vector<Configuration> configurations;
  for (int64_t i = 1; i <= 400; ++i) configurations.push_back({i, i});
  Device(1).OnReport([this] {
    directory_.Attach(&Device(2));
    if (Device(1).prepared() < 256) return;
    while (Device(2).prepared() == 0) std::this_thread::yield();
  });
  int heard = 0;
  EXPECT_TRUE(
      team.Prepare("", configurations, {}, [&](CandidateRecord&) { ++heard; })
          .ok());
  EXPECT_EQ(heard, 400);
  EXPECT_EQ(Device(1).prepared() + Device(2).prepared(), 400);
}

TEST_F(DeviceTeamTest, ADeviceThatCannotBeComparedIsLeftOutAndTold) {
  Attach(3);
  DeviceTeam& team = Team();
  Device(3).LoseAfter(3);
  for (int call = 0; call < 4; ++call) ExpectAllMeasured(team, Items(10));
  Device(3).Restore();
  ExpectAllMeasured(team, Items(10));
  EXPECT_EQ(Device(3).measured(), 3);
  ASSERT_TRUE(told_.contains(Uuid(3)));
  EXPECT_FALSE(told_.at(Uuid(3)).known());
  EXPECT_TRUE(told_.at(Uuid(1)).known());
}

TEST_F(DeviceTeamTest, ADeviceThatGivesNoSampleIsTold) {
  Attach(3);
  DeviceTeam& team = Team();
  Device(3).LoseAfter(0);
  for (int call = 0; call < 4; ++call) ExpectAllMeasured(team, Items(10));
  EXPECT_EQ(Device(3).measured(), 0);
  ASSERT_TRUE(told_.contains(Uuid(3)));
  EXPECT_EQ(told_.at(Uuid(3)).pairs, 0);
}

TEST_F(DeviceTeamTest, ABusyDeviceCostsNothing) {
  Attach(2);
  Device(2).SetBusy("GPU-2 is used by 2 other processes");
  ExpectAllMeasured(Team(), Items(10));
  EXPECT_EQ(Device(2).measured(), 0);
}

TEST_F(DeviceTeamTest, ADeviceThatBecomesHotGivesBackWhatItHasNotMeasured) {
  Attach(2);
  Device(1).OnReport([this] {
    // Fakes are so fast that one would do it all.
    if (Device(1).measured() < static_cast<int64_t>(kCommonPairs)) return;
    while (Device(2).measured() < 20) std::this_thread::yield();
  });
  Device(2).OnReport([this] {
    if (Device(2).measured() == 20) Device(2).SetHot("it is hot: 86 °C");
  });
  const std::vector<MeasureItem> items = Items(20);
  ExpectAllMeasured(Team(), items);
  EXPECT_EQ(Device(2).measured(), 20);
  EXPECT_EQ(MeasuredInAll(), static_cast<int64_t>(items.size() + kCommonPairs))
      << "nothing is measured twice";
}

TEST_F(DeviceTeamTest, ADeviceThatIsLostGivesBackWhatItHasNotMeasured) {
  Attach(2);
  Device(2).LoseAfter(20);
  Device(1).OnReport([this] {
    // Fakes are so fast that one would do it all.
    if (Device(1).measured() < static_cast<int64_t>(kCommonPairs)) return;
    while (Device(2).measured() < 20) std::this_thread::yield();
  });
  ExpectAllMeasured(Team(), Items(20));
  EXPECT_EQ(Device(2).measured(), 20);
}

TEST_F(DeviceTeamTest, ADeviceThatComesLateMeasuresTheCommonSetFirst) {
  Attach(3);
  Device(3).SetBusy("used by others");
  DeviceTeam& team = Team();
  ExpectAllMeasured(team, Items(10));
  Device(3).SetBusy("");
  Device(3).SetSlower(1.2);
  ExpectAllMeasured(team, Items(10));
  EXPECT_TRUE(told_.at(Uuid(3)).deviates());
  EXPECT_EQ(Device(3).measured(), static_cast<int64_t>(kCommonPairs));
}

TEST_F(DeviceTeamTest, ANewcomerThatIsLeftAloneMeasuresTheCommonSetFirst) {
  for (const int before : {1, 2}) {
    SCOPED_TRACE(before);
    Attach(3);
    directory_.Detach(Uuid(3));
    if (before == 1) directory_.Detach(Uuid(2));
    DeviceTeam& team = Team();
    ExpectAllMeasured(team, Items(10));
    directory_.Detach(Uuid(1));
    directory_.Detach(Uuid(2));
    Device(3).SetSlower(1.04);
    directory_.Attach(&Device(3));
    const std::vector<MeasureItem> items = Items(12);
    const LatencyFunction latency = SyntheticLatency(&spec_, 64);
    const auto results = team.Measure(items, KeepTogether::kNothing);
    ASSERT_TRUE(results.ok()) << results.status();
    for (const DeviceTeam::Result& result : *results) {
      const Sample& sample = result.sample.value();
      EXPECT_NEAR(sample.latency_us,
                  latency(sample.configuration, sample.problem), 1e-9);
    }
    EXPECT_EQ(Device(3).measured(),
              static_cast<int64_t>(items.size() + kCommonPairs));
  }
}

TEST_F(DeviceTeamTest, ANewcomerThatIsBusyIsToldOfAndWaitedFor) {
  Attach(2);
  directory_.Detach(Uuid(2));
  DeviceTeam& team = Team();
  ExpectAllMeasured(team, Items(1));
  directory_.Detach(Uuid(1));
  directory_.Attach(&Device(2));
  Device(2).SetBusy("used by 2 other processes");
  std::string said;
  Device(2).OnAwaitIdle([&](bool busy) {
    said += control_->record().waits_for;
    if (busy && clock_.sleeps().size() > 3600) Device(2).SetBusy("");
  });
  ExpectAllMeasured(team, Items(2));
  EXPECT_THAT(said, HasSubstr("GPU-2: used by 2 other processes"));
  EXPECT_TRUE(told_.at(Uuid(2)).known());
}

TEST_F(DeviceTeamTest, WhereAllAreHotTheJobSaysForHowLongAndGivesUp) {
  Attach(2);
  Device(1).SetHot("it is hot: 86 °C, hardware thermal slowdown for 42 s");
  Device(2).SetBusy("used by others");
  DeviceTeam& team = Team();
  std::string said;
  Device(2).OnAwaitIdle([&](bool busy) {
    const JobRecord job = control_->record();
    if (!busy || job.waits_for.empty()) return;
    said = job.waits_for;
    EXPECT_EQ(job.phase, JobPhase::kWaiting);
    EXPECT_GT(job.waits_since_us, 0);
    Device(2).SetBusy("");
    Device(2).SetHot("it is hot: 90 °C");
  });
  const auto results = team.Measure(Items(1), KeepTogether::kProblem);
  EXPECT_THAT(said, HasSubstr("GPU-1: it is hot: 86 °C"));
  EXPECT_THAT(said, HasSubstr("GPU-2: used by others"));
  EXPECT_EQ(results.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(results.status().message()),
              HasSubstr("look at their cooling"));
  EXPECT_EQ(control_->record().waits_for, "");
}

TEST_F(DeviceTeamTest, OneHotDeviceAloneIsWaitedForAndSaysUntilWhen) {
  Attach(1);
  Device(1).SetHot("it is hot: 86 °C, hardware thermal slowdown for 42 s");
  DeviceTeam& team = Team();
  std::string said;
  const auto watch = control_->Subscribe([&](const JobRecord& job) {
    if (!job.waits_for.empty()) said = job.waits_for;
    if (clock_.sleeps().size() >= 100) Device(1).SetHot("");
  });
  ExpectAllMeasured(team, Items(1));
  EXPECT_THAT(said, HasSubstr("waiting for device GPU-1 to cool: it is hot: 86 "
                              "°C, hardware thermal slowdown for 42 s; gives "
                              "up in 9 min"));
}

TEST_F(DeviceTeamTest, TheBudgetIsOfAllDevicesTogether) {
  Attach(4);
  DeviceTeam& team = Team();
  // Much more than four samples take: each device ends with the one that it is
  // at.
  constexpr double kLimitUs = 100'000;
  team.SetDeviceTimeLimit(kLimitUs);
  const std::vector<MeasureItem> items = Items(200);
  const auto results = team.Measure(items, KeepTogether::kNothing);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_TRUE(team.budget_spent());
  EXPECT_LT(MeasuredInAll(), static_cast<int64_t>(items.size()));
  double longest_us = 0;
  for (const auto& result : *results) {
    if (!result.sample) continue;
    longest_us = std::max(longest_us, result.sample->device_time_us);
  }
  EXPECT_LT(control_->record().device_time_us, kLimitUs + 4 * longest_us);
}

TEST_F(DeviceTeamTest, ADeviceThatAnotherJobUsesIsLeftToIt) {
  Attach(2);
  const DeviceLease lease = services_.leases->TryTake(Uuid(2), 77);
  ExpectAllMeasured(Team(), Items(10));
  EXPECT_EQ(Device(2).measured(), 0);
}

TEST_F(DeviceTeamTest, ACancelledJobEndsOnAllDevices) {
  Attach(2);
  DeviceTeam& team = Team();
  Device(1).OnReport([this] {
    if (Device(1).measured() == 20) control_->Cancel(1);
  });
  const auto results = team.Measure(Items(200), KeepTogether::kNothing);
  EXPECT_TRUE(absl::IsCancelled(results.status())) << results.status();
}

TEST_F(DeviceTeamTest, WithoutThreadsTheJobsOwnMeasures) {
  Attach(2);
  DeviceTeam& team = Team();
  services_.start_thread = [](const std::function<void()>&) -> std::thread {
    throw std::system_error(
        std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  ExpectAllMeasured(team, Items(10));
}

TEST_F(DeviceTeamTest, CandidatesArePreparedOnceEachOnSomeDevice) {
  Attach(2);
  DeviceTeam& team = Team();
  std::multiset<Configuration> prepared;
  const std::vector<Configuration> all = EnumerateConfigurations(spec_);
  Device(2).LoseAfter(3);
  ASSERT_TRUE(team.Prepare("", all, {},
                           [&](CandidateRecord& record) {
                             prepared.insert(record.candidate.configuration);
                           })
                  .ok());
  EXPECT_EQ(prepared, std::multiset<Configuration>(all.begin(), all.end()));
  EXPECT_GE(Device(1).prepared() + Device(2).prepared(),
            static_cast<int64_t>(all.size()));
}

TEST_F(DeviceTeamTest, WhatOneDeviceCouldNotCompileIsSaid) {
  Attach(2);
  DeviceTeam& team = Team();
  const std::vector<Configuration> all = EnumerateConfigurations(spec_);
  Device(1).Exhaust(all[0], "the disk is full");
  Device(2).Exhaust(all[0], "the disk is full");
  ASSERT_TRUE(team.Prepare("", all, {}, [](CandidateRecord&) {}).ok());
  EXPECT_THAT(team.unprepared(), SizeIs(1));
  EXPECT_THAT(team.UnpreparedText(), HasSubstr("the disk is full"));
}

}  // namespace
}  // namespace wavetune
