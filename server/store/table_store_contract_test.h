// What every TableStore promises. Use: as sample_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_TABLE_STORE_CONTRACT_TEST_H_
#define WAVETUNE_SERVER_STORE_TABLE_STORE_CONTRACT_TEST_H_

#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/store_contract_test_records.h"
#include "server/store/table_store.h"

namespace wavetune::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// An empty store, and a way to damage a payload in it.
class TableStoreUnderTest {
 public:
  virtual ~TableStoreUnderTest() = default;
  virtual TableStore& store() = 0;
  virtual void Corrupt(const std::string& digest) = 0;
};
using TableStoreFactory = std::unique_ptr<TableStoreUnderTest> (*)();

class TableStoreContractTest
    : public ::testing::TestWithParam<TableStoreFactory> {
 protected:
  TableStore& store() { return holder_->store(); }

  const ProfileKey key_ = TestKey();
  const std::unique_ptr<TableStoreUnderTest> holder_ = GetParam()();
};

TEST_P(TableStoreContractTest, IsEmptyAtFirst) {
  EXPECT_THAT(store().ListServing().value(), IsEmpty());
  EXPECT_EQ(store().Revision(), 0u);
  EXPECT_EQ(store().Get("abc").status().code(), absl::StatusCode::kNotFound);
}

TEST_P(TableStoreContractTest, ServesWhatWasPromoted) {
  const std::string payload("\0payload\xff", 9);
  const TableRecord record = store().Promote(TestTable(key_), payload).value();
  EXPECT_EQ(record.digest, Sha256Hex(payload));
  EXPECT_EQ(record.size_bytes, 9);
  EXPECT_EQ(record.epoch, 1u);
  EXPECT_EQ(record.revision, 1u);
  EXPECT_EQ(record.device_label, "NVIDIA H200");
  EXPECT_EQ(store().Revision(), 1u);
  EXPECT_THAT(store().ListServing().value(), ElementsAre(record));
  const StoredPayload stored = store().Get(record.digest).value();
  EXPECT_EQ(stored.payload, payload);
  EXPECT_EQ(stored.record, record);
}

TEST_P(TableStoreContractTest, KeepsTheOldTableReadableByItsDigest) {
  const TableRecord old = store().Promote(TestTable(key_), "old").value();
  const TableRecord anew = store().Promote(TestTable(key_), "new").value();
  EXPECT_GT(anew.epoch, old.epoch);
  EXPECT_GT(anew.revision, old.revision);
  EXPECT_THAT(store().ListServing().value(), ElementsAre(anew));
  EXPECT_EQ(store().Get(old.digest)->payload, "old");
}

TEST_P(TableStoreContractTest, RollsBackByPromotingAgain) {
  ASSERT_TRUE(store().Promote(TestTable(key_), "old").ok());
  ASSERT_TRUE(store().Promote(TestTable(key_), "new").ok());
  const TableRecord again = store().Promote(TestTable(key_), "old").value();
  EXPECT_EQ(again.epoch, 3u);
  EXPECT_THAT(store().ListServing().value(), ElementsAre(again));
  EXPECT_EQ(store().Get(again.digest)->record, again);
}

TEST_P(TableStoreContractTest, KeepsWhoPromotedATableAndWhy) {
  TableRecord record = TestTable(key_);
  record.how = PromotionKind::kProfiled;
  record.job_id = 7;
  record.by = "1000";
  record.why = "1.2 times as fast";
  record.unverified = true;
  const TableRecord stored = store().Promote(record, "x").value();
  EXPECT_EQ(stored.by, "1000");
  EXPECT_THAT(store().ListServing().value(), ElementsAre(stored));
  EXPECT_THAT(store().History(key_.kernel, key_.silicon_key).value(),
              ElementsAre(stored));
}

TEST_P(TableStoreContractTest, KeepsTheHistoryOfAKernelOnASilicon) {
  EXPECT_THAT(store().History(key_.kernel, key_.silicon_key).value(),
              IsEmpty());
  const TableRecord first = store().Promote(TestTable(key_), "1").value();
  ASSERT_TRUE(store().Promote(TestTable(TestKey("other")), "2").ok());
  ProfileKey other_silicon = key_;
  other_silicon.silicon_key = "backend=cuda;arch=sm_80;mp=108";
  ASSERT_TRUE(store().Promote(TestTable(other_silicon), "3").ok());
  ProfileKey upgraded = key_;
  upgraded.environment_key = "driver=590";
  const TableRecord second = store().Promote(TestTable(upgraded), "4").value();
  TableRecord wrong = second;
  wrong.withdrawn = "it computes wrong results";
  const TableRecord withdrawn = store().Withdraw(wrong).value();
  ASSERT_TRUE(store().Retire(key_).ok());
  EXPECT_THAT(store().History(key_.kernel, key_.silicon_key).value(),
              ElementsAre(withdrawn, second, first));
}

TEST_P(TableStoreContractTest, ARollbackEndsWhatCameSince) {
  ProfileKey upgraded = key_;
  upgraded.environment_key = "driver=590";
  const TableRecord old = store().Promote(TestTable(key_), "old").value();
  ASSERT_TRUE(store().Promote(TestTable(upgraded), "new").ok());
  TableRecord record = old;
  record.how = PromotionKind::kRolledBack;
  const TableRecord again = store().RollBack(record, "old", {upgraded}).value();
  EXPECT_EQ(again.digest, old.digest);
  EXPECT_EQ(again.epoch, 3u);
  EXPECT_EQ(again.revision, 3u);
  EXPECT_EQ(store().Revision(), 4u);
  EXPECT_THAT(store().ListServing().value(), ElementsAre(again));
  // Numbers go on from there.
  const TableRecord next = store().Promote(TestTable(key_), "next").value();
  EXPECT_EQ(next.epoch, 4u);
  EXPECT_EQ(next.revision, 5u);
}

inline RejectedTable TestRejected(const ProfileKey& key, uint64_t job_id) {
  RejectedTable table{.record = TestTable(key),
                      .reason = "refused: slower than the incumbent",
                      .at_us = 1'700'000'000'000'002,
                      .points = {{.problem = {.extents = {64, 4096, 512},
                                              .repeated = {},
                                              .specialisation = "a"},
                                  .weight = 2,
                                  .chosen_us = 12.5,
                                  .incumbent_us = 11.5}}};
  table.record.job_id = job_id;
  return table;
}

TEST_P(TableStoreContractTest, KeepsRejectedTablesWithTheirEvidence) {
  EXPECT_THAT(store().ListRejected(key_.kernel, key_.silicon_key).value(),
              IsEmpty());
  const TableRecord served = store().Promote(TestTable(key_), "served").value();
  ASSERT_TRUE(store().Reject(TestRejected(key_, 7), "rejected").ok());
  ASSERT_TRUE(store().Reject(TestRejected(key_, 300), "served").ok());
  ASSERT_TRUE(store().Reject(TestRejected(TestKey("other"), 8), "x").ok());
  const auto rejected =
      store().ListRejected(key_.kernel, key_.silicon_key).value();
  ASSERT_EQ(rejected.size(), 2u);
  EXPECT_EQ(rejected[0].record.job_id, 300u);
  RejectedTable expected = TestRejected(key_, 7);
  expected.record.digest = Sha256Hex("rejected");
  expected.record.size_bytes = 8;
  EXPECT_EQ(rejected[1], expected);
  EXPECT_EQ(store().Get(expected.record.digest)->payload, "rejected");
  // What serves is as it was.
  EXPECT_EQ(store().Get(served.digest)->record, served);
  EXPECT_THAT(store().ListServing().value(), ElementsAre(served));
  EXPECT_EQ(store().Revision(), served.revision);
  EXPECT_THAT(store().History(key_.kernel, key_.silicon_key).value(),
              ElementsAre(served));
}

TEST_P(TableStoreContractTest, AJobHasOneRejectedTable) {
  ASSERT_TRUE(store().Reject(TestRejected(key_, 7), "1").ok());
  ASSERT_TRUE(store().Reject(TestRejected(key_, 7), "2").ok());
  const auto rejected =
      store().ListRejected(key_.kernel, key_.silicon_key).value();
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].record.digest, Sha256Hex("2"));
}

TEST_P(TableStoreContractTest, ForgetsTheOldestRejectedTablesAndTheirPayloads) {
  const TableRecord served = store().Promote(TestTable(key_), "p1").value();
  for (uint64_t job = 1; job <= TableStore::kRejectedKept + 2; ++job) {
    // The first is one that has served; two share a payload.
    const std::string payload = job == 3 ? "p4" : "p" + std::to_string(job);
    ASSERT_TRUE(store().Reject(TestRejected(key_, job), payload).ok());
  }
  const auto rejected =
      store().ListRejected(key_.kernel, key_.silicon_key).value();
  ASSERT_EQ(rejected.size(), TableStore::kRejectedKept);
  EXPECT_EQ(rejected.back().record.job_id, 3u);
  EXPECT_TRUE(store().Get(served.digest).ok());
  EXPECT_EQ(store().Get(Sha256Hex("p2")).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(store().Get(Sha256Hex("p4")).ok());
  ASSERT_TRUE(store().Reject(TestRejected(key_, 100), "another").ok());
  EXPECT_TRUE(store().Get(Sha256Hex("p4")).ok());
}

TEST_P(TableStoreContractTest, KeepsPinsUntilTheyAreTakenAway) {
  EXPECT_THAT(store().ListPins().value(), IsEmpty());
  const PinRecord b{.kernel = "b",
                    .silicon_key = "mp=132",
                    .digest = std::string(64, 'd'),
                    .by = "0",
                    .why = "the new one is slower on Mondays",
                    .at_us = 5};
  const PinRecord aaa{.kernel = "aaa", .silicon_key = "mp=132"};
  ASSERT_TRUE(store().Pin(b).ok());
  ASSERT_TRUE(store().Pin(aaa).ok());
  EXPECT_THAT(store().ListPins().value(), ElementsAre(aaa, b));
  PinRecord again = b;
  again.why = "another reason";
  ASSERT_TRUE(store().Pin(again).ok());
  EXPECT_THAT(store().ListPins().value(), ElementsAre(aaa, again));
  ASSERT_TRUE(store().Unpin("aaa", "mp=132").ok());
  EXPECT_THAT(store().ListPins().value(), ElementsAre(again));
  EXPECT_EQ(store().Unpin("aaa", "mp=132").code(), absl::StatusCode::kNotFound);
}

TEST_P(TableStoreContractTest, ListsServingTablesSortedByKey) {
  ProfileKey other_class = TestKey("b");
  other_class.environment_key = "driver=1";
  const TableRecord c = store().Promote(TestTable(TestKey("c")), "1").value();
  const TableRecord bbb =
      store().Promote(TestTable(TestKey("bbb")), "2").value();
  const TableRecord b = store().Promote(TestTable(TestKey("b")), "3").value();
  const TableRecord b1 = store().Promote(TestTable(other_class), "4").value();
  EXPECT_THAT(store().ListServing().value(), ElementsAre(b1, b, bbb, c));
}

TEST_P(TableStoreContractTest, OnePayloadMayServeForTwoKeys) {
  const TableRecord a = store().Promote(TestTable(TestKey("a")), "x").value();
  const TableRecord b = store().Promote(TestTable(TestKey("b")), "x").value();
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_THAT(store().ListServing().value(), ElementsAre(a, b));
  ASSERT_TRUE(store().Retire(a.key).ok());
  EXPECT_EQ(store().Get(b.digest)->payload, "x");
}

TEST_P(TableStoreContractTest, RetiresATable) {
  const TableRecord record = store().Promote(TestTable(key_), "x").value();
  EXPECT_EQ(store().Retire(key_).value(), 2u);
  EXPECT_EQ(store().Revision(), 2u);
  EXPECT_THAT(store().ListServing().value(), IsEmpty());
  EXPECT_EQ(store().Get(record.digest)->payload, "x");
  EXPECT_EQ(store().Retire(key_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store().Revision(), 2u);
  // The epoch orders promotions, the revision everything.
  const TableRecord again = store().Promote(TestTable(key_), "x").value();
  EXPECT_EQ(again.epoch, 2u);
  EXPECT_EQ(again.revision, 3u);
}

TEST_P(TableStoreContractTest, WithdrawsATableUntilAnotherIsPromoted) {
  const TableRecord served = store().Promote(TestTable(key_), "x").value();
  TableRecord record = served;
  record.withdrawn = "it chooses BM=64, which computes wrong results";
  const TableRecord withdrawn = store().Withdraw(record).value();
  EXPECT_EQ(withdrawn.revision, 2u);
  EXPECT_GT(withdrawn.epoch, served.epoch);
  EXPECT_EQ(store().Revision(), 2u);
  EXPECT_THAT(store().ListServing().value(), IsEmpty());
  EXPECT_THAT(store().ListWithdrawn().value(), ElementsAre(withdrawn));
  EXPECT_EQ(store().Get(served.digest)->payload, "x");
  const TableRecord next = store().Promote(TestTable(key_), "y").value();
  EXPECT_THAT(store().ListServing().value(), ElementsAre(next));
  EXPECT_THAT(store().ListWithdrawn().value(), IsEmpty());
}

TEST_P(TableStoreContractTest, WithdrawsATableForAKeyThatItDoesNotServe) {
  // An edited kernel's profile has shown the older one's table wrong for it.
  const TableRecord served = store().Promote(TestTable(key_), "x").value();
  TableRecord record = served;
  record.key.fingerprint = std::string(64, 'e');
  record.withdrawn = "it chooses what is wrong now";
  const TableRecord withdrawn = store().Withdraw(record).value();
  EXPECT_THAT(store().ListServing().value(), ElementsAre(served));
  EXPECT_THAT(store().ListWithdrawn().value(), ElementsAre(withdrawn));
  ASSERT_TRUE(store().Retire(record.key).ok());
  EXPECT_THAT(store().ListWithdrawn().value(), IsEmpty());
  EXPECT_THAT(store().ListServing().value(), ElementsAre(served));
}

TEST_P(TableStoreContractTest, ReportsADamagedPayloadAndHealsByPromotion) {
  const TableRecord record = store().Promote(TestTable(key_), "x").value();
  const TableRecord other =
      store().Promote(TestTable(TestKey("other")), "y").value();
  holder_->Corrupt(record.digest);
  EXPECT_EQ(store().Get(record.digest).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(store().Get(other.digest)->payload, "y");
  ASSERT_TRUE(store().Promote(TestTable(key_), "x").ok());
  EXPECT_EQ(store().Get(record.digest)->payload, "x");
}

TEST_P(TableStoreContractTest, ForgetsPayloadsWithTheirHistory) {
  const TableRecord gone = store().Promote(TestTable(key_), "gone").value();
  const TableRecord serving = store().Promote(TestTable(key_), "now").value();
  TableRecord wrong = TestTable(TestKey("other"));
  wrong = store().Promote(wrong, "wrong").value();
  wrong.withdrawn = "it is wrong";
  const TableRecord withdrawn = store().Withdraw(wrong).value();
  RejectedTable rejected{.record = TestTable(key_), .reason = "slower"};
  rejected.record.job_id = 4;
  ASSERT_TRUE(store().Reject(rejected, "rejected").ok());
  const TableStore::Inventory before = store().TakeInventory().value();
  EXPECT_THAT(before.history, SizeIs(4));
  EXPECT_THAT(before.payloads, SizeIs(4));
  EXPECT_THAT(before.rejected, SizeIs(1));
  std::vector<std::string> digests(before.rejected.begin(),
                                   before.rejected.end());
  for (const TableRecord& record : before.payloads)
    digests.push_back(record.digest);
  EXPECT_EQ(store().Forget(digests).value(), 1);
  EXPECT_TRUE(absl::IsNotFound(store().Get(gone.digest).status()));
  for (const std::string& digest :
       {serving.digest, withdrawn.digest, *before.rejected.begin()}) {
    EXPECT_TRUE(store().Get(digest).ok());
  }
  EXPECT_THAT(store().History(key_.kernel, key_.silicon_key).value(),
              ElementsAre(serving));
  EXPECT_EQ(store().Forget(digests).value(), 0);
  EXPECT_EQ(store().Forget({}).value(), 0);
}

}  // namespace wavetune::testing

#endif  // WAVETUNE_SERVER_STORE_TABLE_STORE_CONTRACT_TEST_H_
