#include "server/rpc/table_admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"
#include "server/catalog/catalog_fixture.h"
#include "server/jobs/fake_measurement_executor.h"
#include "server/rpc/table_handler.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class TableAdminTest : public CatalogFixture {
 protected:
  void SetUp() override { See(device_); }

  ProfileKey Key(const DeviceFacts& device) const {
    return {spec_.name, std::string(64, 'a'), SiliconKey(device),
            EnvironmentKey(device)};
  }
  TableRecord Promote(const DeviceFacts& device, double latency_us) {
    return CatalogFixture::Promote(spec_, Key(device), latency_us);
  }

  v1::RollBackRequest RollBackRequest(const std::string& digest = "") const {
    v1::RollBackRequest request;
    request.set_kernel(spec_.name);
    request.set_digest(digest);
    request.set_reason("slower in production");
    return request;
  }

  // Of the kernel as it is here, where it is.
  ProfileKey CurrentKey(const DeviceFacts& device) {
    ProfileKey key = Key(device);
    const auto fingerprint = kernels_.Fingerprint(spec_.name, device);
    if (fingerprint.ok()) key.fingerprint = *fingerprint;
    return key;
  }
  v1::ImportTableRequest ImportRequest(const DeviceFacts& device) {
    v1::ImportTableRequest request;
    request.set_payload(*EncodeTable(FixedTable(
        spec_, CurrentKey(device), spec_.default_configuration, 12)));
    request.set_reason("from node 7");
    return request;
  }

  const KernelSpec spec_ = testing::GemmSpec();
  const DeviceFacts device_ = testing::H200();
  FakeKernelCatalog kernels_;
  EventJournal events_{nullptr, &clock_, [](const auto&) {},
                       [](const EventRecord&) {}};
  TableHandler handler_{"store-1", &tables_, &devices_, &kernels_};
  TableAdmin admin_{{.store_id = "store-1",
                     .tables = &tables_,
                     .devices = &devices_,
                     .kernels = &kernels_,
                     .samples = &samples_,
                     .clock = &clock_,
                     .events = &events_}};
};

TEST_F(TableAdminTest, RollsBackAndWritesDownWhoAndWhy) {
  const TableRecord before = Promote(device_, 10);
  const TableRecord after = Promote(device_, 11);
  v1::RollBackResponse response;
  const absl::Status status =
      admin_.RollBack(RollBackRequest(), "1000", &response);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(response.table().digest(), before.digest);
  EXPECT_EQ(response.table().how(), v1::ROLLED_BACK);
  EXPECT_EQ(response.table().by(), "1000");
  EXPECT_EQ(response.table().why(), "slower in production");
  EXPECT_EQ(response.table().store_id(), "store-1");
  ASSERT_EQ(response.ended_size(), 1);
  EXPECT_EQ(response.ended(0).digest(), after.digest);

  v1::ListTableHistoryRequest request;
  request.set_kernel(spec_.name);
  v1::ListTableHistoryResponse history;
  ASSERT_TRUE(handler_.ListTableHistory(request, &history).ok());
  ASSERT_EQ(history.tables_size(), 3);
  EXPECT_EQ(history.tables(0).how(), v1::ROLLED_BACK);
  EXPECT_EQ(history.tables(1).how(), v1::PROFILED);
  EXPECT_EQ(history.tables(1).digest(), after.digest);
  ASSERT_EQ(history.serving_size(), 1);
  EXPECT_EQ(history.serving(0), before.digest);
  request.set_limit(1);
  v1::ListTableHistoryResponse shorter;
  ASSERT_TRUE(handler_.ListTableHistory(request, &shorter).ok());
  EXPECT_EQ(shorter.tables_size(), 1);
}

TEST_F(TableAdminTest, RefusesToRollBackToWhatItsSamplesShowWrong) {
  const TableRecord before = Promote(device_, 10);
  Promote(device_, 11);
  CandidateRecord wrong;
  wrong.candidate.configuration = spec_.default_configuration;
  wrong.candidate.excluded_reason = "wrong result: output 'c' at m=1";
  const std::vector<CandidateRecord> records = {wrong};
  ASSERT_TRUE(samples_.Append(before.key, 1, {}, records).ok());
  v1::RollBackResponse response;
  const absl::Status status =
      admin_.RollBack(RollBackRequest(), "1000", &response);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("must not serve again"));
}

TEST_F(TableAdminTest, RefusesToRollBackToWhatTheKernelHereCannotLaunch) {
  Promote(device_, 10);
  Promote(device_, 11);
  v1::RollBackResponse response;
  KernelSpec narrower = spec_;
  narrower.default_configuration = {16, 32, 16, 1, 1};
  narrower.constraints.emplace_back(
      Expression::OfParameter(0), Relation::Operator::kNotEqual,
      Expression::Constant(spec_.default_configuration[0]));
  kernels_.Add(narrower);
  const absl::Status status =
      admin_.RollBack(RollBackRequest(), "1000", &response);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cannot serve again"), HasSubstr("default")));
  // Of another version of the kernel nothing is known.
  KernelSpec edited = spec_;
  edited.parameters[0].name += "_edited";
  kernels_.Add(edited);
  EXPECT_TRUE(admin_.RollBack(RollBackRequest(), "1000", &response).ok());
}

TEST_F(TableAdminTest, PinsSayWhoKeepsATableAndWhy) {
  Promote(device_, 10);
  v1::PinTableRequest pin;
  pin.set_kernel(spec_.name);
  pin.set_device_uuid(device_.uuid);
  pin.set_reason("release week");
  v1::PinTableResponse response;
  ASSERT_TRUE(admin_.Pin(pin, "1000", &response).ok());
  EXPECT_EQ(response.table().pinned(), "by user 1000: release week");
  v1::ListTablesResponse list;
  ASSERT_TRUE(handler_.ListTables({}, &list).ok());
  EXPECT_EQ(list.tables(0).pinned(), "by user 1000: release week");
  v1::UnpinTableRequest unpin;
  unpin.set_kernel(spec_.name);
  ASSERT_TRUE(admin_.Unpin(unpin, "1000").ok());
  EXPECT_TRUE(absl::IsNotFound(admin_.Unpin(unpin, "1000")));
  v1::ListTablesResponse after;
  ASSERT_TRUE(handler_.ListTables({}, &after).ok());
  EXPECT_EQ(after.tables(0).pinned(), "");
  const auto events = events_.List({}, 10);
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_THAT(*events, SizeIs(2));
  EXPECT_EQ((*events)[0].kind, EventKind::kUnpinned);
  EXPECT_EQ((*events)[1].kind, EventKind::kPinned);
  EXPECT_EQ((*events)[1].by, "1000");
  EXPECT_THAT((*events)[1].text, HasSubstr("release week"));
}

TEST_F(TableAdminTest, AsksWhichSiliconWhereThereAreSeveral) {
  DeviceFacts smaller = device_;
  smaller.multiprocessors = 66;
  Promote(device_, 10);
  Promote(smaller, 11);
  v1::RollBackResponse response;
  absl::Status status = admin_.RollBack(RollBackRequest(), "0", &response);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr(SiliconKey(device_)), HasSubstr(SiliconKey(smaller))));
  v1::RollBackRequest both = RollBackRequest();
  both.set_device_uuid(device_.uuid);
  both.set_silicon_key(SiliconKey(smaller));
  EXPECT_TRUE(absl::IsInvalidArgument(admin_.RollBack(both, "0", &response)));
  v1::RollBackRequest one = RollBackRequest();
  one.set_silicon_key(SiliconKey(smaller));
  EXPECT_TRUE(absl::IsNotFound(admin_.RollBack(one, "0", &response)));
}

TEST_F(TableAdminTest, RefusesWhatSaysTooLittleOrTooMuch) {
  v1::RollBackResponse response;
  EXPECT_TRUE(absl::IsInvalidArgument(admin_.RollBack({}, "0", &response)));
  EXPECT_TRUE(
      absl::IsNotFound(admin_.RollBack(RollBackRequest(), "0", &response)));
  Promote(device_, 10);
  v1::RollBackRequest long_reason = RollBackRequest();
  long_reason.set_reason(std::string(TableAdmin::kMaxReasonBytes + 1, 'x'));
  const absl::Status status = admin_.RollBack(long_reason, "0", &response);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("1000"));
  v1::ListTableHistoryRequest history;
  history.set_kernel(spec_.name);
  history.set_limit(1001);
  v1::ListTableHistoryResponse none;
  EXPECT_TRUE(
      absl::IsInvalidArgument(handler_.ListTableHistory(history, &none)));
  history.set_limit(0);
  history.set_silicon_key("mp=1");
  EXPECT_TRUE(absl::IsNotFound(handler_.ListTableHistory(history, &none)));
}

TEST_F(TableAdminTest, ListsRejectedTablesWithNamedProblems) {
  const TableRecord serving = Promote(device_, 10);
  v1::ListRejectedTablesRequest request;
  request.set_kernel(spec_.name);
  v1::ListRejectedTablesResponse none;
  EXPECT_TRUE(absl::IsNotFound(handler_.ListRejectedTables(request, &none)));
  RejectedTable rejected{.record = {.key = serving.key, .job_id = 9},
                         .reason = "refused: slower than the incumbent",
                         .at_us = 5};
  rejected.points.push_back(
      {.problem = {.extents = std::vector<int64_t>(spec_.dimensions.size(), 64),
                   .repeated = {},
                   .specialisation = ""},
       .chosen_us = 12,
       .incumbent_us = 11});
  ASSERT_TRUE(tables_
                  .Reject(rejected, *EncodeTable(FixedTable(
                                        spec_, serving.key,
                                        spec_.default_configuration, 12)))
                  .ok());
  v1::ListRejectedTablesResponse response;
  ASSERT_TRUE(handler_.ListRejectedTables(request, &response).ok());
  ASSERT_EQ(response.tables_size(), 1);
  EXPECT_EQ(response.tables(0).table().job_id(), 9u);
  EXPECT_EQ(response.tables(0).reason(), rejected.reason);
  ASSERT_EQ(response.tables(0).points_size(), 1);
  const v1::RejectedPoint& point = response.tables(0).points(0);
  EXPECT_EQ(point.chosen_us(), 12);
  ASSERT_GT(point.problem().extents_size(), 0);
  EXPECT_EQ(point.problem().extents(0).dimension(), spec_.dimensions[0].name);
  // Its payload can be looked at.
  v1::GetTableRequest get;
  get.set_digest(response.tables(0).table().digest());
  FoundTable table;
  EXPECT_TRUE(handler_.GetTable(get, &table).ok());
}

// The first table of a kernel that is refused is asked for most.
TEST_F(TableAdminTest, RejectedTablesAreFoundWhereNothingServes) {
  v1::ListRejectedTablesRequest request;
  request.set_kernel(spec_.name);
  v1::ListRejectedTablesResponse response;
  EXPECT_TRUE(
      absl::IsNotFound(handler_.ListRejectedTables(request, &response)));
  const RejectedTable rejected{.record = {.key = Key(device_), .job_id = 9},
                               .reason = "slower than the default",
                               .at_us = 5};
  ASSERT_TRUE(tables_
                  .Reject(rejected, *EncodeTable(FixedTable(
                                        spec_, Key(device_),
                                        spec_.default_configuration, 12)))
                  .ok());
  const absl::Status status = handler_.ListRejectedTables(request, &response);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(response.tables_size(), 1);
  EXPECT_EQ(response.tables(0).reason(), rejected.reason);
}

TEST_F(TableAdminTest, AnImportedTableIsStaleUntilItIsTrusted) {
  kernels_.Add(spec_);
  v1::ImportTableRequest request = ImportRequest(device_);
  v1::ImportTableResponse response;
  absl::Status status = admin_.Import(request, "1000", &response);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(response.table().unverified());
  EXPECT_TRUE(response.table().stale());
  EXPECT_EQ(response.table().stale_reason(), "imported, not verified here");
  EXPECT_EQ(response.table().how(), v1::IMPORTED);
  EXPECT_EQ(response.table().by(), "1000");
  EXPECT_EQ(response.table().why(), "from node 7");
  v1::GetTableRequest get;
  get.set_kernel(spec_.name);
  FoundTable served;
  ASSERT_TRUE(handler_.GetTable(get, &served).ok());
  EXPECT_EQ(served.table->payload(), request.payload());
  EXPECT_TRUE(served.info.stale());
  request.set_trust(true);
  ASSERT_TRUE(admin_.Import(request, "1000", &response).ok());
  EXPECT_FALSE(response.table().stale()) << response.table().stale_reason();
  v1::RetireTableRequest retire;
  retire.set_digest(response.table().digest().substr(0, 12));
  v1::RetireTableResponse retired;
  status = admin_.Retire(retire, "1000", &retired);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr(device_.uuid), HasSubstr("--although-it-serves")));
  retire.set_although_it_serves(true);
  retire.set_device_uuid("GPU-none");
  EXPECT_TRUE(absl::IsNotFound(admin_.Retire(retire, "1000", &retired)));
  retire.set_device_uuid(device_.uuid);
  status = admin_.Retire(retire, "1000", &retired);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(retired.ended_size(), 1);
  EXPECT_TRUE(absl::IsNotFound(admin_.Retire(retire, "1000", &retired)));
}

TEST_F(TableAdminTest, RetiringWhatIsKeptForOldDevicesLeavesWhatServes) {
  kernels_.Add(spec_);
  DeviceFacts before = device_;
  before.driver = "of before";
  const std::string payload = *EncodeTable(
      FixedTable(spec_, CurrentKey(before), spec_.default_configuration, 12));
  TableRecord old{.key = CurrentKey(before)};
  ASSERT_TRUE(tables_.Promote(old, payload).ok());
  TableRecord now{.key = CurrentKey(device_)};
  now.carried_from = "an environment of nobody";
  const std::string digest = tables_.Promote(now, payload)->digest;
  ASSERT_THAT(tables_.snapshot()->tables, SizeIs(2));
  v1::RetireTableRequest retire;
  retire.set_digest(digest);
  v1::RetireTableResponse retired;
  ASSERT_TRUE(admin_.Retire(retire, "1000", &retired).ok());
  ASSERT_EQ(retired.ended_size(), 1);
  EXPECT_EQ(retired.ended(0).environment_key(), EnvironmentKey(before));
  ASSERT_THAT(tables_.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(tables_.snapshot()->tables[0].record.key, now.key);
}

TEST_F(TableAdminTest, WithoutATableARollbackMeansTheOnlySiliconThereIs) {
  const TableRecord served = Promote(device_, 10);
  ASSERT_TRUE(tables_.Retire(served.key).ok());
  v1::RollBackResponse response;
  const absl::Status status =
      admin_.RollBack(RollBackRequest(), "0", &response);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(response.table().digest(), served.digest);
}

TEST_F(TableAdminTest, ImportsOnlyForSiliconThatWasSeenHere) {
  kernels_.Add(spec_);
  DeviceFacts smaller = device_;
  smaller.multiprocessors = 66;
  v1::ImportTableResponse response;
  const absl::Status status =
      admin_.Import(ImportRequest(smaller), "0", &response);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr(SiliconKey(device_)), HasSubstr(SiliconKey(smaller))));
}

TEST_F(TableAdminTest, ImportsNothingThatTheKernelHereCannotLaunch) {
  v1::ImportTableResponse response;
  // No such kernel.
  EXPECT_TRUE(
      absl::IsNotFound(admin_.Import(ImportRequest(device_), "0", &response)));
  KernelSpec edited = spec_;
  edited.parameters[0].name += "_edited";
  kernels_.Add(edited);
  absl::Status status = admin_.Import(ImportRequest(device_), "0", &response);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another version"));
  KernelSpec narrower = spec_;
  std::erase(narrower.parameters[0].values, spec_.default_configuration[0]);
  kernels_.Add(narrower);
  status = admin_.Import(ImportRequest(device_), "0", &response);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not declare"));
  kernels_.Add(spec_);
  v1::ImportTableRequest illegal = ImportRequest(device_);
  Table table = *DecodeTable(illegal.payload());
  table.sub_tables[0].portfolio[0].configuration = {64, 128, 16, 1, 4};
  illegal.set_payload(*EncodeTable(table));
  status = admin_.Import(illegal, "0", &response);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not allow"));
  table.sub_tables[0].portfolio[0].configuration = {16, 32, 16, 1, 4};
  illegal.set_payload(*EncodeTable(table));
  status = admin_.Import(illegal, "0", &response);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("k % 4 == 0"));
  v1::ImportTableRequest nonsense;
  nonsense.set_payload("nonsense");
  status = admin_.Import(nonsense, "0", &response);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is no table"));
  EXPECT_THAT(tables_.snapshot()->tables, SizeIs(0));
}

TEST_F(TableAdminTest, ImportsNothingThatSamplesHereShowWrong) {
  kernels_.Add(spec_);
  CandidateRecord wrong;
  wrong.candidate.configuration = spec_.default_configuration;
  wrong.candidate.excluded_reason = "wrong result: output 'c' at m=1";
  const std::vector<CandidateRecord> records = {wrong};
  ASSERT_TRUE(samples_.Append(CurrentKey(device_), 1, {}, records).ok());
  v1::ImportTableRequest request = ImportRequest(device_);
  request.set_trust(true);
  v1::ImportTableResponse response;
  const absl::Status status = admin_.Import(request, "0", &response);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("must not serve"));
}

}  // namespace
}  // namespace wavetune
