#include "server/store/retention.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kDayUs = int64_t{86400} * 1'000'000;
constexpr int64_t kNowUs = 1000 * kDayUs;

class RetentionTest : public ::testing::Test {
 protected:
  RetentionTest() {
    view_.devices.push_back({.facts = device_, .last_seen_us = kNowUs});
  }

  static DeviceFacts WithDriver(const std::string& driver) {
    DeviceFacts device = testing::H200();
    device.driver = driver;
    return device;
  }
  // A table of a driver that was promoted `age_days` ago; the next epoch.
  TableRecord Table(const std::string& driver, int64_t age_days) {
    TableRecord record;
    const DeviceFacts device = WithDriver(driver);
    record.key = {"gemm", std::string(64, 'a'), SiliconKey(device),
                  EnvironmentKey(device)};
    record.epoch = ++epoch_;
    record.digest = "digest " + std::to_string(epoch_);
    record.promoted_at_us = kNowUs - age_days * kDayUs;
    return record;
  }
  void Serve(const TableRecord& record) {
    view_.serving.push_back(record);
    Store(record);
  }
  void Store(const TableRecord& record) {
    view_.history.push_back(record);
    view_.payloads.push_back(record);
  }
  RetentionPlan Plan() const { return PlanRetention(view_, limits_, kNowUs); }

  const DeviceFacts device_ = WithDriver("590");
  RetentionLimits limits_;
  RetentionView view_;
  uint64_t epoch_ = 0;
};

TEST_F(RetentionTest, HasNothingToDoInAYoungStore) {
  Serve(Table("580", 20));
  Serve(Table("590", 10));
  EXPECT_TRUE(Plan().empty());
  EXPECT_TRUE(PlanRetention({}, {}, kNowUs).empty());
}

TEST_F(RetentionTest, RetiresAClassThatNoDeviceHasAnyMore) {
  const TableRecord old = Table("580", 200);
  Serve(old);
  Serve(Table("590", 31));
  const RetentionPlan plan = Plan();
  ASSERT_THAT(plan.classes, SizeIs(1));
  EXPECT_EQ(plan.classes[0].table, old);
  // Its payload can be rolled back to.
  EXPECT_THAT(plan.payloads, IsEmpty());
  EXPECT_THAT(plan.lines, ElementsAre(HasSubstr("no device has")));
  limits_.classes_days = 0;
  EXPECT_TRUE(Plan().empty());
}

TEST_F(RetentionTest, RetiresTheTableOfABuildThatWasReplaced) {
  const TableRecord old = Table("590", 200);
  Serve(old);
  TableRecord of_now = Table("590", 31);
  of_now.key.fingerprint = std::string(64, 'b');
  Serve(of_now);
  // Nobody knows which build is there: the kernel's folder is gone, say.
  EXPECT_THAT(Plan().classes, IsEmpty());
  std::string& now = view_.fingerprints[{"gemm", device_.uuid}];
  now = old.key.fingerprint;
  EXPECT_THAT(Plan().classes, IsEmpty()) << "it was edited back";
  now = std::string(64, 'c');
  EXPECT_THAT(Plan().classes, IsEmpty()) << "no table is of this build yet";
  now = of_now.key.fingerprint;
  const RetentionPlan plan = Plan();
  ASSERT_THAT(plan.classes, SizeIs(1));
  EXPECT_EQ(plan.classes[0].table, old);
  EXPECT_THAT(plan.lines, ElementsAre(HasSubstr("another build")));
  limits_.classes_days = 32;
  EXPECT_TRUE(Plan().empty());
}

TEST_F(RetentionTest, CountsFromTheFirstPromotionOfWhatTookItsPlace) {
  const TableRecord old = Table("580", 200);
  TableRecord newer = Table("590", 31);
  Store(newer);
  Serve(old);
  // Promoted again, as after a rollback to another driver's table.
  newer.epoch = ++epoch_;
  newer.promoted_at_us = kNowUs - 2 * kDayUs;
  Serve(newer);
  const RetentionPlan plan = Plan();
  ASSERT_THAT(plan.classes, SizeIs(1));
  EXPECT_EQ(plan.classes[0].table, old);
  EXPECT_THAT(plan.lines, ElementsAre(HasSubstr("for 31 days")));
  // Under another driver it was another promotion.
  view_.history[0].key.environment_key = "driver=1";
  EXPECT_TRUE(Plan().empty());
}

TEST_F(RetentionTest, WhatWasGoneBackToIsOldFromThenOn) {
  TableRecord newer = Table("590", 100);
  Store(newer);
  Serve(Table("580", 20));  // Gone back to.
  newer.epoch = ++epoch_;
  newer.promoted_at_us = kNowUs - 10 * kDayUs;
  Serve(newer);
  EXPECT_TRUE(Plan().empty());
  limits_.classes_days = 19;
  EXPECT_THAT(Plan().classes, SizeIs(1));
}

TEST_F(RetentionTest, KeepsAReplacedBuildForADeviceThatHasNothingNewer) {
  Serve(Table("590", 200));
  TableRecord of_now = Table("590", 31);
  of_now.key.fingerprint = std::string(64, 'b');
  Serve(of_now);
  view_.fingerprints[{"gemm", device_.uuid}] = of_now.key.fingerprint;
  // Another compiler makes another build there, of which there is no table.
  DeviceFacts other = device_;
  other.uuid = "GPU-other";
  view_.devices.push_back({.facts = other, .last_seen_us = kNowUs});
  view_.fingerprints[{"gemm", other.uuid}] = std::string(64, 'd');
  EXPECT_TRUE(Plan().empty());
}

TEST_F(RetentionTest, KeepsTheOnlyTableOfAKernel) {
  Serve(Table("580", 900));
  EXPECT_TRUE(Plan().empty());
  // One that nothing here has measured does not take its place.
  TableRecord imported = Table("590", 100);
  imported.unverified = true;
  Serve(imported);
  EXPECT_TRUE(Plan().empty());
}

TEST_F(RetentionTest, RemembersWhatWasShippedSoThatItDoesNotComeBack) {
  TableRecord shipped = Table("590", 900);
  shipped.how = PromotionKind::kShipped;
  Store(shipped);
  limits_.history_kept = 1;
  Serve(Table("590", 10));
  EXPECT_TRUE(Plan().empty());
}

TEST_F(RetentionTest, KeepsAClassThatADeviceHasOrThatIsPinned) {
  const TableRecord old = Table("580", 200);
  Serve(old);
  Serve(Table("590", 100));
  view_.pins.push_back({.kernel = "gemm", .silicon_key = old.key.silicon_key});
  EXPECT_TRUE(Plan().empty());
  view_.pins.clear();
  EXPECT_THAT(Plan().classes, SizeIs(1));
  DeviceFacts other = WithDriver("580");
  other.uuid = "GPU-other";
  view_.devices.push_back({.facts = other, .last_seen_us = kNowUs});
  EXPECT_TRUE(Plan().empty());
  // But not one that is forgotten itself.
  view_.devices.back().last_seen_us = kNowUs - 91 * kDayUs;
  const RetentionPlan plan = Plan();
  EXPECT_THAT(plan.devices, ElementsAre("GPU-other"));
  EXPECT_THAT(plan.classes, SizeIs(1));
}

TEST_F(RetentionTest, KeepsACarriedTableThatADeviceStillHas) {
  TableRecord carried = Table("600", 200);
  carried.carried_from = EnvironmentKey(device_);
  Serve(carried);
  Serve(Table("580", 31));
  EXPECT_THAT(Plan().classes, IsEmpty());
}

TEST_F(RetentionTest, ForgetsOldPayloadsBehindTheNewestOfAHistory) {
  std::vector<TableRecord> records;
  for (int i = 0; i < 12; ++i) {
    records.push_back(Table("590", 400 - 10 * i));
    Store(records.back());
  }
  Serve(Table("590", 5));
  // The newest 8, with the one that serves.
  EXPECT_THAT(Plan().payloads, ElementsAre(records[0].digest, records[1].digest,
                                           records[2].digest, records[3].digest,
                                           records[4].digest));
  limits_.payloads_days = 375;
  EXPECT_THAT(Plan().payloads, ElementsAre(records[0].digest, records[1].digest,
                                           records[2].digest));
}

TEST_F(RetentionTest, RolledBackToIsNewAgain) {
  const TableRecord old = Table("590", 400);
  Store(old);
  for (int i = 0; i < 7; ++i) Store(Table("590", 300));
  TableRecord again = old;
  again.epoch = ++epoch_;
  view_.history.push_back(again);
  EXPECT_THAT(Plan().payloads, IsEmpty());
}

TEST_F(RetentionTest, NeverForgetsWhatServesIsPinnedWithdrawnOrRejected) {
  limits_.history_kept = 0;
  const TableRecord serving = Table("590", 900);
  Serve(serving);
  const TableRecord withdrawn = Table("580", 900);
  Store(withdrawn);
  view_.withdrawn.push_back(withdrawn);
  const TableRecord rejected = Table("590", 900);
  view_.payloads.push_back(rejected);
  view_.rejected.insert(rejected.digest);
  const TableRecord pinned = Table("570", 900);
  Store(pinned);
  view_.pins.push_back({.kernel = "other", .digest = pinned.digest});
  EXPECT_THAT(Plan().payloads, IsEmpty());
  const TableRecord gone = Table("570", 900);
  Store(gone);
  EXPECT_THAT(Plan().payloads, ElementsAre(gone.digest));
}

TEST_F(RetentionTest, ForgetsSamplesThatNothingNeeds) {
  const TableRecord table = Table("580", 300);
  view_.samples = {
      {.key = table.key, .samples = 7, .newest_us = kNowUs - 181 * kDayUs}};
  EXPECT_THAT(Plan().samples, ElementsAre(table.key));
  EXPECT_THAT(Plan().lines, ElementsAre(HasSubstr("forgets 7 samples")));
  limits_.samples_days = 182;
  EXPECT_TRUE(Plan().empty());
  limits_.samples_days = 0;
  EXPECT_TRUE(Plan().empty());
}

TEST_F(RetentionTest, KeepsWhatIsKnownOfCandidatesThatWereNeverMeasured) {
  JobRecord job;
  job.key = Table("580", 0).key;
  job.state = JobState::kFailed;
  job.finished_at_us = kNowUs - 2 * kDayUs;
  view_.jobs = {job};
  view_.samples = {{.key = job.key}};
  EXPECT_TRUE(Plan().empty());
  view_.jobs[0].finished_at_us = kNowUs - 181 * kDayUs;
  EXPECT_THAT(Plan().samples, ElementsAre(job.key));
  EXPECT_THAT(Plan().lines, Contains(HasSubstr("for 181 days")));
  view_.jobs[0].key.fingerprint = "of another build";
  view_.jobs[0].finished_at_us = kNowUs;
  EXPECT_THAT(Plan().samples, ElementsAre(job.key));
}

TEST_F(RetentionTest, KeepsSamplesOfWhatIsStoredAttachedOrProfiled) {
  const TableRecord table = Table("580", 100);
  view_.samples = {{.key = table.key, .samples = 7, .newest_us = 0}};
  Store(table);
  EXPECT_THAT(Plan().samples, IsEmpty());
  view_.payloads.clear();
  view_.history.clear();
  EXPECT_THAT(Plan().samples, SizeIs(1));
  // A table that was carried over is of the samples of before.
  TableRecord carried = Table("590", 100);
  carried.carried_from = table.key.environment_key;
  Serve(carried);
  EXPECT_THAT(Plan().samples, IsEmpty());
  view_.payloads.clear();
  view_.history.clear();
  view_.serving.clear();
  JobRecord job;
  job.key = table.key;
  view_.jobs.push_back(job);
  EXPECT_THAT(Plan().samples, IsEmpty());
  view_.jobs.clear();
  view_.devices.push_back({.facts = WithDriver("580"), .last_seen_us = kNowUs});
  EXPECT_THAT(Plan().samples, IsEmpty());
  view_.fingerprints[{"gemm", device_.uuid}] = std::string(64, 'b');
  EXPECT_THAT(Plan().samples, SizeIs(1)) << "it would profile another build";
}

TEST_F(RetentionTest, ForgetsJobsAndDevicesThatAreLongGone) {
  JobRecord job;
  job.id = 1;
  job.state = JobState::kFailed;
  job.finished_at_us = kNowUs - 366 * kDayUs;
  view_.jobs.push_back(job);
  job.id = 2;
  job.finished_at_us = kNowUs - 364 * kDayUs;
  view_.jobs.push_back(job);
  job.id = 3;
  job.state = JobState::kRunning;
  job.finished_at_us = 0;
  view_.jobs.push_back(job);
  view_.devices[0].last_seen_us = kNowUs - 91 * kDayUs;
  EXPECT_THAT(Plan().jobs, ElementsAre(1));
  EXPECT_THAT(Plan().devices, ElementsAre(device_.uuid));
  EXPECT_THAT(Plan().lines, Contains(HasSubstr("forgets 1 jobs")));
  view_.attached.insert(device_.uuid);
  EXPECT_THAT(Plan().devices, IsEmpty());
}

TEST_F(RetentionTest, AClockThatWasSetBackForgetsNothing) {
  Serve(Table("580", -100));
  Serve(Table("590", -50));
  view_.devices.clear();
  EXPECT_TRUE(Plan().empty());
}

}  // namespace
}  // namespace wavetune
