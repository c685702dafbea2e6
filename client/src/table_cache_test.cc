#include "client/src/table_cache.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;
using testing::Serve;
using testing::TemporaryFolder;
using testing::TinyTable;

class TableCacheTest : public ::testing::Test {
 protected:
  std::string FileOf(const FetchedTable& table, const char* suffix) const {
    return folder_.path() + "/cache/" + table.info.digest() + suffix;
  }

  TemporaryFolder folder_;
  TableCache cache_{folder_.path() + "/cache"};
};

Table TableWithDelta(double delta) {
  Table table = TinyTable();
  table.sub_tables[0].groups[0].models[0].segments[0].coefficients.delta =
      delta;
  return table;
}

TEST_F(TableCacheTest, GivesBackWhatWasPut) {
  const FetchedTable table = Serve(TinyTable());
  ASSERT_TRUE(cache_.Put(table).ok());
  const auto got = cache_.Get(table.info.digest());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->payload, table.payload);
  EXPECT_EQ(got->info.kernel(), "add");
  EXPECT_EQ(cache_.List("add").size(), 1u);
  EXPECT_EQ(cache_.List("").size(), 1u);
  EXPECT_TRUE(cache_.List("other").empty());
}

// Would hang where the pipes were waited for.
TEST_F(TableCacheTest, LeavesOutPipesInPlaceOfItsFiles) {
  const FetchedTable table = Serve(TinyTable());
  ASSERT_TRUE(cache_.Put(table).ok());
  for (const char* suffix : {".info", ".table"}) {
    std::filesystem::remove(FileOf(table, suffix));
    ASSERT_EQ(mkfifo(FileOf(table, suffix).c_str(), 0600), 0);
    EXPECT_TRUE(cache_.List("").empty());
    EXPECT_FALSE(cache_.Get(table.info.digest()).ok());
  }
}

TEST_F(TableCacheTest, AFolderThatOthersCanWriteIsNotUsed) {
  const FetchedTable table = Serve(TinyTable());
  ASSERT_TRUE(cache_.Put(table).ok());
  ASSERT_EQ(chmod(cache_.dir().c_str(), 0777), 0);
  const TableCache shared(folder_.path() + "/cache");
  EXPECT_TRUE(absl::IsPermissionDenied(shared.problem()));
  EXPECT_THAT(std::string(shared.problem().message()),
              HasSubstr("chmod go-w " + folder_.path() + "/cache"));
  EXPECT_TRUE(shared.List("").empty());
  EXPECT_FALSE(shared.Get(table.info.digest()).ok());
}

TEST_F(TableCacheTest, ItsFolderIsForThisUserAlone) {
  ASSERT_TRUE(cache_.Put(Serve(TinyTable())).ok());
  struct stat info {};
  ASSERT_EQ(stat(cache_.dir().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(TableCacheTest, LinksInPlaceOfItsFilesAreNotFollowed) {
  const FetchedTable table = Serve(TinyTable());
  ASSERT_TRUE(cache_.Put(table).ok());
  const std::string elsewhere = folder_.path() + "/elsewhere";
  std::filesystem::rename(FileOf(table, ".table"), elsewhere);
  std::filesystem::create_symlink(elsewhere, FileOf(table, ".table"));
  EXPECT_FALSE(cache_.Get(table.info.digest()).ok());
  EXPECT_TRUE(std::filesystem::exists(elsewhere));
}

TEST_F(TableCacheTest, ALinkInPlaceOfAWithdrawalIsNotFollowed) {
  const FetchedTable table = Serve(TinyTable());
  ASSERT_TRUE(cache_.Put(table).ok());
  ASSERT_TRUE(cache_.Withdraw(table.info.digest(), "it is wrong").ok());
  ASSERT_EQ(cache_.WhyWithdrawn(table.info.digest()), "it is wrong");
  const std::string elsewhere = folder_.path() + "/elsewhere";
  std::filesystem::rename(FileOf(table, ".withdrawn"), elsewhere);
  std::filesystem::create_symlink(elsewhere, FileOf(table, ".withdrawn"));
  EXPECT_EQ(cache_.WhyWithdrawn(table.info.digest()), "");
}

TEST_F(TableCacheTest, AClockThatStepsBackDoesNotMakeAReplacedTableTheNewest) {
  FetchedTable replaced = Serve(TableWithDelta(1), "GPU-1", 2000);
  replaced.info.set_store_id("store-1");
  replaced.info.set_epoch(7);
  FetchedTable serving = Serve(TableWithDelta(2), "GPU-1", 1000);
  serving.info.set_store_id("store-1");
  serving.info.set_epoch(8);
  ASSERT_TRUE(cache_.Put(replaced).ok());
  ASSERT_TRUE(cache_.Put(serving).ok());
  ASSERT_EQ(cache_.List("add").size(), 1u);
  EXPECT_EQ(cache_.List("add")[0].digest(), serving.info.digest());
  EXPECT_FALSE(cache_.Get(replaced.info.digest()).ok()) << "it is gone";
  // Also where it comes later, by its digest.
  ASSERT_TRUE(cache_.Put(replaced).ok());
  EXPECT_EQ(cache_.List("add")[0].digest(), serving.info.digest());
}

TEST_F(TableCacheTest, EpochsOfDifferentStoresAreNotCompared) {
  FetchedTable old_store = Serve(TableWithDelta(1), "GPU-1", 1000);
  old_store.info.set_store_id("store-1");
  old_store.info.set_epoch(50);
  FetchedTable new_store = Serve(TableWithDelta(2), "GPU-1", 2000);
  new_store.info.set_store_id("store-2");
  new_store.info.set_epoch(1);
  EXPECT_TRUE(IsOlder(old_store.info, new_store.info));
  EXPECT_FALSE(IsOlder(new_store.info, old_store.info));
}

TEST_F(TableCacheTest, SaysNotFoundForAnUnknownDigest) {
  EXPECT_TRUE(absl::IsNotFound(cache_.Get(std::string(64, 'a')).status()));
  EXPECT_TRUE(absl::IsNotFound(cache_.Get("../../etc/passwd").status()));
}

TEST_F(TableCacheTest, RefusesToKeepUnderSomethingThatIsNoDigest) {
  FetchedTable table = Serve(TinyTable());
  table.info.set_digest("../escape");
  EXPECT_TRUE(absl::IsInvalidArgument(cache_.Put(table)));
}

TEST_F(TableCacheTest, RemovesADamagedFile) {
  const FetchedTable table = Serve(TinyTable());
  ASSERT_TRUE(cache_.Put(table).ok());
  std::ofstream(FileOf(table, ".table"), std::ios::app) << "x";
  const auto got = cache_.Get(table.info.digest());
  EXPECT_TRUE(absl::IsDataLoss(got.status())) << got.status();
  EXPECT_THAT(std::string(got.status().message()), HasSubstr("damaged"));
  EXPECT_FALSE(std::filesystem::exists(FileOf(table, ".table")));
  EXPECT_TRUE(absl::IsNotFound(cache_.Get(table.info.digest()).status()));
}

TEST_F(TableCacheTest, IgnoresADamagedInfo) {
  const FetchedTable table = Serve(TinyTable());
  ASSERT_TRUE(cache_.Put(table).ok());
  std::ofstream(FileOf(table, ".info"), std::ios::trunc) << "\xff\xff\xff";
  EXPECT_TRUE(cache_.List("add").empty());
  EXPECT_TRUE(absl::IsDataLoss(cache_.Get(table.info.digest()).status()));
}

TEST_F(TableCacheTest, ANewerTableReplacesTheOlderOneOfItsKind) {
  const FetchedTable old =
      Serve(TableWithDelta(2), "GPU-1", /*promoted_at_us=*/1);
  const FetchedTable young =
      Serve(TableWithDelta(3), "GPU-1", /*promoted_at_us=*/2);
  ASSERT_TRUE(cache_.Put(old).ok());
  ASSERT_TRUE(cache_.Put(young).ok());
  ASSERT_EQ(cache_.List("add").size(), 1u);
  EXPECT_EQ(cache_.List("add")[0].digest(), young.info.digest());
  EXPECT_TRUE(absl::IsNotFound(cache_.Get(old.info.digest()).status()));
}

TEST_F(TableCacheTest, KeepsTableSetsAndWhatTheyName) {
  const FetchedTable old =
      Serve(TableWithDelta(2), "GPU-1", /*promoted_at_us=*/1);
  const FetchedTable young =
      Serve(TableWithDelta(3), "GPU-1", /*promoted_at_us=*/2);
  const TableSet set(TableSet::Tables{{"add", old.info.digest()}});
  ASSERT_TRUE(cache_.Put(old).ok());
  ASSERT_TRUE(cache_.PutSet(set).ok());
  ASSERT_TRUE(cache_.Put(young).ok());
  EXPECT_TRUE(cache_.Get(old.info.digest()).ok());
  const auto same = cache_.GetSet(set.Digest());
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(*same, set);
  EXPECT_TRUE(absl::IsNotFound(cache_.GetSet(std::string(64, 'a')).status()));
  EXPECT_TRUE(absl::IsNotFound(cache_.GetSet("../x").status()));
}

TEST_F(TableCacheTest, RemovesADamagedSet) {
  const TableSet set(TableSet::Tables{{"add", std::string(64, 'a')}});
  ASSERT_TRUE(cache_.PutSet(set).ok());
  const std::string path = folder_.path() + "/cache/" + set.Digest() + ".set";
  std::ofstream(path, std::ios::app) << "x";
  EXPECT_TRUE(absl::IsDataLoss(cache_.GetSet(set.Digest()).status()));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TableCacheTest, APinnedOlderTableStandsBesideTheNewerOne) {
  const FetchedTable old =
      Serve(TableWithDelta(2), "GPU-1", /*promoted_at_us=*/1);
  const FetchedTable young =
      Serve(TableWithDelta(3), "GPU-1", /*promoted_at_us=*/2);
  ASSERT_TRUE(cache_.Put(young).ok());
  ASSERT_TRUE(cache_.Put(old).ok());
  ASSERT_EQ(cache_.List("add").size(), 1u);
  EXPECT_EQ(cache_.List("add")[0].digest(), young.info.digest());
  EXPECT_TRUE(cache_.Get(old.info.digest()).ok());
}

TEST_F(TableCacheTest, TablesOfOtherClassesStay) {
  Table other = TinyTable();
  other.silicon_key = "backend=replay;mp=8";
  ASSERT_TRUE(cache_.Put(Serve(TinyTable())).ok());
  ASSERT_TRUE(cache_.Put(Serve(other, "GPU-9", 2)).ok());
  EXPECT_EQ(cache_.List("add").size(), 2u);
}

TEST_F(TableCacheTest, KnowsTheDevicesThatATableServed) {
  const FetchedTable table = Serve(TinyTable(), "GPU-1");
  ASSERT_TRUE(cache_.Put(table, "GPU-2").ok());
  EXPECT_TRUE(cache_.Serves(table.info, "GPU-1"));
  EXPECT_TRUE(cache_.Serves(table.info, "GPU-2"));
  EXPECT_FALSE(cache_.Serves(table.info, "GPU-3"));
}

TEST_F(TableCacheTest, AnEmptyFolderSwitchesItOff) {
  const TableCache off("");
  const FetchedTable table = Serve(TinyTable());
  EXPECT_TRUE(off.Put(table).ok());
  EXPECT_TRUE(off.List("").empty());
  EXPECT_TRUE(absl::IsNotFound(off.Get(table.info.digest()).status()));
}

TEST_F(TableCacheTest, SaysWhichFolderItCannotWrite) {
  std::ofstream(folder_.path() + "/file") << "x";
  const TableCache cache(folder_.path() + "/file/cache");
  const absl::Status status = cache.Put(Serve(TinyTable()));
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("file/cache"));
}

TEST_F(TableCacheTest, TwoProcessesMayShareIt) {
  const FetchedTable first = Serve(TableWithDelta(2), "GPU-1", 1);
  const FetchedTable second = Serve(TableWithDelta(3), "GPU-1", 2);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (int i = 0; i < 200; ++i) (void)cache_.Put(first);
    _exit(0);
  }
  // Whatever the other one does, what is found is whole.
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(cache_.Put(second).ok());
    for (const v1::TableInfo& info : cache_.List("add")) {
      const auto got = cache_.Get(info.digest());
      EXPECT_TRUE(got.ok() || absl::IsNotFound(got.status())) << got.status();
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(cache_.Put(second).ok());
  EXPECT_EQ(cache_.List("add")[0].digest(), second.info.digest());
}

}  // namespace
}  // namespace wavetune
