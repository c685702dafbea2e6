#include "server/rpc/table_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"
#include "server/jobs/fake_measurement_executor.h"
#include "server/jobs/fake_profiling.h"
#include "server/store/fake_stores.h"
#include "server/store/faulty_stores.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Response = v1::WatchTablesResponse;

// Keeps notices; full on request.
class FakeSink : public TableHandler::Sink {
 public:
  bool Push(const TableNotices& notices) override {
    if (full_) return false;
    notices_.insert(notices_.end(), notices.begin(), notices.end());
    return true;
  }
  void Replace(const TableNotices& notices) override { notices_ = notices; }

  void SetFull(bool full) { full_ = full; }
  std::vector<int> Kinds() const {
    std::vector<int> kinds;
    for (const TableNotice& notice : notices_) kinds.push_back(notice->kind());
    return kinds;
  }
  const TableNotices& notices() const { return notices_; }

 private:
  TableNotices notices_;
  bool full_ = false;
};

class TableHandlerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(device_store_.Put({.facts = device_}).ok());
    ASSERT_TRUE(devices_.Load().ok());
  }

  ProfileKey Key(const std::string& fingerprint) const {
    return {spec_.name, fingerprint, SiliconKey(device_),
            EnvironmentKey(device_)};
  }

  std::string Promote(const std::string& fingerprint = std::string(64, 'a'),
                      double latency_us = 10) {
    const ProfileKey key = Key(fingerprint);
    const auto payload = EncodeTable(
        FixedTable(spec_, key, spec_.default_configuration, latency_us));
    return tables_.Promote({.key = key}, *payload)->digest;
  }

  std::shared_ptr<TableHandler::Watch> Watch(const std::string& store_id,
                                             uint64_t from_revision) {
    v1::WatchTablesRequest request;
    request.set_store_id(store_id);
    request.set_from_revision(from_revision);
    return handler_.WatchTables(request, sink_);
  }

  const KernelSpec spec_ = testing::GemmSpec();
  const DeviceFacts device_ = testing::H200();
  FakeTableStore store_;
  FakeDeviceStore device_store_;
  Clock& clock_ = SystemClock();
  TableCatalog tables_{&store_, [](const std::string&) {}};
  AgentDirectory devices_{&device_store_, &clock_};
  FakeKernelCatalog kernels_;
  TableHandler handler_{"store-1", &tables_, &devices_, &kernels_};
  std::shared_ptr<FakeSink> sink_ = std::make_shared<FakeSink>();
};

TEST_F(TableHandlerTest, ListsWithTheDigestOfTheSet) {
  Promote();
  v1::ListTablesResponse all;
  ASSERT_TRUE(handler_.ListTables({}, &all).ok());
  ASSERT_EQ(all.tables_size(), 1);
  EXPECT_EQ(all.store_id(), "store-1");
  EXPECT_EQ(all.revision(), 1u);
  EXPECT_EQ(all.table_set_digest().size(), 64u);
  v1::ListTablesRequest filter;
  filter.set_kernel("other");
  v1::ListTablesResponse none;
  ASSERT_TRUE(handler_.ListTables(filter, &none).ok());
  EXPECT_EQ(none.tables_size(), 0);
}

TEST_F(TableHandlerTest, KnowsTheSetThatServesAndThoseAnnounced) {
  const std::string digest = Promote();
  v1::GetTableSetRequest request;
  request.set_digest(TableSetDigest({{spec_.name, digest}}));
  v1::GetTableSetResponse response;
  ASSERT_TRUE(handler_.GetTableSet(request, &response).ok());
  EXPECT_EQ(response.tables().at(spec_.name), digest);

  v1::AnnounceTableSetRequest announced;
  (*announced.mutable_tables())["other"] = std::string(64, 'c');
  v1::AnnounceTableSetResponse confirmed;
  ASSERT_TRUE(handler_.AnnounceTableSet(announced, &confirmed).ok());
  request.set_digest(confirmed.digest());
  response.Clear();
  ASSERT_TRUE(handler_.GetTableSet(request, &response).ok());
  EXPECT_EQ(response.tables().at("other"), std::string(64, 'c'));

  request.set_digest(std::string(64, 'd'));
  const absl::Status unknown = handler_.GetTableSet(request, &response);
  EXPECT_TRUE(absl::IsNotFound(unknown)) << unknown;
  request.set_digest("d");
  EXPECT_TRUE(
      absl::IsInvalidArgument(handler_.GetTableSet(request, &response)));
}

TEST_F(TableHandlerTest, KnowsTheSetOfOneDeviceClass) {
  const std::string digest = Promote();
  ProfileKey other = Key(std::string(64, 'a'));
  other.silicon_key = "another";
  const auto payload =
      EncodeTable(FixedTable(spec_, other, spec_.default_configuration, 11));
  ASSERT_TRUE(tables_.Promote({.key = other}, *payload).ok());
  v1::GetTableSetRequest request;
  request.set_digest(TableSetDigest({{spec_.name, digest}}));
  v1::GetTableSetResponse response;
  EXPECT_TRUE(handler_.GetTableSet(request, &response).ok());
}

TEST_F(TableHandlerTest, GetsByDigestOrByNameAndMarksStale) {
  const std::string digest = Promote();
  v1::GetTableRequest by_digest;
  by_digest.set_digest(digest);
  FoundTable found;
  ASSERT_TRUE(handler_.GetTable(by_digest, &found).ok());
  EXPECT_FALSE(found.table->payload().empty());

  DeviceFacts upgraded = device_;
  upgraded.uuid = "GPU-2";
  upgraded.driver = "999.1";
  ASSERT_TRUE(device_store_.Put({.facts = upgraded}).ok());
  ASSERT_TRUE(devices_.Load().ok());
  v1::GetTableRequest by_name;
  by_name.set_kernel(spec_.name);
  by_name.set_device_uuid("GPU-2");
  ASSERT_TRUE(handler_.GetTable(by_name, &found).ok());
  EXPECT_TRUE(found.info.stale());
  EXPECT_THAT(found.info.stale_reason(), HasSubstr("now \"999.1\""));
  by_name.set_digest(digest);
  EXPECT_TRUE(absl::IsInvalidArgument(handler_.GetTable(by_name, &found)));
  by_name.clear_digest();
  by_name.set_device_uuid("GPU-3");
  EXPECT_THAT(std::string(handler_.GetTable(by_name, &found).message()),
              HasSubstr("GPU-2"));
}

TEST_F(TableHandlerTest, ARequestWithoutADeviceMeansTheNodesSilicon) {
  const std::string digest = Promote();
  v1::GetTableRequest request;
  request.set_kernel(spec_.name);
  FoundTable found;
  ASSERT_TRUE(handler_.GetTable(request, &found).ok());

  // Another node, whose two equal devices have a newer driver.
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  DeviceFacts twin = upgraded;
  twin.uuid = "GPU-2";
  FakeDeviceStore twins;
  ASSERT_TRUE(twins.Put({.facts = upgraded}).ok());
  ASSERT_TRUE(twins.Put({.facts = twin}).ok());
  AgentDirectory two(&twins, &clock_);
  ASSERT_TRUE(two.Load().ok());
  TableHandler on_two("store-1", &tables_, &two, &kernels_);
  ASSERT_TRUE(on_two.GetTable(request, &found).ok());
  EXPECT_TRUE(found.info.stale());
  EXPECT_EQ(found.info.digest(), digest);

  // One whose only device is of other silicon.
  DeviceFacts smaller = device_;
  smaller.multiprocessors = 66;
  FakeDeviceStore other;
  ASSERT_TRUE(other.Put({.facts = smaller}).ok());
  AgentDirectory one(&other, &clock_);
  ASSERT_TRUE(one.Load().ok());
  TableHandler on_other("store-1", &tables_, &one, &kernels_);
  EXPECT_TRUE(absl::IsNotFound(on_other.GetTable(request, &found)));
}

TEST_F(TableHandlerTest, EveryAnswerSaysThatATableIsOfAnotherDriver) {
  const std::string digest = Promote();
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  ASSERT_TRUE(device_store_.Put({.facts = upgraded}).ok());
  ASSERT_TRUE(devices_.Load().ok());

  v1::ListTablesResponse list;
  ASSERT_TRUE(handler_.ListTables({}, &list).ok());
  ASSERT_EQ(list.tables_size(), 1);
  EXPECT_TRUE(list.tables(0).stale());
  EXPECT_THAT(list.tables(0).stale_reason(), HasSubstr("now \"999.1\""));

  v1::GetTableRequest by_digest;
  by_digest.set_digest(digest);
  FoundTable found;
  ASSERT_TRUE(handler_.GetTable(by_digest, &found).ok());
  EXPECT_TRUE(found.info.stale());

  const auto watch = Watch("", 0);
  EXPECT_TRUE(sink_->notices()[0]->table().stale());
}

TEST_F(TableHandlerTest, AnEditedKernelMakesItsTableStale) {
  kernels_.Add(spec_, "1");
  const std::string before = *kernels_.Fingerprint(spec_.name, device_);
  Promote(before);
  v1::ListTablesResponse list;
  ASSERT_TRUE(handler_.ListTables({}, &list).ok());
  EXPECT_FALSE(list.tables(0).stale());

  kernels_.Add(spec_, "2");
  ASSERT_TRUE(handler_.ListTables({}, &list).ok());
  EXPECT_TRUE(list.tables(1).stale());
  v1::GetTableRequest by_name;
  by_name.set_kernel(spec_.name);
  FoundTable found;
  ASSERT_TRUE(handler_.GetTable(by_name, &found).ok());
  EXPECT_TRUE(found.info.stale());
  // Who names the version is told, too: the node's kernel is another one.
  by_name.set_fingerprint(before);
  ASSERT_TRUE(handler_.GetTable(by_name, &found).ok());
  EXPECT_TRUE(found.info.stale());
}

TEST_F(TableHandlerTest, WatchersHearThatATableBecameStale) {
  Promote();
  const auto watch = Watch("", 0);
  const TableRecord record = tables_.snapshot()->tables[0].record;
  tables_.Remark(record, "driver \"1\", now \"2\"");
  ASSERT_EQ(sink_->Kinds().back(), Response::REMARKED);
  EXPECT_EQ(sink_->notices().back()->table().stale_reason(),
            "driver \"1\", now \"2\"");
  EXPECT_EQ(sink_->notices().back()->revision(), 1u);
}

TEST_F(TableHandlerTest, ALateWatcherHearsWhatNobodyWatchedBecomeStale) {
  kernels_.Add(spec_, "1");
  Promote(*kernels_.Fingerprint(spec_.name, device_));
  Watch("", 0).reset();
  EXPECT_FALSE(sink_->notices()[0]->table().stale());
  kernels_.Add(spec_, "2");
  tables_.Remark(tables_.snapshot()->tables[0].record, "edited");
  const auto late = Watch("", 0);
  EXPECT_TRUE(sink_->notices()[0]->table().stale());
}

TEST_F(TableHandlerTest, AWatchStartsWithTheSnapshotAndFollowsChanges) {
  Promote();
  const auto watch = Watch("", 0);
  EXPECT_THAT(sink_->Kinds(),
              ElementsAre(Response::SNAPSHOT, Response::SYNCED));
  EXPECT_EQ(handler_.watchers(), 1);
  const std::string digest = Promote(std::string(64, 'a'), 11);
  ASSERT_TRUE(tables_.Retire(Key(std::string(64, 'a'))).ok());
  EXPECT_THAT(sink_->Kinds(),
              ElementsAre(Response::SNAPSHOT, Response::SYNCED,
                          Response::PROMOTED, Response::RETIRED));
  EXPECT_EQ(sink_->notices()[2]->table().digest(), digest);
  EXPECT_EQ(sink_->notices()[3]->revision(), 3u);
}

TEST_F(TableHandlerTest, ADroppedWatchHearsNothing) {
  auto watch = Watch("", 0);
  watch.reset();
  EXPECT_EQ(handler_.watchers(), 0);
  Promote();
  EXPECT_THAT(sink_->Kinds(), ElementsAre(Response::SYNCED));
}

TEST_F(TableHandlerTest, AReturningWatcherCatchesUp) {
  Promote();
  Promote(std::string(64, 'b'), 11);
  const auto watch = Watch("store-1", 1);
  EXPECT_THAT(sink_->Kinds(),
              ElementsAre(Response::PROMOTED, Response::REMARKED,
                          Response::REMARKED, Response::SYNCED));
  EXPECT_EQ(sink_->notices()[0]->revision(), 2u);
}

TEST_F(TableHandlerTest, AWatcherOfAnotherStoreOrRevisionResyncs) {
  Promote();
  const auto other_store = Watch("store-0", 1);
  EXPECT_THAT(sink_->Kinds(), ElementsAre(Response::RESYNC, Response::SNAPSHOT,
                                          Response::SYNCED));
  sink_->Replace({});
  const auto future = Watch("store-1", 7);
  EXPECT_THAT(sink_->Kinds(), ElementsAre(Response::RESYNC, Response::SNAPSHOT,
                                          Response::SYNCED));
}

TEST_F(TableHandlerTest, ASlowWatcherGetsWhatServesInsteadOfEveryChange) {
  const auto watch = Watch("", 0);
  sink_->SetFull(true);
  Promote();
  EXPECT_THAT(sink_->Kinds(), ElementsAre(Response::RESYNC, Response::SNAPSHOT,
                                          Response::SYNCED));
}

TEST_F(TableHandlerTest, WatchersShareTheirNotices) {
  Promote();
  const auto first = Watch("", 0);
  const TableNotices shared = sink_->notices();
  const auto second = Watch("", 0);
  EXPECT_EQ(sink_->notices()[0], shared[0]);
}

TEST_F(TableHandlerTest, AWithdrawnTableIsListedWithTheReasonAndNotServed) {
  const std::string digest = Promote();
  const ProfileKey key = Key(std::string(64, 'a'));
  ASSERT_TRUE(
      tables_
          .Withdraw(key, tables_.snapshot()->tables[0].record, "it is wrong", 7)
          .ok());
  v1::ListTablesResponse listed;
  ASSERT_TRUE(handler_.ListTables({}, &listed).ok());
  EXPECT_EQ(listed.tables_size(), 0);
  ASSERT_EQ(listed.withdrawn_size(), 1);
  EXPECT_EQ(listed.withdrawn(0).digest(), digest);
  EXPECT_EQ(listed.withdrawn(0).withdrawn(), "it is wrong");

  v1::GetTableRequest by_name;
  by_name.set_kernel(spec_.name);
  FoundTable found;
  const absl::Status refused = handler_.GetTable(by_name, &found);
  EXPECT_TRUE(absl::IsNotFound(refused));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("was withdrawn: it is wrong"));
  // For people, and for who pinned it: it says what is the matter.
  v1::GetTableRequest by_digest;
  by_digest.set_digest(digest);
  ASSERT_TRUE(handler_.GetTable(by_digest, &found).ok());
  EXPECT_EQ(found.info.withdrawn(), "it is wrong");
}

TEST_F(TableHandlerTest, ATableThatCannotBeReadIsListedWithWhatToDo) {
  store_.Corrupt(Promote());
  TableCatalog reopened(&store_, [](const std::string&) {});
  ASSERT_TRUE(reopened.Load().ok());
  const TableHandler handler("store-1", &reopened, &devices_, &kernels_);
  v1::ListTablesRequest request;
  request.set_kernel(spec_.name);
  request.set_device_uuid(device_.uuid);
  v1::ListTablesResponse listed;
  ASSERT_TRUE(handler.ListTables(request, &listed).ok());
  EXPECT_EQ(listed.tables_size(), 0);
  ASSERT_EQ(listed.left_out_size(), 1);
  EXPECT_THAT(listed.left_out(0), HasSubstr("wavetune reprofile --kernel " +
                                            spec_.name + " --refit-only"));
  request.set_kernel("other");
  v1::ListTablesResponse none;
  ASSERT_TRUE(handler.ListTables(request, &none).ok());
  EXPECT_EQ(none.left_out_size(), 0);
}

TEST_F(TableHandlerTest, WatchersHearOfAWithdrawalThenAndLater) {
  Promote();
  const auto watch = Watch("", 0);
  ASSERT_TRUE(tables_
                  .Withdraw(Key(std::string(64, 'a')),
                            tables_.snapshot()->tables[0].record, "it is wrong",
                            7)
                  .ok());
  EXPECT_THAT(sink_->Kinds(), ElementsAre(Response::SNAPSHOT, Response::SYNCED,
                                          Response::RETIRED));
  EXPECT_EQ(sink_->notices()[2]->table().withdrawn(), "it is wrong");
  // Behind SYNCED: the revision is known by then.
  sink_ = std::make_shared<FakeSink>();
  const auto late = Watch("", 0);
  EXPECT_THAT(sink_->Kinds(), ElementsAre(Response::SYNCED, Response::RETIRED));
  EXPECT_EQ(sink_->notices()[1]->table().withdrawn(), "it is wrong");
  EXPECT_EQ(sink_->notices()[1]->revision(), 2u);
}

TEST_F(TableHandlerTest, AReturningWatcherHearsOfWhatTheStoreCouldNotTake) {
  FaultyTableStore faulty(&store_);
  TableCatalog tables(&faulty, [](const std::string&) {});
  TableHandler handler("store-1", &tables, &devices_, &kernels_);
  const ProfileKey key = Key(std::string(64, 'a'));
  const auto payload =
      EncodeTable(FixedTable(spec_, key, spec_.default_configuration, 10));
  const TableRecord served = *tables.Promote({.key = key}, *payload);
  faulty.writes().Fail(absl::ResourceExhaustedError("disk full"));
  ASSERT_FALSE(tables.Withdraw(key, served, "it is wrong", 7).ok());
  // It was away just then, and knows the revision.
  v1::WatchTablesRequest request;
  request.set_store_id("store-1");
  request.set_from_revision(served.revision);
  const auto watch = handler.WatchTables(request, sink_);
  ASSERT_THAT(sink_->Kinds(), ElementsAre(Response::SYNCED, Response::RETIRED));
  EXPECT_EQ(sink_->notices()[1]->table().withdrawn(), "it is wrong");
}

}  // namespace
}  // namespace wavetune
