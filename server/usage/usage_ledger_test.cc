#include "server/usage/usage_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "server/store/fake_usage_store.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kDay = 86400;

Problem Of(int64_t m) { return {.extents = {m, 64}}; }

UsageReport Report(double decisions, const std::string& kernel = "gemm") {
  return {
      .kernel = kernel,
      .silicon_key = "sm_90",
      .digest = "aa",
      .serving = true,
      .counts = {.fitted = decisions * 0.9, .extrapolated = decisions * 0.1},
      .problems = {{Of(1), decisions, 0}}};
}

class UsageLedgerTest : public ::testing::Test {
 protected:
  UsageLedger::Warn Warn() {
    return [this](const std::string& text) { warnings_.push_back(text); };
  }

  FakeUsageStore store_;
  FakeClock clock_;
  std::vector<std::string> warnings_;
  UsageLedger ledger_{&store_, &clock_, {}, Warn()};
};

TEST_F(UsageLedgerTest, AddsUpReports) {
  ledger_.Add(Report(1000));
  UsageReport causal = Report(500);
  causal.specialisation = "causal";
  causal.problems = {{Of(2), 400, 10}};
  ledger_.Add(causal);
  const UsageRecord record = ledger_.Find("gemm", "sm_90").value();
  EXPECT_THAT(record.specialisations, SizeIs(2));
  EXPECT_DOUBLE_EQ(record.specialisations.at("causal").fitted, 450);
  EXPECT_DOUBLE_EQ(record.total().total(), 1500);
  EXPECT_DOUBLE_EQ(record.with_table.uncertain_share(), 0.1);
  EXPECT_THAT(record.problems,
              ElementsAre(HeavyHitters::Entry{Of(1), 1000, 0},
                          HeavyHitters::Entry{Of(2), 400, 10}));
  EXPECT_EQ(ledger_.reports(), 2);
  EXPECT_EQ(ledger_.Find("gemm", "sm_80"), std::nullopt);
}

TEST_F(UsageLedgerTest, HalvesWeightsEveryDay) {
  ledger_.Add(Report(1000));
  clock_.Advance(kDay);
  UsageRecord record = ledger_.Find("gemm", "sm_90").value();
  EXPECT_NEAR(record.total().total(), 500, 1e-6);
  EXPECT_NEAR(record.problems[0].weight, 500, 1e-6);
  EXPECT_NEAR(record.with_table.total(), 500, 1e-6);
  ledger_.Add(Report(1000));
  clock_.Advance(kDay);
  record = ledger_.List().at(0);
  EXPECT_NEAR(record.total().total(), 750, 1e-6);
  clock_.Advance(-10 * kDay);  // Set back: nothing grows.
  EXPECT_NEAR(ledger_.List().at(0).total().total(), 750, 1e-6);
}

TEST_F(UsageLedgerTest, SaysWhenTheLastReportCame) {
  clock_.Advance(5);
  ledger_.Add(Report(1000));
  const int64_t reported_at_us = clock_.NowUs();
  clock_.Advance(kDay);
  EXPECT_EQ(ledger_.List().at(0).reported_at_us, reported_at_us);
  EXPECT_EQ(ledger_.Find("gemm", "sm_90")->reported_at_us, reported_at_us);
  EXPECT_EQ(ledger_.Find("gemm", "sm_90")->updated_at_us, clock_.NowUs());
}

TEST_F(UsageLedgerTest, CountsAloneAreTheRecordWithoutProblems) {
  ledger_.Add(Report(1000));
  UsageRecord record = ledger_.Find("gemm", "sm_90").value();
  EXPECT_THAT(record.problems, SizeIs(1));
  record.problems.clear();
  EXPECT_EQ(ledger_.FindCounts("gemm", "sm_90"), record);
  EXPECT_EQ(ledger_.FindCounts("gemm", "sm_80"), std::nullopt);
}

TEST_F(UsageLedgerTest, CountsAnotherTableAnewOnceItServes) {
  ledger_.Add(Report(1000));
  UsageReport other = Report(10);
  other.digest = "bb";
  other.serving = false;  // A client that looks ahead.
  ledger_.Add(other);
  EXPECT_NEAR(ledger_.Find("gemm", "sm_90")->with_table.total(), 1000, 1e-9);
  other.serving = true;
  ledger_.Add(other);
  EXPECT_EQ(ledger_.Find("gemm", "sm_90")->digest, "bb");
  EXPECT_NEAR(ledger_.Find("gemm", "sm_90")->with_table.total(), 10, 1e-9);
  // One that holds on to the old table says nothing of the new.
  UsageReport pinned = Report(5000);
  pinned.serving = false;
  ledger_.Add(pinned);
  EXPECT_NEAR(ledger_.Find("gemm", "sm_90")->with_table.total(), 10, 1e-9);
  EXPECT_NEAR(ledger_.Find("gemm", "sm_90")->total().total(), 6020, 1e-9);
}

TEST_F(UsageLedgerTest, DecisionsWithoutATableAreCountedButNotWithOne) {
  UsageReport report = Report(1000);
  report.digest.clear();
  report.serving = false;
  ledger_.Add(report);
  EXPECT_EQ(ledger_.Find("gemm", "sm_90")->with_table.total(), 0);
  EXPECT_DOUBLE_EQ(ledger_.Find("gemm", "sm_90")->total().total(), 1000);
}

TEST_F(UsageLedgerTest, NamesProblemsByWhatTheyWereAskedForAtLeast) {
  UsageReport report = Report(2000);
  report.problems = {{Of(1), 1200, 200}, {Of(2), 500, 0}, {Of(3), 300, 300}};
  ledger_.Add(report);
  const auto problems = ledger_.Problems("gemm", "sm_90");
  ASSERT_THAT(problems, SizeIs(2));
  EXPECT_EQ(problems[0].problem, Of(1));
  EXPECT_DOUBLE_EQ(problems[0].weight, 1000);
  EXPECT_EQ(problems[1].problem, Of(2));
}

TEST_F(UsageLedgerTest, FewDecisionsNameNothing) {
  ledger_.Add(Report(999));
  EXPECT_THAT(ledger_.Problems("gemm", "sm_90"), IsEmpty());
  EXPECT_THAT(ledger_.Problems("attention", "sm_90"), IsEmpty());
  ledger_.Add(Report(1));
  EXPECT_THAT(ledger_.Problems("gemm", "sm_90"), SizeIs(1));
}

TEST_F(UsageLedgerTest, WritesAtMostOncePerIntervalAndRecord) {
  for (int i = 0; i < 1000; ++i) {
    ledger_.Add(Report(1));
    clock_.Advance(0.1);
  }
  EXPECT_EQ(store_.writes(), 1);  // In 100 s.
  ledger_.Flush();
  EXPECT_EQ(store_.writes(), 2);
  ledger_.Flush();  // Nothing has changed.
  EXPECT_EQ(store_.writes(), 2);
}

TEST_F(UsageLedgerTest, AnotherLedgerGoesOnWithWhatWasWritten) {
  ledger_.Add(Report(1000));
  const TopUp refined = {.at_us = 77, .uncertain_share = 0.25, .in_vain = 3};
  ledger_.SetRefined("gemm", "sm_90", refined);
  UsageLedger next(&store_, &clock_, {}, Warn());
  ASSERT_TRUE(next.Load().ok());
  EXPECT_EQ(next.Find("gemm", "sm_90"), ledger_.Find("gemm", "sm_90"));
  EXPECT_EQ(next.Find("gemm", "sm_90")->refined, refined);
}

TEST_F(UsageLedgerTest, CountsOnWhereTheStoreFails) {
  store_.SetStatus(absl::ResourceExhaustedError("disk full"));
  ledger_.Add(Report(1000));
  ledger_.Flush();
  EXPECT_THAT(warnings_, SizeIs(1));
  EXPECT_DOUBLE_EQ(ledger_.Find("gemm", "sm_90")->total().total(), 1000);
  store_.SetStatus(absl::OkStatus());
  ledger_.Add(Report(1000));
  ledger_.Flush();
  EXPECT_DOUBLE_EQ(store_.List()->at(0).total().total(), 2000);
  UsageLedger fails(&store_, &clock_, {}, Warn());
  store_.SetStatus(absl::InternalError("I/O error"));
  EXPECT_FALSE(fails.Load().ok());
}

TEST_F(UsageLedgerTest, WritesWhatTheStoreRefusedWithTheNextFlush) {
  ledger_.Add(Report(1000));
  store_.SetStatus(absl::ResourceExhaustedError("disk full"));
  ledger_.Flush();
  store_.SetStatus(absl::OkStatus());
  EXPECT_THAT(store_.List().value(), IsEmpty());
  ledger_.Flush();
  EXPECT_THAT(store_.List().value(), SizeIs(1));
}

TEST_F(UsageLedgerTest, TheLeastUsedKernelMakesRoom) {
  for (size_t i = 0; i <= UsageLedger::kMostRecords; ++i) {
    ledger_.Add(Report(static_cast<double>(10 + i), absl::StrCat("k", i)));
    if (i == 10) ledger_.Flush();
  }
  EXPECT_THAT(ledger_.List(), SizeIs(UsageLedger::kMostRecords));
  EXPECT_EQ(ledger_.Find("k0", "sm_90"), std::nullopt);
  ledger_.Flush();
  const auto stored = store_.List().value();
  EXPECT_TRUE(
      std::none_of(stored.begin(), stored.end(),
                   [](const UsageRecord& r) { return r.kernel == "k0"; }));
  EXPECT_EQ(ledger_.List().at(0).kernel,
            absl::StrCat("k", UsageLedger::kMostRecords));
}

TEST_F(UsageLedgerTest, WhoMakesRoomLeavesTheStoreWithALaterFlush) {
  ledger_.Add(Report(10, "rare"));
  ledger_.Flush();
  for (size_t i = 0; i < UsageLedger::kMostRecords; ++i)
    ledger_.Add(Report(1000, absl::StrCat("k", i)));
  // Nothing was asked of the store, which may be slow, nor does a full one keep
  // the kernel for ever.
  EXPECT_THAT(store_.List().value(), SizeIs(1));
  store_.SetStatus(absl::ResourceExhaustedError("disk full"));
  ledger_.Flush();
  store_.SetStatus(absl::OkStatus());
  EXPECT_THAT(store_.List().value(), SizeIs(1));
  ledger_.Flush();
  EXPECT_THAT(store_.List().value(), SizeIs(UsageLedger::kMostRecords));
  // It is kept again where it is used again.
  ledger_.Add(Report(5000, "rare"));
  ledger_.Flush();
  const auto stored = store_.List().value();
  EXPECT_THAT(stored, SizeIs(UsageLedger::kMostRecords));
  EXPECT_TRUE(
      std::any_of(stored.begin(), stored.end(),
                  [](const UsageRecord& r) { return r.kernel == "rare"; }));
}

TEST_F(UsageLedgerTest, AFloodOfProblemsStaysBounded) {
  for (int64_t i = 0; i < 5000; ++i) {
    UsageReport report = Report(2);
    report.problems = {{Of(7), 1, 0}, {Of(100 + i), 1, 0}};
    ledger_.Add(report);
  }
  const UsageRecord record = ledger_.Find("gemm", "sm_90").value();
  EXPECT_THAT(record.problems, SizeIs(UsageLedger::kMostProblems));
  EXPECT_EQ(record.problems[0].problem, Of(7));
  // What only came once is not taken for used.
  const auto problems = ledger_.Problems("gemm", "sm_90");
  EXPECT_EQ(problems[0].problem, Of(7));
  EXPECT_NEAR(problems[0].weight, 5000, 50);
  for (size_t i = 1; i < problems.size(); ++i) {
    EXPECT_LE(problems[i].weight, 1.001);
  }
}

TEST_F(UsageLedgerTest, TakesReportsFromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 500; ++i) {
        ledger_.Add(Report(10, absl::StrCat("k", t % 2)));
        if (i % 50 == 0) ledger_.Flush();
        if (i % 100 == 0) ledger_.List();
        if (t == 0) clock_.Advance(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger_.reports(), 2000);
  EXPECT_THAT(ledger_.List(), SizeIs(2));
}

}  // namespace
}  // namespace wavetune
