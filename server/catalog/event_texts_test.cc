#include "server/catalog/event_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/testing/kernels.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TableRecord OldRecord() {
  TableRecord table;
  table.key = {.kernel = "gemm", .silicon_key = "mp=132"};
  table.digest = std::string(64, 'd');
  table.device_label = "NVIDIA H200";
  table.device_uuid = "GPU-1";
  table.epoch = 7;
  table.how = PromotionKind::kProfiled;
  table.job_id = 3;
  table.by = "1000";
  table.why = "1.2 times as fast";
  return table;
}

TEST(EventTextsTest, APromotionSaysWhatServesAndWhy) {
  const EventRecord event =
      EventOf({.kind = TableChange::Kind::kPromoted, .table = OldRecord()});
  EXPECT_EQ(event.kind, EventKind::kPromoted);
  EXPECT_FALSE(event.warning);
  EXPECT_EQ(event.kernel, "gemm");
  EXPECT_EQ(event.device_uuid, "GPU-1");
  EXPECT_EQ(event.silicon_key, "mp=132");
  EXPECT_EQ(event.digest, std::string(64, 'd'));
  EXPECT_EQ(event.job_id, 3u);
  EXPECT_EQ(event.by, "1000");
  EXPECT_EQ(event.text,
            "table dddddddddddddddd of kernel \"gemm\" (NVIDIA H200) serves, "
            "epoch 7: 1.2 times as fast");
}

TEST(EventTextsTest, ACarryOverSaysFromWhereToWhere) {
  TableRecord table = OldRecord();
  table.how = PromotionKind::kCarriedOver;
  table.key.environment_key = "driver=590;runtime=13;power_w=700";
  table.carried_from = "driver=580;runtime=13;power_w=700";
  table.why = "64 pairs";
  const EventRecord event =
      EventOf({.kind = TableChange::Kind::kPromoted, .table = table});
  EXPECT_EQ(event.kind, EventKind::kCarriedOver);
  EXPECT_THAT(event.text,
              AllOf(HasSubstr("is carried over, epoch 7: driver \"580\", now "
                              "\"590\": 64 pairs")));
}

TEST(EventTextsTest, ADriftProbeSaysWhatItFoundAndWhatIsDone) {
  JobRecord job{.id = 4, .kernel = "gemm", .device_uuid = "GPU-1"};
  job.drift =
      DriftReport{.from_environment = "driver=580;runtime=13;power_w=700",
                  .to_environment = "driver=590;runtime=13;power_w=700",
                  .digest = std::string(64, 'd'),
                  .action = DriftAction::kProfile,
                  .reason = "1 of 3 regimes drifted"};
  const EventRecord event = DriftProbeEvent(job);
  EXPECT_EQ(event.kind, EventKind::kDriftProbeResult);
  EXPECT_EQ(event.job_id, 4u);
  EXPECT_EQ(
      event.text,
      "drift probe of table dddddddddddddddd of kernel \"gemm\" (driver "
      "\"580\", now \"590\"): it is profiled anew: 1 of 3 regimes drifted");
}

TEST(EventTextsTest, ADriftProbeThatCouldNotJudgeSaysSo) {
  JobRecord job{.kernel = "gemm"};
  job.drift = DriftReport{.reason = "the device was throttled"};
  EXPECT_THAT(DriftProbeEvent(job).text,
              HasSubstr("it could not be judged: the"));
  job.options.verify_digest = std::string(64, 'd');
  EXPECT_THAT(DriftProbeEvent(job).text,
              HasSubstr("it could not be judged: the"));
}

TEST(EventTextsTest, ARollbackSaysWhoDidIt) {
  TableRecord table = OldRecord();
  table.how = PromotionKind::kRolledBack;
  table.why = "slower in production";
  const EventRecord event =
      EventOf({.kind = TableChange::Kind::kPromoted, .table = table});
  EXPECT_EQ(event.kind, EventKind::kRolledBack);
  EXPECT_THAT(event.text,
              HasSubstr("rolled back by user 1000: slower in production"));
}

TEST(EventTextsTest, AnImportSaysWhoBroughtIt) {
  TableRecord table = OldRecord();
  table.how = PromotionKind::kImported;
  table.unverified = true;
  table.why = "from node 7";
  const EventRecord event =
      EventOf({.kind = TableChange::Kind::kPromoted, .table = table});
  EXPECT_EQ(event.kind, EventKind::kImported);
  EXPECT_THAT(event.text, HasSubstr("imported by user 1000, not verified here: "
                                    "from node 7"));
}

TEST(EventTextsTest, AShippedTableSaysWhereItCameFrom) {
  TableRecord table = OldRecord();
  table.how = PromotionKind::kShipped;
  table.why = "tables/h200.table";
  const EventRecord event =
      EventOf({.kind = TableChange::Kind::kPromoted, .table = table});
  EXPECT_EQ(event.kind, EventKind::kPromoted);
  EXPECT_THAT(event.text,
              HasSubstr("shipped with the kernel: tables/h200.table"));
}

TEST(EventTextsTest, AnEndSaysWhoEndedItAndNotWhoPromotedIt) {
  TableRecord table = OldRecord();
  const EventRecord retired =
      EventOf({.kind = TableChange::Kind::kRetired,
               .table = table,
               .by = "0",
               .why = "rolled back to table eeeeeeeeeeeeeeee"});
  EXPECT_EQ(retired.kind, EventKind::kRetired);
  EXPECT_FALSE(retired.warning);
  EXPECT_EQ(retired.by, "0");
  EXPECT_THAT(retired.text,
              HasSubstr("serves no longer: rolled back to table eeee"));
  table.withdrawn = "BM=64 is wrong";
  const EventRecord event = EventOf({.kind = TableChange::Kind::kRetired,
                                     .table = table,
                                     .by = kDaemonUser,
                                     .why = table.withdrawn});
  EXPECT_EQ(event.kind, EventKind::kWithdrawn);
  EXPECT_TRUE(event.warning);
  EXPECT_EQ(event.by, "daemon");
  EXPECT_THAT(event.text,
              AllOf(HasSubstr("WITHDRAWN"), HasSubstr("BM=64 is wrong")));
}

TEST(EventTextsTest, AStaleTableSaysWhatDiffersAndWhatToDo) {
  const EventRecord stale = EventOf({.kind = TableChange::Kind::kRemarked,
                                     .table = OldRecord(),
                                     .stale_reason = "driver 580, now 590"});
  EXPECT_EQ(stale.kind, EventKind::kTableStale);
  EXPECT_TRUE(stale.warning);
  EXPECT_THAT(stale.text, AllOf(HasSubstr("driver 580, now 590"),
                                HasSubstr("wavetune reprofile --kernel gemm")));
  EXPECT_EQ(stale.by, kDaemonUser);
  const EventRecord judged = EventOf({.kind = TableChange::Kind::kRemarked,
                                      .table = OldRecord(),
                                      .stale_reason = "driver 580, now 590",
                                      .judged_soon = true});
  EXPECT_THAT(judged.text, AllOf(HasSubstr("A drift probe follows by itself"),
                                 Not(HasSubstr("wavetune reprofile"))));
  const EventRecord current =
      EventOf({.kind = TableChange::Kind::kRemarked, .table = OldRecord()});
  EXPECT_EQ(current.kind, EventKind::kTableCurrent);
  EXPECT_FALSE(current.warning);
}

TEST(EventTextsTest, AHaltedRolloutSaysWhyAndOfWhat) {
  const TableRecord table = OldRecord();
  const EventRecord event =
      RolloutHaltedEvent(table.key, table.digest, "node b: slower");
  EXPECT_EQ(event.kind, EventKind::kRolloutHalted);
  EXPECT_TRUE(event.warning);
  EXPECT_EQ(event.kernel, table.key.kernel);
  EXPECT_EQ(event.digest, table.digest);
  EXPECT_THAT(event.text,
              AllOf(HasSubstr("HALTED"), HasSubstr("node b: slower")));
}

TEST(EventTextsTest, ASpotCheckThatDisagreesIsOfTheTableNotOfTheDevice) {
  const JobRecord job{.id = 4,
                      .kernel = "gemm",
                      .device_uuid = "GPU-1",
                      .options = {.verify_digest = OldRecord().digest},
                      .state = JobState::kFailed,
                      .message = "it is 1.4 times the default"};
  const EventRecord event = SpotCheckEvent(job);
  EXPECT_EQ(event.kind, EventKind::kSpotCheckDisagrees);
  EXPECT_TRUE(event.warning);
  EXPECT_EQ(event.digest, job.options.verify_digest);
  EXPECT_EQ(event.device_uuid, job.device_uuid);
  EXPECT_THAT(event.text,
              AllOf(HasSubstr("does not hold on device " + job.device_uuid),
                    HasSubstr(job.message)));
}

TEST(EventTextsTest, ARefusalSaysWhy) {
  const EventRecord event = EventOf(
      RejectedTable{.record = OldRecord(), .reason = "refused: slower"});
  EXPECT_EQ(event.kind, EventKind::kRefused);
  EXPECT_THAT(event.text, AllOf(HasSubstr("job 3 is not promoted"),
                                HasSubstr("refused: slower")));
}

TEST(EventTextsTest, AnotherDriverSaysWhatChanged) {
  const DeviceFacts before = testing::H200();
  DeviceFacts now = before;
  now.driver = "999.1";
  const EventRecord event =
      EventOf({.kind = AgentDirectory::Change::Kind::kEnvironmentChanged,
               .device = now,
               .environment_before = EnvironmentKey(before)});
  EXPECT_EQ(event.kind, EventKind::kDriverChanged);
  EXPECT_TRUE(event.warning);
  EXPECT_EQ(event.device_uuid, now.uuid);
  EXPECT_THAT(event.text, AllOf(HasSubstr(before.driver), HasSubstr("999.1")));
}

TEST(EventTextsTest, ADeviceThatIsLeftOutSaysWhy) {
  using Kind = AgentDirectory::Change::Kind;
  const EventRecord hot = EventOf({.kind = Kind::kHot,
                                   .device = testing::H200(),
                                   .why = "it is hot: 86 °C"});
  EXPECT_EQ(hot.kind, EventKind::kHotDevice);
  EXPECT_TRUE(hot.warning);
  EXPECT_THAT(hot.text, HasSubstr("left out of profiles: it is hot: 86 °C"));
  EXPECT_EQ(EventOf({.kind = Kind::kSlow, .device = testing::H200()}).kind,
            EventKind::kSlowDevice);
  const EventRecord unrated = EventOf({.kind = Kind::kUnrated,
                                       .device = testing::H200(),
                                       .why = "could not compare it"});
  EXPECT_EQ(unrated.kind, EventKind::kUnratedDevice);
  EXPECT_FALSE(unrated.warning);
  EXPECT_THAT(unrated.text, HasSubstr("took no part in a profile: could not"));
  const EventRecord lost = EventOf({.kind = Kind::kLost,
                                    .device = testing::H200(),
                                    .why = "it fell off the bus"});
  EXPECT_EQ(lost.kind, EventKind::kDeviceLost);
  EXPECT_TRUE(lost.warning);
  EXPECT_THAT(lost.text, HasSubstr("cannot be used: it fell off the bus"));
  const EventRecord usable =
      EventOf({.kind = Kind::kUsable, .device = testing::H200()});
  EXPECT_EQ(usable.kind, EventKind::kDeviceUsable);
  EXPECT_FALSE(usable.warning);
}

TEST(EventTextsTest, AJobSaysWhetherItFailed) {
  JobRecord job;
  job.id = 9;
  job.kernel = "gemm";
  job.device_uuid = "GPU-1";
  job.by = kDaemonUser;
  job.reason = "nightly";
  job.state = JobState::kRunning;
  EXPECT_EQ(EventOf(job).kind, EventKind::kJobStarted);
  EXPECT_THAT(EventOf(job).text, HasSubstr("runs: nightly"));
  job.state = JobState::kSucceeded;
  job.message = "promoted: 1.2 times as fast";
  EXPECT_EQ(EventOf(job).kind, EventKind::kJobEnded);
  EXPECT_FALSE(EventOf(job).warning);
  EXPECT_EQ(EventOf(job).by, "daemon");
  job.state = JobState::kFailed;
  EXPECT_TRUE(EventOf(job).warning);
  EXPECT_THAT(EventOf(job).text, HasSubstr("job 9 (kernel gemm, device GPU-1) "
                                           "FAILED: promoted"));
}

TEST(EventTextsTest, AStoreThatCannotBeWrittenSaysWhy) {
  const EventRecord problem =
      StoreEvent(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_EQ(problem.kind, EventKind::kStoreProblem);
  EXPECT_TRUE(problem.warning);
  EXPECT_THAT(problem.text, HasSubstr("the disk is full"));
  EXPECT_EQ(StoreEvent(absl::OkStatus()).kind, EventKind::kStoreUsable);
}

}  // namespace
}  // namespace wavetune
