#include "server/jobs/board_team.h"

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

std::string Uuid(int board) { return absl::StrCat("GPU-", board); }

// A team of boards that answer from a function.
class BoardTeamTest : public ::testing::Test {
 protected:
  void Attach(int boards) {
    for (int board = 1; board <= boards; ++board) {
      DeviceFacts facts = testing::H200();
      facts.uuid = Uuid(board);
      boards_[facts.uuid] = std::make_unique<FakeMeasurementExecutor>(
          FakeMeasurementExecutor::Options{
              .facts = facts, .latency_us = SyntheticLatency(&spec_, 64)});
      directory_.Attach(boards_[facts.uuid].get());
    }
  }

  FakeMeasurementExecutor& Board(int board) { return *boards_.at(Uuid(board)); }

  BoardTeam& Team(bool whole_class = true) {
    kernels_.Add(spec_);
    const DeviceFacts facts = Board(1).device();
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
    services_.board_rated = [this](const JobRecord&, const std::string& uuid,
                                   const BoardRatio& ratio) {
      told_[uuid] = ratio;
    };
    record = jobs_.Create(record).value();
    control_ =
        std::make_unique<JobControl>(record, &jobs_, [](const std::string&) {});
    team_ = std::make_unique<BoardTeam>(services_, control_.get());
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
  void ExpectAllMeasured(BoardTeam& team, const std::vector<MeasureItem>& items,
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
    for (const auto& [uuid, board] : boards_) all += board->measured();
    return all;
  }

  const KernelSpec spec_ = JobTestSpec();
  std::map<std::string, std::unique_ptr<FakeMeasurementExecutor>> boards_;
  FakeExecutorDirectory directory_;
  FakeSampleStore samples_;
  FakeJobStore jobs_;
  FakeKernelCatalog kernels_;
  FakeClock clock_;
  JobServices services_;
  std::atomic<int> threads_ = 0;
  std::map<std::string, BoardRatio> told_;
  std::unique_ptr<JobControl> control_;
  std::unique_ptr<BoardTeam> team_;
};

TEST_F(BoardTeamTest, OneBoardMeasuresOnTheJobsOwnThread) {
  Attach(1);
  const std::vector<MeasureItem> items = Items(3);
  ExpectAllMeasured(Team(), items);
  EXPECT_EQ(threads_, 0);
  EXPECT_EQ(Board(1).items(), items) << "as they were given";
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(BoardTeamTest, AJobForOneDeviceLeavesTheOthersAlone) {
  Attach(2);
  ExpectAllMeasured(Team(/*whole_class=*/false), Items(3));
  EXPECT_EQ(threads_, 0);
  EXPECT_EQ(Board(2).measured(), 0);
}

TEST_F(BoardTeamTest, EightBoardsShareTheItemsAndMeasureTheCommonSetEach) {
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

TEST_F(BoardTeamTest, CandidatesOfAComparisonAreMeasuredOnOneBoard) {
  Attach(2);
  BoardTeam& team = Team();
  ExpectAllMeasured(team, Items(1));
  std::map<Problem, std::set<std::string>> measured_on;
  const std::vector<MeasureItem> items = Items(9);
  ExpectAllMeasured(team, items, KeepTogether::kProblem);
  const SampleSet stored = samples_.Load(control_->record().key, 1).value();
  // The second call's samples are the last of each board.
  for (auto it = stored.samples.rbegin();
       it != stored.samples.rbegin() + static_cast<ptrdiff_t>(items.size());
       ++it) {
    measured_on[it->sample.problem].insert(it->device_uuid);
  }
  for (const auto& [problem, boards] : measured_on) {
    EXPECT_THAT(boards, SizeIs(1));
  }
}

TEST_F(BoardTeamTest, OneBoardBeginsWithLightProblemsAndTheOtherWithHeavyOnes) {
  Attach(2);
  BoardTeam& team = Team();
  ExpectAllMeasured(team, Items(1));  // The common set.
  const std::vector<int64_t> before = {Board(1).measured(),
                                       Board(2).measured()};
  std::atomic<bool> begun[2] = {false, false};
  for (const int board : {0, 1}) {
    Board(board + 1).OnReport([&begun, board] {
      begun[board] = true;
      while (!begun[1 - board]) std::this_thread::yield();
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
  EXPECT_EQ(level(Board(1).items()[static_cast<size_t>(before[0])]),
            level(*lightest));
  EXPECT_EQ(level(Board(2).items()[static_cast<size_t>(before[1])]),
            level(*heaviest));
}

TEST_F(BoardTeamTest, ABoardThatWouldBeIdleGoesOnWithFurtherItems) {
  Attach(2);
  BoardTeam& team = Team();
  ExpectAllMeasured(team, Items(1));  // The common set.
  // The second keeps its first item until further ones were asked for.
  const std::vector<MeasureItem> items = Items(4);
  const std::vector<MeasureItem> further = Items(9);
  const auto all = static_cast<int64_t>(items.size() + further.size());
  std::atomic<int> given = 0;
  std::atomic<int64_t> done = 0;
  std::atomic<bool> held = false;
  Board(1).OnReport([&] {
    while (!held) std::this_thread::yield();
  });
  Board(2).OnReport([&] {
    held = true;
    while (given == 0) std::this_thread::yield();
  });
  std::vector<int> heard(static_cast<size_t>(all));
  const auto results = team.Measure(
      items, KeepTogether::kNothing,
      [&](size_t index, const BoardTeam::Result& result) {
        const MeasureItem& item =
            index < items.size() ? items[index] : further[index - items.size()];
        EXPECT_EQ(result.sample->problem, item.problem);
        EXPECT_EQ(result.sample->configuration, item.configuration);
        ++heard[index];
        ++done;
      },
      [&]() -> BoardTeam::Batch {
        if (given++ > 0) return {};
        EXPECT_LT(done, static_cast<int64_t>(items.size()));
        return {further, KeepTogether::kProblem};
      });
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(*results, SizeIs(static_cast<size_t>(all)));
  EXPECT_THAT(heard, Each(1));
}

TEST_F(BoardTeamTest, SamplesAreHandedOnAtTheClasssSpeedAndStoredRaw) {
  Attach(2);
  Board(2).SetSlower(1.04);
  BoardTeam& team = Team();
  const LatencyFunction latency = SyntheticLatency(&spec_, 64);
  std::vector<double> errors;
  const auto results = team.Measure(
      Items(10), KeepTogether::kNothing,
      [&](size_t, const BoardTeam::Result& result) {
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

TEST_F(BoardTeamTest, ABoardThatDeviatesIsLeftOutAndTold) {
  Attach(3);
  Board(3).SetSlower(1.2);
  BoardTeam& team = Team();
  ExpectAllMeasured(team, Items(10));
  EXPECT_TRUE(told_.at(Uuid(3)).deviates());
  EXPECT_FALSE(told_.at(Uuid(1)).deviates());
  EXPECT_EQ(Board(3).measured(), static_cast<int64_t>(kCommonPairs));
  ExpectAllMeasured(team, Items(10));
  EXPECT_EQ(Board(3).measured(), static_cast<int64_t>(kCommonPairs))
      << "not asked again";
}

TEST_F(BoardTeamTest, ABoardThatCompilesAloneStaysWithItsJob) {
  Attach(1);
  BoardTeam& team = Team();
  std::vector<Configuration> configurations;
  for (int64_t i = 1; i <= 600; ++i) configurations.push_back({i, i});
  std::thread other;
  Board(1).OnReport([&] {
    if (Board(1).prepared() != 1) return;
    other = std::thread([&] {
      const auto lease = services_.leases->Take(
          Uuid(1), 99, [](uint64_t) { return absl::OkStatus(); });
      EXPECT_EQ(Board(1).prepared(), 600);
    });
  });
  EXPECT_TRUE(team.Prepare("", configurations, {},
                           [](CandidateRecord&) { std::this_thread::yield(); })
                  .ok());
  other.join();
}

TEST_F(BoardTeamTest, ABoardThatComesWhileOneCompilesCompilesTheRest) {
  Attach(2);
  directory_.Detach(Uuid(2));
  BoardTeam& team = Team();
  std::vector<Configuration> configurations;
  for (int64_t i = 1; i <= 400; ++i) configurations.push_back({i, i});
  Board(1).OnReport([this] {
    directory_.Attach(&Board(2));
    if (Board(1).prepared() < 256) return;
    while (Board(2).prepared() == 0) std::this_thread::yield();
  });
  int heard = 0;
  EXPECT_TRUE(
      team.Prepare("", configurations, {}, [&](CandidateRecord&) { ++heard; })
          .ok());
  EXPECT_EQ(heard, 400);
  EXPECT_EQ(Board(1).prepared() + Board(2).prepared(), 400);
}

TEST_F(BoardTeamTest, ABoardThatCannotBeComparedIsLeftOutAndTold) {
  Attach(3);
  BoardTeam& team = Team();
  Board(3).LoseAfter(3);
  for (int call = 0; call < 4; ++call) ExpectAllMeasured(team, Items(10));
  Board(3).Restore();
  ExpectAllMeasured(team, Items(10));
  EXPECT_EQ(Board(3).measured(), 3);
  ASSERT_TRUE(told_.contains(Uuid(3)));
  EXPECT_FALSE(told_.at(Uuid(3)).known());
  EXPECT_TRUE(told_.at(Uuid(1)).known());
}

TEST_F(BoardTeamTest, ABoardThatGivesNoSampleIsTold) {
  Attach(3);
  BoardTeam& team = Team();
  Board(3).LoseAfter(0);
  for (int call = 0; call < 4; ++call) ExpectAllMeasured(team, Items(10));
  EXPECT_EQ(Board(3).measured(), 0);
  ASSERT_TRUE(told_.contains(Uuid(3)));
  EXPECT_EQ(told_.at(Uuid(3)).pairs, 0);
}

TEST_F(BoardTeamTest, ABusyBoardCostsNothing) {
  Attach(2);
  Board(2).SetBusy("GPU-2 is used by 2 other processes");
  ExpectAllMeasured(Team(), Items(10));
  EXPECT_EQ(Board(2).measured(), 0);
}

TEST_F(BoardTeamTest, ABoardThatBecomesHotGivesBackWhatItHasNotMeasured) {
  Attach(2);
  Board(1).OnReport([this] {
    // Fakes are so fast that one would do it all.
    if (Board(1).measured() < static_cast<int64_t>(kCommonPairs)) return;
    while (Board(2).measured() < 20) std::this_thread::yield();
  });
  Board(2).OnReport([this] {
    if (Board(2).measured() == 20) Board(2).SetHot("it is hot: 86 °C");
  });
  const std::vector<MeasureItem> items = Items(20);
  ExpectAllMeasured(Team(), items);
  EXPECT_EQ(Board(2).measured(), 20);
  EXPECT_EQ(MeasuredInAll(), static_cast<int64_t>(items.size() + kCommonPairs))
      << "nothing is measured twice";
}

TEST_F(BoardTeamTest, ABoardThatIsLostGivesBackWhatItHasNotMeasured) {
  Attach(2);
  Board(2).LoseAfter(20);
  Board(1).OnReport([this] {
    // Fakes are so fast that one would do it all.
    if (Board(1).measured() < static_cast<int64_t>(kCommonPairs)) return;
    while (Board(2).measured() < 20) std::this_thread::yield();
  });
  ExpectAllMeasured(Team(), Items(20));
  EXPECT_EQ(Board(2).measured(), 20);
}

TEST_F(BoardTeamTest, ABoardThatComesLateMeasuresTheCommonSetFirst) {
  Attach(3);
  Board(3).SetBusy("used by others");
  BoardTeam& team = Team();
  ExpectAllMeasured(team, Items(10));
  Board(3).SetBusy("");
  Board(3).SetSlower(1.2);
  ExpectAllMeasured(team, Items(10));
  EXPECT_TRUE(told_.at(Uuid(3)).deviates());
  EXPECT_EQ(Board(3).measured(), static_cast<int64_t>(kCommonPairs));
}

TEST_F(BoardTeamTest, ANewcomerThatIsLeftAloneMeasuresTheCommonSetFirst) {
  for (const int before : {1, 2}) {
    SCOPED_TRACE(before);
    Attach(3);
    directory_.Detach(Uuid(3));
    if (before == 1) directory_.Detach(Uuid(2));
    BoardTeam& team = Team();
    ExpectAllMeasured(team, Items(10));
    directory_.Detach(Uuid(1));
    directory_.Detach(Uuid(2));
    Board(3).SetSlower(1.04);
    directory_.Attach(&Board(3));
    const std::vector<MeasureItem> items = Items(12);
    const LatencyFunction latency = SyntheticLatency(&spec_, 64);
    const auto results = team.Measure(items, KeepTogether::kNothing);
    ASSERT_TRUE(results.ok()) << results.status();
    for (const BoardTeam::Result& result : *results) {
      const Sample& sample = result.sample.value();
      EXPECT_NEAR(sample.latency_us,
                  latency(sample.configuration, sample.problem), 1e-9);
    }
    EXPECT_EQ(Board(3).measured(),
              static_cast<int64_t>(items.size() + kCommonPairs));
  }
}

TEST_F(BoardTeamTest, ANewcomerThatIsBusyIsToldOfAndWaitedFor) {
  Attach(2);
  directory_.Detach(Uuid(2));
  BoardTeam& team = Team();
  ExpectAllMeasured(team, Items(1));
  directory_.Detach(Uuid(1));
  directory_.Attach(&Board(2));
  Board(2).SetBusy("used by 2 other processes");
  std::string said;
  Board(2).OnAwaitIdle([&](bool busy) {
    said += control_->record().waits_for;
    if (busy && clock_.sleeps().size() > 3600) Board(2).SetBusy("");
  });
  ExpectAllMeasured(team, Items(2));
  EXPECT_THAT(said, HasSubstr("GPU-2: used by 2 other processes"));
  EXPECT_TRUE(told_.at(Uuid(2)).known());
}

TEST_F(BoardTeamTest, WhereAllAreHotTheJobSaysForHowLongAndGivesUp) {
  Attach(2);
  Board(1).SetHot("it is hot: 86 °C, hardware thermal slowdown for 42 s");
  Board(2).SetBusy("used by others");
  BoardTeam& team = Team();
  std::string said;
  Board(2).OnAwaitIdle([&](bool busy) {
    const JobRecord job = control_->record();
    if (!busy || job.waits_for.empty()) return;
    said = job.waits_for;
    EXPECT_EQ(job.phase, JobPhase::kWaiting);
    EXPECT_GT(job.waits_since_us, 0);
    Board(2).SetBusy("");
    Board(2).SetHot("it is hot: 90 °C");
  });
  const auto results = team.Measure(Items(1), KeepTogether::kProblem);
  EXPECT_THAT(said, HasSubstr("GPU-1: it is hot: 86 °C"));
  EXPECT_THAT(said, HasSubstr("GPU-2: used by others"));
  EXPECT_EQ(results.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(results.status().message()),
              HasSubstr("look at their cooling"));
  EXPECT_EQ(control_->record().waits_for, "");
}

TEST_F(BoardTeamTest, OneHotBoardAloneIsWaitedForAndSaysUntilWhen) {
  Attach(1);
  Board(1).SetHot("it is hot: 86 °C, hardware thermal slowdown for 42 s");
  BoardTeam& team = Team();
  std::string said;
  const auto watch = control_->Subscribe([&](const JobRecord& job) {
    if (!job.waits_for.empty()) said = job.waits_for;
    if (clock_.sleeps().size() >= 100) Board(1).SetHot("");
  });
  ExpectAllMeasured(team, Items(1));
  EXPECT_THAT(said, HasSubstr("waiting for device GPU-1 to cool: it is hot: 86 "
                              "°C, hardware thermal slowdown for 42 s; gives "
                              "up in 9 min"));
}

TEST_F(BoardTeamTest, TheBudgetIsOfAllBoardsTogether) {
  Attach(4);
  BoardTeam& team = Team();
  // Much more than four samples take: each board ends with the one that it is
  // at.
  constexpr double kLimitUs = 100'000;
  team.SetDeviceTimeLimit(kLimitUs);
  const std::vector<MeasureItem> items = Items(200);
  const auto results = team.Measure(items, KeepTogether::kNothing);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_TRUE(team.budget_spent());
  EXPECT_LT(MeasuredInAll(), static_cast<int64_t>(items.size()));
  EXPECT_LT(control_->record().device_time_us, 2 * kLimitUs);
  double longest_us = 0;
  for (const auto& result : *results) {
    if (!result.sample) continue;
    longest_us = std::max(longest_us, result.sample->device_time_us);
  }
  EXPECT_LT(control_->record().device_time_us, kLimitUs + 4 * longest_us);
}

TEST_F(BoardTeamTest, ABoardThatAnotherJobUsesIsLeftToIt) {
  Attach(2);
  const DeviceLease lease = services_.leases->TryTake(Uuid(2), 77);
  ExpectAllMeasured(Team(), Items(10));
  EXPECT_EQ(Board(2).measured(), 0);
}

TEST_F(BoardTeamTest, ACancelledJobEndsOnAllBoards) {
  Attach(2);
  BoardTeam& team = Team();
  Board(1).OnReport([this] {
    if (Board(1).measured() == 20) control_->Cancel(1);
  });
  const auto results = team.Measure(Items(200), KeepTogether::kNothing);
  EXPECT_TRUE(absl::IsCancelled(results.status())) << results.status();
}

TEST_F(BoardTeamTest, WithoutThreadsTheJobsOwnMeasures) {
  Attach(2);
  BoardTeam& team = Team();
  services_.start_thread = [](const std::function<void()>&) -> std::thread {
    throw std::system_error(
        std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  ExpectAllMeasured(team, Items(10));
}

TEST_F(BoardTeamTest, CandidatesArePreparedOnceEachOnSomeBoard) {
  Attach(2);
  BoardTeam& team = Team();
  std::multiset<Configuration> prepared;
  const std::vector<Configuration> all = EnumerateConfigurations(spec_);
  Board(2).LoseAfter(3);
  ASSERT_TRUE(team.Prepare("", all, {},
                           [&](CandidateRecord& record) {
                             prepared.insert(record.candidate.configuration);
                           })
                  .ok());
  EXPECT_EQ(prepared, std::multiset<Configuration>(all.begin(), all.end()));
  EXPECT_GE(Board(1).prepared() + Board(2).prepared(),
            static_cast<int64_t>(all.size()));
}

TEST_F(BoardTeamTest, WhatOneBoardCouldNotCompileIsSaid) {
  Attach(2);
  BoardTeam& team = Team();
  const std::vector<Configuration> all = EnumerateConfigurations(spec_);
  Board(1).Exhaust(all[0], "the disk is full");
  Board(2).Exhaust(all[0], "the disk is full");
  ASSERT_TRUE(team.Prepare("", all, {}, [](CandidateRecord&) {}).ok());
  EXPECT_THAT(team.unprepared(), SizeIs(1));
  EXPECT_THAT(team.UnpreparedText(), HasSubstr("the disk is full"));
}

}  // namespace
}  // namespace wavetune
