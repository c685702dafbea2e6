#include "profiler_agent/worker/program_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_agent/measure/environment_error.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ProgramFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "program_folder_XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    // Nobody can create a folder in a file, not even root.
    std::ofstream(folder_ + "/file") << "in the way";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_;
};

TEST_F(ProgramFolderTest, TakesTheWantedOneAndLeavesNothingBehind) {
  const ProgramFolder found = ProgramFolder::Find(folder_ + "/a/b");
  EXPECT_EQ(found.path(), folder_ + "/a/b");
  EXPECT_TRUE(found.Check().ok());
  EXPECT_TRUE(fs::is_empty(folder_ + "/a/b"));
}

TEST_F(ProgramFolderTest, AnotherOneTakesThePlaceOfOneThatCannotBeWrittenTo) {
  const ProgramFolder found =
      ProgramFolder::Find(folder_ + "/file/pocl",
                          {folder_ + "/file/x/pocl", folder_ + "/own/pocl"});
  EXPECT_EQ(found.path(), folder_ + "/own/pocl");
  EXPECT_TRUE(found.Check().ok());
  struct stat made = {};
  ASSERT_EQ(stat((folder_ + "/own").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0700u);
}

TEST_F(ProgramFolderTest, AFolderThatOthersCanWriteToDoesNotTakeItsPlace) {
  ASSERT_EQ(mkdir((folder_ + "/open").c_str(), 0700), 0);
  ASSERT_EQ(chmod((folder_ + "/open").c_str(), 0777), 0);
  ASSERT_EQ(symlink(folder_.c_str(), (folder_ + "/link").c_str()), 0);
  const ProgramFolder found = ProgramFolder::Find(
      folder_ + "/file/pocl",
      {folder_ + "/open/pocl", folder_ + "/link/pocl", folder_ + "/own/pocl"});
  EXPECT_EQ(found.path(), folder_ + "/own/pocl");
}

TEST_F(ProgramFolderTest, WhereNoneCanBeWrittenToTheDiskIsToBlame) {
  const ProgramFolder found = ProgramFolder::Find(folder_ + "/file/pocl", {});
  EXPECT_EQ(found.path(), folder_ + "/file/pocl");
  const absl::Status status = found.Check();
  EXPECT_EQ(ExhaustedResource(status), Resource::kDisk);
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ + "/file/pocl"));
}

TEST(EnvironmentErrorTest, TheCodeAloneMeansMemory) {
  EXPECT_EQ(ExhaustedResource(absl::ResourceExhaustedError("x")),
            Resource::kMemory);
  EXPECT_EQ(ExhaustedResource(ExhaustedError(Resource::kKilled, "x")),
            Resource::kKilled);
  EXPECT_EQ(ExhaustedResource(absl::AbortedError("x")), std::nullopt);
  EXPECT_EQ(ExhaustedResource(absl::OkStatus()), std::nullopt);
}

TEST(EnvironmentErrorTest, LastWordsNameTheResource) {
  EXPECT_EQ(ResourceNamedIn("terminate called after throwing an instance of "
                            "'std::bad_alloc'"),
            Resource::kMemory);
  EXPECT_EQ(ResourceNamedIn("LLVM ERROR: out of memory"), Resource::kMemory);
  EXPECT_EQ(ResourceNamedIn("ld: final link failed: No space left on device"),
            Resource::kDisk);
  EXPECT_EQ(ResourceNamedIn("  what():  Resource temporarily unavailable"),
            Resource::kProcesses);
  EXPECT_EQ(ResourceNamedIn("about to crash"), std::nullopt);
  EXPECT_EQ(ResourceNamedIn("PTHREAD_CREATE failed with 11"),
            Resource::kProcesses);
  EXPECT_EQ(ResourceNamedIn("    #0 0x7fd3 in __interceptor_pthread_create"),
            std::nullopt);
}

}  // namespace
}  // namespace wavetune
