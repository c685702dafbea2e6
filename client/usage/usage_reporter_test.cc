#include "client/usage/usage_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "client/usage/fake_usage_sender.h"

namespace wavetune {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

UsageIdentity Gemm(const std::string& digest = "ab") {
  return {.kernel = "gemm",
          .digest = digest,
          .specialisation = "bf16",
          .dimensions = {{.name = "m"}, {.name = "n"}}};
}

void Record(UsageRecorder& recorder, int64_t m, int decisions) {
  Decision decision;
  decision.source = DecisionSource::kFitted;
  for (int i = 0; i < decisions; ++i) recorder.Record({m, 64}, decision);
}

TEST(UsageCollectorTest, CollectsCountsAndProblemsUntilCleared) {
  UsageCollector collector;
  const auto recorder = collector.Recorder(Gemm());
  for (int round = 0; round < 20; ++round) {
    Record(*recorder, 8, 90);
    Record(*recorder, 9, 10);
    collector.Drain();
  }
  const UsageBatch batch = collector.Collected();
  ASSERT_THAT(batch.kernels, SizeIs(1));
  EXPECT_EQ(batch.kernels[0].identity, Gemm());
  EXPECT_EQ(batch.kernels[0].counts.fitted, 2000u);
  ASSERT_FALSE(batch.kernels[0].problems.empty());
  const HeavyHitters::Entry& most = batch.kernels[0].problems[0];
  EXPECT_EQ(most.problem,
            (Problem{.extents = {8, 64}, .specialisation = "bf16"}));
  EXPECT_NEAR(most.weight, 1800, 250);
  collector.Clear();
  EXPECT_THAT(collector.Collected().kernels, IsEmpty());
}

TEST(UsageCollectorTest, WhatWasDecidedBetweenDrainAndClearIsKept) {
  UsageCollector collector;
  auto recorder = collector.Recorder(Gemm());
  collector.Drain();
  Record(*recorder, 8, 100);
  recorder.reset();
  collector.Clear();
  const UsageBatch batch = collector.Collected();
  ASSERT_THAT(batch.kernels, SizeIs(1));
  EXPECT_EQ(batch.kernels[0].counts.fitted, 100u);
}

TEST(UsageCollectorTest, TheSameTableHasOneRecorder) {
  UsageCollector collector;
  EXPECT_EQ(collector.Recorder(Gemm()), collector.Recorder(Gemm()));
  EXPECT_NE(collector.Recorder(Gemm()), collector.Recorder(Gemm("cd")));
}

TEST(UsageCollectorTest, MeansNothingByTheSlotOfARepeatedDimension) {
  UsageCollector collector;
  UsageIdentity grouped = Gemm();
  grouped.dimensions[0].repeated = true;
  const auto recorder = collector.Recorder(grouped);
  const std::vector<int64_t> tokens = {3, 5};
  Decision decision;
  decision.source = DecisionSource::kFitted;
  for (int64_t i = 0; i < 40; ++i)
    recorder->Record({{i, 64}, tokens}, decision);
  collector.Drain();
  const UsageBatch batch = collector.Collected();
  ASSERT_THAT(batch.kernels, SizeIs(1));
  ASSERT_THAT(batch.kernels[0].problems, SizeIs(1));
  EXPECT_EQ(
      batch.kernels[0].problems[0].problem,
      (Problem{
          .extents = {0, 64}, .repeated = tokens, .specialisation = "bf16"}));
}

TEST(UsageCollectorTest, LetsRecordersGoThatNobodyHolds) {
  UsageCollector collector;
  for (size_t i = 0; i < UsageCollector::kMostRecorders; ++i) {
    ASSERT_NE(collector.Recorder(Gemm(std::to_string(i))), nullptr);
  }
  EXPECT_EQ(collector.Recorder(Gemm("one too many")), nullptr);
  collector.Clear();
  EXPECT_NE(collector.Recorder(Gemm("one too many")), nullptr);
}

TEST(UsageCollectorTest, NeedsDimensions) {
  UsageCollector collector;
  EXPECT_EQ(collector.Recorder({.kernel = "gemm"}), nullptr);
}

TEST(ReportScheduleTest, ReportsEveryIntervalGiveOrTakeATenth) {
  ReportSchedule schedule(30, 100, 7);
  EXPECT_FALSE(schedule.Due(126.9));
  EXPECT_TRUE(schedule.Due(133.1));
  schedule.Sent(133);
  EXPECT_FALSE(schedule.Due(159.9));
  EXPECT_TRUE(schedule.Due(166.1));
}

TEST(ReportScheduleTest, BacksOffAndForgetsThatOnSuccess) {
  ReportSchedule schedule(10, 0, 7);
  schedule.Failed(10);
  EXPECT_FALSE(schedule.Due(27.9));
  EXPECT_TRUE(schedule.Due(32.1));
  for (int i = 0; i < 10; ++i) schedule.Failed(40);
  EXPECT_FALSE(schedule.Due(40 + 143));
  EXPECT_TRUE(schedule.Due(40 + 177));
  schedule.Sent(300);
  EXPECT_TRUE(schedule.Due(311.1));
}

TEST(ReportScheduleTest, DropsWhatCouldNotBeSentForTenMinutes) {
  ReportSchedule schedule(10, 0, 7);
  EXPECT_FALSE(schedule.DropNow(700));  // Nothing has failed.
  schedule.Failed(700);
  EXPECT_TRUE(schedule.DropNow(701));
  EXPECT_FALSE(schedule.DropNow(1300));
  EXPECT_TRUE(schedule.DropNow(1301));
  EXPECT_EQ(schedule.CollectedS(1311), 10);
}

TEST(ReportScheduleTest, ClientsDiffer) {
  const ReportSchedule one(30, 0, 1);
  const ReportSchedule other(30, 0, 12345678901);
  bool differ = false;
  for (double now = 27; now < 33; now += 0.01) {
    differ = differ || one.Due(now) != other.Due(now);
  }
  EXPECT_TRUE(differ);
}

// Intervals are short, and a test waits for what has to happen: it cannot be
// too slow.
class UsageReporterTest : public ::testing::Test {
 protected:
  static constexpr UsageReporter::Options kOften = {.drain_interval_s = 0.001,
                                                    .send_interval_s = 0.002};
  static constexpr UsageReporter::Options kNever = {.drain_interval_s = 3600,
                                                    .send_interval_s = 3600};

  // The reporter owns its sender; this one is only lent.
  class Lent : public UsageSender {
   public:
    explicit Lent(UsageSender* sender) : sender_(sender) {}
    absl::Status Send(const UsageBatch& batch, double timeout_s) override {
      return sender_->Send(batch, timeout_s);
    }
    void CutOff() override { sender_->CutOff(); }

   private:
    UsageSender* const sender_;
  };

  std::unique_ptr<UsageReporter> Start(const UsageReporter::Options& options) {
    return std::make_unique<UsageReporter>(std::make_unique<Lent>(&sender_),
                                           options);
  }
  uint64_t Sent() const {
    uint64_t sum = 0;
    for (const UsageBatch& batch : sender_.batches()) {
      for (const KernelUsage& kernel : batch.kernels) {
        sum += kernel.counts.total();
      }
    }
    return sum;
  }

  FakeUsageSender sender_;
};

TEST_F(UsageReporterTest, SendsWhatWasRecordedOnce) {
  auto reporter = Start(kOften);
  const auto recorder = reporter->Recorder(Gemm());
  Record(*recorder, 8, 100);
  sender_.AwaitAttempts(1);
  Record(*recorder, 8, 50);
  reporter.reset();
  EXPECT_EQ(Sent(), 150u);
  EXPECT_GT(sender_.batches()[0].interval_s, 0);
}

TEST_F(UsageReporterTest, SaysGoodbye) {
  auto reporter = Start(kNever);
  Record(*reporter->Recorder(Gemm()), 8, 10);
  reporter.reset();
  EXPECT_EQ(Sent(), 10u);
}

TEST_F(UsageReporterTest, SendsNothingWithoutDecisions) {
  auto reporter = Start(kOften);
  const auto recorder = reporter->Recorder(Gemm());
  reporter.reset();
  EXPECT_EQ(sender_.attempts(), 0);
}

TEST_F(UsageReporterTest, KeepsWhatDidNotArrive) {
  sender_.SetStatus(absl::UnavailableError("down"));
  auto reporter = Start(kOften);
  const auto recorder = reporter->Recorder(Gemm());
  Record(*recorder, 8, 100);
  sender_.AwaitAttempts(2);
  sender_.SetStatus(absl::OkStatus());
  Record(*recorder, 8, 11);
  reporter.reset();
  EXPECT_EQ(Sent(), 111u);
}

TEST_F(UsageReporterTest, DropsWhatIsRefused) {
  sender_.SetStatus(absl::InvalidArgumentError("no"));
  auto reporter = Start(kOften);
  const auto recorder = reporter->Recorder(Gemm());
  Record(*recorder, 8, 1);  // Whole in one report.
  sender_.AwaitAttempts(1);
  sender_.SetStatus(absl::OkStatus());
  reporter.reset();
  EXPECT_EQ(Sent(), 0u);
}

TEST_F(UsageReporterTest, LeavesADaemonAloneThatKnowsNoReports) {
  sender_.SetStatus(absl::UnimplementedError("an older daemon"));
  auto reporter = Start(kOften);
  const auto recorder = reporter->Recorder(Gemm());
  Record(*recorder, 8, 100);
  sender_.AwaitAttempts(1);
  Record(*recorder, 8, 100);
  reporter.reset();
  EXPECT_EQ(sender_.attempts(), 1);
}

TEST_F(UsageReporterTest, GoodbyeCutsOffAReportThatHangs) {
  sender_.Hang();
  auto reporter = Start(kOften);
  const auto recorder = reporter->Recorder(Gemm());
  Record(*recorder, 8, 100);
  sender_.AwaitAttempts(1);
  reporter.reset();
  EXPECT_EQ(sender_.attempts(), 2);
  EXPECT_EQ(Sent(), 100u);
}

TEST_F(UsageReporterTest, ATunerMayOutliveIt) {
  auto reporter = Start(kOften);
  const auto recorder = reporter->Recorder(Gemm());
  reporter.reset();
  Record(*recorder, 8, 100);
  EXPECT_EQ(Sent(), 0u);
}

}  // namespace
}  // namespace wavetune
