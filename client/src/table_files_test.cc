#include "client/src/table_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "client/src/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Serve;
using testing::TemporaryFolder;
using testing::TinyTable;
using testing::TwoGroupTable;

class TableFilesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  void ExpectRefused(const std::string& bytes, const std::string& why) const {
    const std::string path = Write("bad.table", bytes);
    const absl::Status status = TableFiles::Read(path).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(path), HasSubstr(why)));
  }

  const FetchedTable table_ = Serve(TinyTable());
  TemporaryFolder folder_;
};

TEST_F(TableFilesTest, ReadsAPayload) {
  const auto files = TableFiles::Read(Write("t", table_.payload));
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->tables().size(), 1U);
  const v1::TableInfo& info = files->tables()[0].info;
  EXPECT_EQ(info.kernel(), "add");
  EXPECT_EQ(info.digest(), table_.info.digest());
  EXPECT_EQ(info.silicon_key(), table_.info.silicon_key());
}

TEST_F(TableFilesTest, ReadsAFolderOrACache) {
  Write("a.table", table_.payload);
  Write("readme", "not a table");
  const TableCache cache(folder_.path());
  ASSERT_TRUE(cache.Put(Serve(TwoGroupTable())).ok());
  const auto files = TableFiles::Read(folder_.path());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->tables().size(), 2U);
}

// Would hang where the pipe were waited for.
TEST_F(TableFilesTest, RefusesAPipeInPlaceOfATable) {
  const std::string pipe = folder_.path() + "/a.table";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, folder_.path()}) {
    EXPECT_THAT(std::string(TableFiles::Read(path).status().message()),
                AllOf(HasSubstr(pipe), HasSubstr("is a pipe, not a file")));
  }
}

TEST_F(TableFilesTest, RefusesWhatIsNoTable) {
  const std::string& good = table_.payload;
  ExpectRefused("", "bad.table");
  ExpectRefused("nonsense", "no table");
  ExpectRefused(good.substr(0, good.size() - 1), "no table");
  ExpectRefused(good + "x", "no table");
  std::string future = good;
  future[8] = 99;  // docs/table_format.md
  ExpectRefused(future, "format 99.0");
  ExpectRefused(std::string(100000, 'x'), "larger than any table");
}

}  // namespace
}  // namespace wavetune
