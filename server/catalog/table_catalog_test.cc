#include "server/catalog/table_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/digest.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "model/testing/kernels.h"
#include "server/jobs/fake_profiling.h"
#include "server/store/fake_stores.h"
#include "server/store/faulty_stores.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kOther[] =
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

class TableCatalogTest : public ::testing::Test {
 protected:
  ProfileKey Key(const DeviceFacts& device,
                 const std::string& fingerprint = std::string(64, 'a')) {
    return {spec_.name, fingerprint, SiliconKey(device),
            EnvironmentKey(device)};
  }

  TableRecord Promote(TableCatalog& catalog, const ProfileKey& key,
                      double latency_us = 10) {
    const Table table =
        FixedTable(spec_, key, spec_.default_configuration, latency_us);
    const auto payload = EncodeTable(table);
    EXPECT_TRUE(payload.ok()) << payload.status();
    TableRecord record{.key = key};
    record.device_label = "label";
    const auto promoted = catalog.Promote(record, *payload);
    EXPECT_TRUE(promoted.ok()) << promoted.status();
    return *promoted;
  }

  // Puts a table with the magic of releases before 1.0 into the store.
  TableRecord StoreOfBefore10(const ProfileKey& key) {
    std::string payload =
        *EncodeTable(FixedTable(spec_, key, spec_.default_configuration, 10));
    payload[3] = 'B';
    const auto stored = store_.Promote({.key = key}, payload);
    EXPECT_TRUE(stored.ok()) << stored.status();
    return *stored;
  }

  const KernelSpec spec_ = testing::GemmSpec();
  const DeviceFacts device_ = testing::H200();
  FakeTableStore store_;
  std::vector<std::string> warnings_;
  TableCatalog catalog_{
      &store_, [this](const std::string& w) { warnings_.push_back(w); }};
};

TEST_F(TableCatalogTest, NamesWhatThereIsWhenNothingFits) {
  EXPECT_THAT(catalog_.Find({.kernel = "nope"}).status().message(),
              HasSubstr("no kernel has one yet"));
  Promote(catalog_, Key(device_));
  const auto missing = catalog_.Find({.kernel = "nope"});
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(missing.status().message(), HasSubstr(spec_.name));
}

TEST_F(TableCatalogTest, ServesStaleWhenOnlyTheEnvironmentDiffers) {
  const TableRecord promoted = Promote(catalog_, Key(device_));
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  const auto match = catalog_.Find({.kernel = spec_.name, .device = upgraded});
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_TRUE(match->stale());
  EXPECT_THAT(match->stale_reason, HasSubstr("now \"999.1\""));
  EXPECT_EQ(match->serving.record.digest, promoted.digest);

  DeviceFacts other = device_;
  other.multiprocessors = 66;
  EXPECT_TRUE(absl::IsNotFound(
      catalog_.Find({.kernel = spec_.name, .device = other}).status()));
}

TEST_F(TableCatalogTest, ACarriedTableIsCurrentInBothEnvironments) {
  const TableRecord promoted = Promote(catalog_, Key(device_));
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  std::vector<TableChange> changes;
  const auto watch = catalog_.Subscribe(
      0, [&](const TableChange& change) { changes.push_back(change); });
  const auto carried = catalog_.CarryOver(
      promoted, {.key = Key(upgraded), .job_id = 7, .by = "1000", .why = "ok"});
  ASSERT_TRUE(carried.ok()) << carried.status();
  EXPECT_EQ(carried->digest, promoted.digest);
  EXPECT_EQ(carried->epoch, promoted.epoch + 1);
  EXPECT_EQ(carried->carried_from, EnvironmentKey(device_));
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].kind, TableChange::Kind::kPromoted);
  EXPECT_EQ(changes[0].revision, store_.Revision());
  for (const DeviceFacts& device : {device_, upgraded}) {
    const auto match = catalog_.Find({.kernel = spec_.name, .device = device});
    ASSERT_TRUE(match.ok()) << match.status();
    EXPECT_EQ(match->stale_reason, "");
  }
  // A job on an alike device comes second.
  EXPECT_TRUE(absl::IsAborted(
      catalog_.CarryOver(promoted, {.key = Key(upgraded)}).status()));
  EXPECT_THAT(catalog_.snapshot()->tables, SizeIs(1));
  TableCatalog again(&store_, [](const std::string&) {});
  ASSERT_TRUE(again.Load().ok());
  EXPECT_THAT(again.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(again.snapshot()->tables[0].record, *carried);
}

TEST_F(TableCatalogTest, NothingIsCarriedOverThatServesNoLonger) {
  const TableRecord old_table = Promote(catalog_, Key(device_), 10);
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  Promote(catalog_, Key(upgraded), 11);
  EXPECT_TRUE(absl::IsAborted(
      catalog_.CarryOver(old_table, {.key = Key(upgraded)}).status()));
  EXPECT_TRUE(absl::IsAborted(
      catalog_.CarryOver(old_table, {.key = Key(device_)}).status()));
  ProfileKey edited = Key(upgraded);
  edited.fingerprint = std::string(64, 'e');
  EXPECT_TRUE(absl::IsInvalidArgument(
      catalog_.CarryOver(old_table, {.key = edited}).status()));
}

TEST_F(TableCatalogTest, AnImportedTableIsVerifiedUnderItsOwnKey) {
  const ProfileKey key = Key(device_);
  TableRecord record{.key = key};
  record.unverified = true;
  const TableRecord imported =
      catalog_
          .Promote(record, *EncodeTable(FixedTable(
                               spec_, key, spec_.default_configuration, 10)))
          .value();
  const auto verified = catalog_.CarryOver(imported, {.key = key});
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_FALSE(verified->unverified);
  EXPECT_EQ(verified->carried_from, "");
  ASSERT_THAT(catalog_.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(catalog_.snapshot()->tables[0].record, *verified);
  EXPECT_EQ(catalog_.snapshot()->revision, store_.Revision());
}

TEST_F(TableCatalogTest, APinKeepsEveryOtherTableFromBeingCarriedOver) {
  const TableRecord older = Promote(catalog_, Key(device_), 10);
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  const TableRecord newer = Promote(catalog_, Key(upgraded), 11);
  ASSERT_TRUE(
      catalog_.Pin({.kernel = spec_.name, .silicon_key = SiliconKey(device_)})
          .ok());
  DeviceFacts later = device_;
  later.driver = "1000.1";
  EXPECT_THAT(catalog_.CarryOver(older, {.key = Key(later)}).status().message(),
              HasSubstr("pinned"));
  EXPECT_TRUE(catalog_.CarryOver(newer, {.key = Key(later)}).ok());
}

TEST_F(TableCatalogTest, PrefersTheSameEnvironment) {
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  const TableRecord old_table = Promote(catalog_, Key(device_), 10);
  const TableRecord new_table = Promote(catalog_, Key(upgraded), 11);
  const auto match = catalog_.Find({.kernel = spec_.name, .device = device_});
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_FALSE(match->stale());
  EXPECT_EQ(match->serving.record.digest, old_table.digest);
  // Without a device the newest counts.
  EXPECT_EQ(catalog_.Find({.kernel = spec_.name})->serving.record.digest,
            new_table.digest);
}

TEST_F(TableCatalogTest, ListsTheChoicesOfAnAmbiguousRequest) {
  DeviceFacts smaller = device_;
  smaller.multiprocessors = 66;
  Promote(catalog_, Key(device_), 10);
  const TableRecord other = Promote(catalog_, Key(smaller, kOther), 11);
  const auto match = catalog_.Find({.kernel = spec_.name});
  EXPECT_TRUE(absl::IsFailedPrecondition(match.status()));
  EXPECT_THAT(match.status().message(), HasSubstr(kOther));
  EXPECT_THAT(match.status().message(), HasSubstr(std::string(64, 'a')));
  const auto named =
      catalog_.Find({.kernel = spec_.name, .fingerprint = "bbbbbbbb"});
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->serving.record.digest, other.digest);
  EXPECT_TRUE(absl::IsInvalidArgument(
      catalog_.Find({.kernel = spec_.name, .fingerprint = "bbb"}).status()));
}

TEST_F(TableCatalogTest, PrefersTheCurrentFingerprintThenTheNewest) {
  const TableRecord old_table = Promote(catalog_, Key(device_), 10);
  const TableRecord new_table = Promote(catalog_, Key(device_, kOther), 11);
  TableQuery query{.kernel = spec_.name, .device = device_};
  EXPECT_EQ(catalog_.Find(query)->serving.record.digest, new_table.digest);
  query.current_fingerprint = [] { return std::string(64, 'a'); };
  EXPECT_EQ(catalog_.Find(query)->serving.record.digest, old_table.digest);
  query.current_fingerprint = [] { return std::string(64, 'c'); };
  EXPECT_EQ(catalog_.Find(query)->serving.record.digest, new_table.digest);
}

TEST_F(TableCatalogTest, KeepsReplacedTablesReadableByDigest) {
  const TableRecord first = Promote(catalog_, Key(device_), 10);
  const TableRecord second = Promote(catalog_, Key(device_), 11);
  EXPECT_EQ(catalog_.snapshot()->tables.size(), 1u);
  EXPECT_TRUE(catalog_.Get(first.digest).ok());
  EXPECT_TRUE(catalog_.Get(second.digest).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(catalog_.Get("xyz").status()));
  EXPECT_TRUE(absl::IsNotFound(catalog_.Get(std::string(64, '0')).status()));
}

TEST_F(TableCatalogTest, LeavesCorruptTablesOutAndSaysSo) {
  const TableRecord bad = Promote(catalog_, Key(device_), 10);
  const TableRecord good = Promote(catalog_, Key(device_, kOther), 11);
  store_.Corrupt(bad.digest);
  TableCatalog reopened(
      &store_, [this](const std::string& w) { warnings_.push_back(w); });
  ASSERT_TRUE(reopened.Load().ok());
  ASSERT_EQ(reopened.snapshot()->tables.size(), 1u);
  EXPECT_EQ(reopened.snapshot()->tables[0].record.digest, good.digest);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("left out")));
  EXPECT_THAT(warnings_[0], HasSubstr("wavetune reprofile --kernel " +
                                      spec_.name + " --refit-only"));
  // The other one serves in its place.
  EXPECT_THAT(reopened.snapshot()->left_out, IsEmpty());
}

// As a store of a release before 1.0 has them.
TEST_F(TableCatalogTest, KeepsInMindWhatAnUpgradeCannotReadUntilItIsReplaced) {
  DeviceFacts smaller = device_;
  smaller.multiprocessors = 66;
  const TableRecord old_table = StoreOfBefore10(Key(device_));
  StoreOfBefore10(Key(smaller));
  ASSERT_TRUE(catalog_.Load().ok());
  ASSERT_THAT(catalog_.snapshot()->tables, IsEmpty());
  std::vector<std::string> left_out;
  for (const auto current = catalog_.snapshot();
       const LeftOutTable& t : current->left_out) {
    left_out.push_back(t.why);
  }
  EXPECT_EQ(left_out, warnings_);
  ASSERT_THAT(left_out, SizeIs(2));
  EXPECT_THAT(left_out,
              Contains(AllOf(HasSubstr(ShortDigest(old_table.digest)),
                             HasSubstr(spec_.name), HasSubstr("before 1.0"),
                             HasSubstr("--refit-only"))));
  // Of the kernel as it is today.
  Promote(catalog_, Key(device_, kOther));
  ASSERT_THAT(catalog_.snapshot()->left_out, SizeIs(1));
  EXPECT_EQ(catalog_.snapshot()->left_out[0].key, Key(smaller));
  ASSERT_TRUE(catalog_.Retire(Key(smaller)).ok());
  EXPECT_THAT(catalog_.snapshot()->left_out, IsEmpty());
}

TEST_F(TableCatalogTest, ChangesNothingWhenTheStoreIsFull) {
  FaultyTableStore faulty(&store_);
  TableCatalog catalog(&faulty, [](const std::string&) {});
  const TableRecord first = Promote(catalog, Key(device_), 10);
  faulty.writes().Fail(absl::ResourceExhaustedError("disk full"));
  const auto payload = EncodeTable(
      FixedTable(spec_, Key(device_), spec_.default_configuration, 12));
  EXPECT_TRUE(absl::IsResourceExhausted(
      catalog.Promote({.key = Key(device_)}, *payload).status()));
  EXPECT_EQ(catalog.snapshot()->tables[0].record.digest, first.digest);
  EXPECT_EQ(catalog.snapshot()->revision, first.revision);
}

TEST_F(TableCatalogTest, TellsWatchersInOrderAndOnlyWhileTheyListen) {
  Promote(catalog_, Key(device_), 10);
  std::vector<uint64_t> heard;
  TableCatalog::Watch watch = catalog_.Subscribe(
      0, [&](const TableChange& change) { heard.push_back(change.revision); });
  EXPECT_EQ(watch.snapshot->revision, 1u);
  Promote(catalog_, Key(device_, kOther), 11);
  ASSERT_TRUE(catalog_.Retire(Key(device_)).ok());
  EXPECT_THAT(heard, ElementsAre(2u, 3u));
  watch.handle.reset();
  Promote(catalog_, Key(device_), 12);
  EXPECT_EQ(heard.size(), 2u);
}

TEST_F(TableCatalogTest, LateWatchersCatchUpWhereChangesAreKnown) {
  Promote(catalog_, Key(device_), 10);
  Promote(catalog_, Key(device_), 11);
  const auto listen = [](const TableChange&) {};
  const TableCatalog::Watch late = catalog_.Subscribe(1, listen);
  ASSERT_TRUE(late.changes.has_value());
  ASSERT_EQ(late.changes->size(), 1u);
  EXPECT_EQ(late.changes->front().revision, 2u);
  // A revision of the future, and one from before the start.
  EXPECT_FALSE(catalog_.Subscribe(9, listen).changes.has_value());
  TableCatalog reopened(&store_, [](const std::string&) {});
  ASSERT_TRUE(reopened.Load().ok());
  EXPECT_FALSE(reopened.Subscribe(1, listen).changes.has_value());
  EXPECT_TRUE(reopened.Subscribe(2, listen).changes.has_value());
}

TEST_F(TableCatalogTest, AnyFingerprintOfTheKernelIsTheIncumbent) {
  EXPECT_FALSE(catalog_.Incumbent(Key(device_)).has_value());
  const TableRecord other = Promote(catalog_, Key(device_, kOther), 10);
  EXPECT_EQ(catalog_.Incumbent(Key(device_))->record.digest, other.digest);
  const TableRecord own = Promote(catalog_, Key(device_), 11);
  Promote(catalog_, Key(device_, kOther), 12);
  EXPECT_EQ(catalog_.Incumbent(Key(device_))->record.digest, own.digest);
}

TEST_F(TableCatalogTest, NoOlderTableTakesThePlaceOfAWithdrawnOne) {
  const TableRecord old_table = Promote(catalog_, Key(device_), 10);
  const TableRecord current = Promote(catalog_, Key(device_, kOther), 11);
  ASSERT_TRUE(
      catalog_.Withdraw(current.key, current, "it chooses a wrong one", 7)
          .ok());
  const TableQuery by_name{.kernel = spec_.name, .device = device_};
  const auto found = catalog_.Find(by_name);
  EXPECT_TRUE(absl::IsNotFound(found.status()));
  EXPECT_THAT(std::string(found.status().message()),
              HasSubstr("was withdrawn: it chooses a wrong one"));
  ASSERT_TRUE(catalog_.FindWithdrawn(by_name).has_value());
  EXPECT_EQ(catalog_.FindWithdrawn(by_name)->record.digest, current.digest);
  EXPECT_FALSE(catalog_.Incumbent(current.key).has_value());
  // Who asks for the older version means it.
  const auto older = catalog_.Find(
      {.kernel = spec_.name, .device = device_, .fingerprint = "aaaaaaaa"});
  ASSERT_TRUE(older.ok()) << older.status();
  EXPECT_EQ(older->serving.record.digest, old_table.digest);
  // Another one ends it.
  const TableRecord next = Promote(catalog_, Key(device_, kOther), 12);
  EXPECT_EQ(catalog_.Find(by_name)->serving.record.digest, next.digest);
}

TEST_F(TableCatalogTest, AnOlderVersionsTableIsWithdrawnForTheEditedKernel) {
  const TableRecord served = Promote(catalog_, Key(device_));
  ASSERT_TRUE(
      catalog_.Withdraw(Key(device_, kOther), served, "wrong now", 7).ok());
  EXPECT_TRUE(absl::IsNotFound(
      catalog_.Find({.kernel = spec_.name, .device = device_}).status()));
  TableQuery query{.kernel = spec_.name, .device = device_};
  query.current_fingerprint = [] { return std::string(kOther); };
  EXPECT_TRUE(catalog_.FindWithdrawn(query).has_value());
  query.current_fingerprint = [] { return std::string(64, 'a'); };
  EXPECT_TRUE(catalog_.Find(query).ok());
}

TEST_F(TableCatalogTest, ATableVerifiedAgainstAnotherIncumbentIsNotPromoted) {
  const TableRecord serving = Promote(catalog_, Key(device_), 10);
  const auto payload = EncodeTable(
      FixedTable(spec_, Key(device_), spec_.default_configuration, 11));
  const TableRecord record{.key = Key(device_)};
  for (const std::string& verified : {std::string(), std::string(64, 'c')}) {
    const auto refused = catalog_.Promote(record, *payload, verified);
    EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr(ShortDigest(serving.digest)));
    EXPECT_EQ(catalog_.Incumbent(Key(device_))->record.digest, serving.digest);
  }
  EXPECT_TRUE(catalog_.Promote(record, *payload, serving.digest).ok());
}

TEST_F(TableCatalogTest, ATableThatWasWithdrawnMeanwhileIsNotBeaten) {
  const TableRecord serving = Promote(catalog_, Key(device_), 10);
  const auto payload = EncodeTable(
      FixedTable(spec_, Key(device_), spec_.default_configuration, 11));
  ASSERT_TRUE(catalog_.Withdraw(serving.key, serving, "it is wrong", 7).ok());
  const TableRecord record{.key = Key(device_)};
  EXPECT_TRUE(absl::IsAborted(
      catalog_.Promote(record, *payload, serving.digest).status()));
  EXPECT_TRUE(catalog_.Promote(record, *payload, "").ok());
}

TEST_F(TableCatalogTest, AWithdrawalSparesTheTableThatCameAfter) {
  const TableRecord first = Promote(catalog_, Key(device_), 10);
  const TableRecord second = Promote(catalog_, Key(device_), 11);
  ASSERT_TRUE(catalog_.Withdraw(first.key, first, "it is wrong", 7).ok());
  EXPECT_EQ(catalog_.Incumbent(Key(device_))->record.digest, second.digest);
}

TEST_F(TableCatalogTest, WatchersHearOfAWithdrawalAndWhy) {
  const TableRecord served = Promote(catalog_, Key(device_));
  std::vector<TableChange> heard;
  const auto watch = catalog_.Subscribe(
      0, [&](const TableChange& change) { heard.push_back(change); });
  ASSERT_TRUE(catalog_.Withdraw(served.key, served, "it is wrong", 7).ok());
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].kind, TableChange::Kind::kRetired);
  EXPECT_EQ(heard[0].table.digest, served.digest);
  EXPECT_EQ(heard[0].table.withdrawn, "it is wrong");
  EXPECT_EQ(heard[0].revision, 2u);
}

TEST_F(TableCatalogTest, AWithdrawnTableIsInMemory) {
  const TableRecord served = Promote(catalog_, Key(device_));
  ASSERT_TRUE(catalog_.Withdraw(served.key, served, "it is wrong", 7).ok());
  FaultyTableStore faulty(&store_);
  TableCatalog restarted(&faulty, [](const std::string&) {});
  ASSERT_TRUE(restarted.Load().ok());
  faulty.reads().Fail(absl::UnavailableError("the disk is gone"));
  for (TableCatalog* const catalog : {&catalog_, &restarted}) {
    const auto withdrawn = catalog->FindWithdrawn({.kernel = spec_.name});
    ASSERT_TRUE(withdrawn.has_value());
    ASSERT_NE(withdrawn->table, nullptr);
    EXPECT_EQ(withdrawn->table->table().default_configuration,
              spec_.default_configuration);
  }
}

TEST_F(TableCatalogTest, AWithdrawnTableThatCannotBeReadKeepsItsReason) {
  const TableRecord served = Promote(catalog_, Key(device_));
  ASSERT_TRUE(catalog_.Withdraw(served.key, served, "it is wrong", 7).ok());
  FaultyTableStore faulty(&store_);
  std::vector<std::string> warnings;
  TableCatalog restarted(
      &faulty, [&](const std::string& text) { warnings.push_back(text); });
  // The three lists are read, the table is not.
  faulty.reads().Fail(absl::DataLossError("corrupt"), /*skip=*/3);
  ASSERT_TRUE(restarted.Load().ok());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("cannot be read: corrupt")));
  const auto withdrawn = restarted.FindWithdrawn({.kernel = spec_.name});
  ASSERT_TRUE(withdrawn.has_value());
  EXPECT_EQ(withdrawn->record.withdrawn, "it is wrong");
  EXPECT_EQ(withdrawn->table, nullptr);
}

TEST_F(TableCatalogTest, AFullStoreKeepsNoWrongTableServing) {
  FaultyTableStore faulty(&store_);
  TableCatalog catalog(&faulty, [](const std::string&) {});
  const TableRecord served = Promote(catalog, Key(device_));
  faulty.writes().Fail(absl::ResourceExhaustedError("disk full"));
  EXPECT_TRUE(absl::IsResourceExhausted(
      catalog.Withdraw(served.key, served, "it is wrong", 7)));
  EXPECT_TRUE(absl::IsNotFound(catalog.Find({.kernel = spec_.name}).status()));
  EXPECT_EQ(catalog.snapshot()->withdrawn.size(), 1u);
}

TEST_F(TableCatalogTest, WhatAFullStoreCouldNotTakeIsWithdrawnInItLater) {
  FaultyTableStore faulty(&store_);
  TableCatalog catalog(&faulty, [](const std::string&) {});
  const TableRecord served = Promote(catalog, Key(device_));
  faulty.writes().Fail(absl::ResourceExhaustedError("disk full"));
  ASSERT_FALSE(catalog.Withdraw(served.key, served, "it is wrong", 7).ok());
  EXPECT_FALSE(catalog.SaveWithdrawals().ok());
  EXPECT_THAT(*store_.ListServing(), SizeIs(1));
  std::vector<TableChange> heard;
  const auto watch = catalog.Subscribe(
      0, [&](const TableChange& change) { heard.push_back(change); });
  faulty.writes().Heal();
  ASSERT_TRUE(catalog.SaveWithdrawals().ok());
  EXPECT_THAT(*store_.ListServing(), IsEmpty());
  EXPECT_THAT(*store_.ListWithdrawn(), SizeIs(1));
  EXPECT_THAT(catalog.snapshot()->withdrawn, SizeIs(1));
  ASSERT_THAT(heard, SizeIs(1));
  EXPECT_EQ(heard[0].revision, 2u);
  // Once is enough.
  ASSERT_TRUE(catalog.SaveWithdrawals().ok());
  EXPECT_THAT(heard, SizeIs(1));
}

TEST_F(TableCatalogTest, WhatWasPromotedMeanwhileIsNotWithdrawnLater) {
  FaultyTableStore faulty(&store_);
  TableCatalog catalog(&faulty, [](const std::string&) {});
  const TableRecord served = Promote(catalog, Key(device_), 10);
  faulty.writes().Fail(absl::ResourceExhaustedError("disk full"));
  ASSERT_FALSE(catalog.Withdraw(served.key, served, "it is wrong", 7).ok());
  faulty.writes().Heal();
  const TableRecord next = Promote(catalog, Key(device_), 11);
  ASSERT_TRUE(catalog.SaveWithdrawals().ok());
  ASSERT_THAT(catalog.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(catalog.snapshot()->tables[0].record.digest, next.digest);
}

TEST_F(TableCatalogTest, RollsBackAcrossEnvironments) {
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  const TableRecord old_table = Promote(catalog_, Key(device_), 10);
  const TableRecord new_table = Promote(catalog_, Key(upgraded), 11);
  std::vector<TableChange> changes;
  const auto watch = catalog_.Subscribe(
      0, [&](const TableChange& change) { changes.push_back(change); });
  const auto result = catalog_.RollBack(old_table, "1000", "slower", 77);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->table.digest, old_table.digest);
  EXPECT_EQ(result->table.epoch, new_table.epoch + 1);
  EXPECT_EQ(result->table.how, PromotionKind::kRolledBack);
  EXPECT_EQ(result->table.by, "1000");
  EXPECT_EQ(result->table.why, "slower");
  EXPECT_EQ(result->table.promoted_at_us, 77);
  EXPECT_THAT(result->ended, ElementsAre(new_table));
  // The upgraded device gets it, too, and is told that it is stale there.
  const auto match = catalog_.Find({.kernel = spec_.name, .device = upgraded});
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->serving.record.digest, old_table.digest);
  EXPECT_TRUE(match->stale());
  // The promotion comes first: nobody is without a table in between.
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].kind, TableChange::Kind::kPromoted);
  EXPECT_EQ(changes[0].table.digest, old_table.digest);
  EXPECT_EQ(changes[1].kind, TableChange::Kind::kRetired);
  EXPECT_EQ(changes[1].table.digest, new_table.digest);
  EXPECT_EQ(changes[1].revision, changes[0].revision + 1);
  EXPECT_EQ(catalog_.snapshot()->revision, changes[1].revision);
  // A restart finds the same.
  TableCatalog again(&store_, [](const std::string&) {});
  ASSERT_TRUE(again.Load().ok());
  ASSERT_THAT(again.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(again.snapshot()->tables[0].record, result->table);
  EXPECT_EQ(again.snapshot()->revision, changes[1].revision);
}

TEST_F(TableCatalogTest, ARollbackReplacesTheTableOfTheSameKey) {
  const TableRecord old_table = Promote(catalog_, Key(device_), 10);
  const TableRecord new_table = Promote(catalog_, Key(device_), 11);
  const auto result = catalog_.RollBack(old_table, "0", "", 1);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->ended, ElementsAre(new_table));
  ASSERT_THAT(catalog_.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(catalog_.snapshot()->tables[0].record.digest, old_table.digest);
  const auto history = catalog_.History(spec_.name, old_table.key.silicon_key);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_THAT(*history, ElementsAre(result->table, new_table, old_table));
  // Twice changes nothing.
  EXPECT_TRUE(absl::IsFailedPrecondition(
      catalog_.RollBack(old_table, "0", "", 1).status()));
  EXPECT_THAT(*catalog_.History(spec_.name, old_table.key.silicon_key),
              SizeIs(3));
}

TEST_F(TableCatalogTest, ARollbackThatCannotBeStoredChangesNothing) {
  FaultyTableStore faulty(&store_);
  TableCatalog catalog(&faulty, [](const std::string&) {});
  const TableRecord old_table = Promote(catalog, Key(device_), 10);
  const TableRecord new_table = Promote(catalog, Key(device_), 11);
  faulty.writes().Fail(absl::ResourceExhaustedError("disk full"));
  EXPECT_TRUE(absl::IsResourceExhausted(
      catalog.RollBack(old_table, "0", "", 1).status()));
  ASSERT_THAT(catalog.snapshot()->tables, SizeIs(1));
  EXPECT_EQ(catalog.snapshot()->tables[0].record, new_table);
}

TEST_F(TableCatalogTest, NoRollbackHidesThatTheKernelWasFoundWrong) {
  const TableRecord old_table = Promote(catalog_, Key(device_), 10);
  const TableRecord edited = Promote(catalog_, Key(device_, kOther), 11);
  ASSERT_TRUE(catalog_.Withdraw(edited.key, edited, "BM=64 is wrong", 7).ok());
  const absl::Status status = catalog_.RollBack(old_table, "0", "", 1).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("BM=64 is wrong"));
}

TEST_F(TableCatalogTest, ARollbackReplacesAWithdrawnTableOfTheSameKey) {
  const TableRecord old_table = Promote(catalog_, Key(device_), 10);
  const TableRecord wrong = Promote(catalog_, Key(device_), 11);
  ASSERT_TRUE(catalog_.Withdraw(wrong.key, wrong, "BM=64 is wrong", 7).ok());
  ASSERT_TRUE(catalog_.RollBack(old_table, "0", "", 1).ok());
  const auto match = catalog_.Find({.kernel = spec_.name, .device = device_});
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->serving.record.digest, old_table.digest);
  EXPECT_THAT(catalog_.snapshot()->withdrawn, IsEmpty());
}

TEST_F(TableCatalogTest, APinKeepsWhatServes) {
  const ProfileKey key = Key(device_);
  const TableRecord old_table = Promote(catalog_, key, 10);
  const TableRecord kept = Promote(catalog_, key, 11);
  const auto pinned = catalog_.Pin({.kernel = spec_.name,
                                    .silicon_key = key.silicon_key,
                                    .by = "1000",
                                    .why = "release week"});
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(*pinned, kept);
  const auto refused = catalog_.Promote(
      {.key = key},
      *EncodeTable(FixedTable(spec_, key, spec_.default_configuration, 12)));
  EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("user 1000"), HasSubstr("release week"),
                    HasSubstr("wavetune tables unpin")));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      catalog_.RollBack(old_table, "0", "", 1).status()));
  EXPECT_EQ(catalog_.snapshot()->tables[0].record, kept);
  // A restart keeps it.
  TableCatalog again(&store_, [](const std::string&) {});
  ASSERT_TRUE(again.Load().ok());
  const PinRecord* const pin =
      again.snapshot()->PinOf(spec_.name, key.silicon_key);
  ASSERT_NE(pin, nullptr);
  EXPECT_EQ(pin->digest, kept.digest);
  // What is found wrong goes all the same.
  ASSERT_TRUE(catalog_.Withdraw(key, kept, "BM=64 is wrong", 7).ok());
  EXPECT_THAT(catalog_.snapshot()->tables, IsEmpty());
  ASSERT_TRUE(catalog_.Unpin(spec_.name, key.silicon_key).ok());
  Promote(catalog_, key, 12);
}

TEST_F(TableCatalogTest, APinIsOfOneKernelOnOneSilicon) {
  DeviceFacts smaller = device_;
  smaller.multiprocessors = 66;
  Promote(catalog_, Key(device_), 10);
  ASSERT_TRUE(
      catalog_.Pin({.kernel = spec_.name, .silicon_key = SiliconKey(device_)})
          .ok());
  Promote(catalog_, Key(smaller), 11);
  EXPECT_TRUE(absl::IsNotFound(
      catalog_.Pin({.kernel = "nope", .silicon_key = SiliconKey(device_)})
          .status()));
  EXPECT_TRUE(
      absl::IsNotFound(catalog_.Unpin(spec_.name, SiliconKey(smaller))));
}

TEST_F(TableCatalogTest, AnEndIsToldAsTheDoingOfWhoEndedIt) {
  std::vector<TableChange> heard;
  const auto watch = catalog_.Subscribe(
      0, [&](const TableChange& change) { heard.push_back(change); });
  const TableRecord old = Promote(catalog_, Key(device_), 10);
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  const TableRecord served = Promote(catalog_, Key(upgraded), 11);
  ASSERT_TRUE(catalog_.RollBack(old, "1000", "slower", 5).ok());
  ASSERT_THAT(heard, SizeIs(4));
  EXPECT_EQ(heard[3].table.digest, served.digest);
  EXPECT_EQ(heard[3].by, "1000");
  EXPECT_THAT(heard[3].why, HasSubstr("rolled back to table"));
  ASSERT_TRUE(catalog_.Withdraw(old.key, old, "BM=64 is wrong", 77).ok());
  EXPECT_EQ(heard.back().by, kDaemonUser);
  EXPECT_EQ(heard.back().why, "BM=64 is wrong");
  const auto history = catalog_.History(spec_.name, SiliconKey(device_));
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->front().by, kDaemonUser);
  EXPECT_EQ(history->front().promoted_at_us, 77);
}

// Tables from elsewhere.
class TableImportTest : public TableCatalogTest {
 protected:
  std::string Payload(double latency_us = 12) {
    return *EncodeTable(FixedTable(spec_, Key(device_),
                                   spec_.default_configuration, latency_us));
  }
  TableRecord Imported(bool unverified = true) {
    TableRecord record{.key = Key(device_)};
    record.how = PromotionKind::kImported;
    record.by = "1000";
    record.unverified = unverified;
    return record;
  }
};

TEST_F(TableImportTest, ServesWhereNothingDoes) {
  const auto result = catalog_.Import(Imported(), Payload());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->ended, IsEmpty());
  EXPECT_TRUE(result->table.unverified);
  EXPECT_EQ(result->table.epoch, 1u);
  const auto match = catalog_.Find({.kernel = spec_.name, .device = device_});
  ASSERT_TRUE(match.ok()) << match.status();
  EXPECT_EQ(match->serving.record, result->table);
  // A job's table takes its place.
  const TableRecord own = Promote(catalog_, Key(device_), 10);
  EXPECT_FALSE(own.unverified);
  EXPECT_THAT(catalog_.snapshot()->tables, SizeIs(1));
}

// A job that began before it came has compared its table with nothing.
TEST_F(TableImportTest, ThatCameMeanwhileIsNoObstacleToAJobsTable) {
  ASSERT_TRUE(catalog_.Import(Imported(), Payload()).ok());
  const auto own = catalog_.Promote({.key = Key(device_)}, Payload(10), "");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(catalog_.Incumbent(Key(device_))->record.digest, own->digest);
}

TEST_F(TableImportTest, TakesNoVerifiedTablesPlaceUnlessItIsTrusted) {
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  const TableRecord elsewhere = Promote(catalog_, Key(upgraded), 10);
  const TableRecord own = Promote(catalog_, Key(device_), 11);
  const auto refused = catalog_.Import(Imported(), Payload());
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--trust"));
  const auto trusted =
      catalog_.Import(Imported(/*unverified=*/false), Payload());
  ASSERT_TRUE(trusted.ok()) << trusted.status();
  ASSERT_THAT(trusted->ended, SizeIs(1));
  EXPECT_EQ(trusted->ended[0].digest, own.digest);
  // That of another environment serves on.
  EXPECT_THAT(catalog_.snapshot()->tables, SizeIs(2));
  EXPECT_EQ(catalog_.Find({.kernel = spec_.name, .device = upgraded})
                ->serving.record.digest,
            elsewhere.digest);
}

TEST_F(TableImportTest, CanBeTrustedLater) {
  ASSERT_TRUE(catalog_.Import(Imported(), Payload()).ok());
  const auto again = catalog_.Import(Imported(), Payload());
  EXPECT_THAT(std::string(again.status().message()),
              HasSubstr("serves already"));
  const auto trusted =
      catalog_.Import(Imported(/*unverified=*/false), Payload());
  ASSERT_TRUE(trusted.ok()) << trusted.status();
  EXPECT_FALSE(catalog_.snapshot()->tables[0].record.unverified);
}

TEST_F(TableImportTest, IsRefusedWhereTheKernelIsPinnedOrWasFoundWrong) {
  const TableRecord own = Promote(catalog_, Key(device_), 10);
  ASSERT_TRUE(catalog_
                  .Pin({.kernel = spec_.name,
                        .silicon_key = SiliconKey(device_),
                        .by = "0"})
                  .ok());
  const auto pinned =
      catalog_.Import(Imported(/*unverified=*/false), Payload());
  EXPECT_THAT(std::string(pinned.status().message()), HasSubstr("is pinned"));
  ASSERT_TRUE(catalog_.Unpin(spec_.name, SiliconKey(device_)).ok());
  ASSERT_TRUE(catalog_.Withdraw(own.key, own, "BM=64 is wrong", 7).ok());
  const auto wrong = catalog_.Import(Imported(/*unverified=*/false), Payload());
  EXPECT_TRUE(absl::IsFailedPrecondition(wrong.status())) << wrong.status();
  EXPECT_THAT(std::string(wrong.status().message()),
              HasSubstr("found wrong here: BM=64 is wrong"));
  EXPECT_FALSE(catalog_.Import(Imported(), "nonsense").ok());
}

TEST_F(TableCatalogTest, RetiresByTheBeginningOfADigest) {
  const TableRecord served = Promote(catalog_, Key(device_), 10);
  DeviceFacts upgraded = device_;
  upgraded.driver = "999.1";
  Promote(catalog_, Key(upgraded), 11);
  EXPECT_TRUE(absl::IsInvalidArgument(
      catalog_.RetireByDigest(served.digest.substr(0, 7), "0", "").status()));
  EXPECT_TRUE(absl::IsNotFound(
      catalog_.RetireByDigest("0123456789", "0", "").status()));
  std::vector<TableChange> heard;
  const auto watch =
      catalog_.Subscribe(2, [&](const TableChange& c) { heard.push_back(c); });
  const auto ended =
      catalog_.RetireByDigest(served.digest.substr(0, 8), "1000", "it is old");
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_THAT(*ended, ElementsAre(served));
  EXPECT_THAT(catalog_.snapshot()->tables, SizeIs(1));
  ASSERT_THAT(heard, SizeIs(1));
  EXPECT_EQ(heard[0].kind, TableChange::Kind::kRetired);
  EXPECT_EQ(heard[0].by, "1000");
  EXPECT_EQ(heard[0].why, "it is old");
  // It can serve again.
  EXPECT_TRUE(catalog_.RollBack(served, "1000", "", 5).ok());
}

TEST_F(TableCatalogTest, RetiresNothingThatIsPinned) {
  const TableRecord served = Promote(catalog_, Key(device_), 10);
  ASSERT_TRUE(catalog_
                  .Pin({.kernel = spec_.name,
                        .silicon_key = SiliconKey(device_),
                        .by = "0"})
                  .ok());
  const auto ended = catalog_.RetireByDigest(served.digest, "0", "");
  EXPECT_TRUE(absl::IsFailedPrecondition(ended.status())) << ended.status();
  EXPECT_THAT(std::string(ended.status().message()),
              HasSubstr("wavetune tables unpin"));
  EXPECT_THAT(catalog_.snapshot()->tables, SizeIs(1));
}

}  // namespace
}  // namespace wavetune
