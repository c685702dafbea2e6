#include "base/own_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/input_file.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kMost = 100;

class OwnFilesTest : public ::testing::Test {
 protected:
  OwnFilesTest() {
    std::string name = ::testing::TempDir() + "own_files_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~OwnFilesTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string Write(const std::string& name, mode_t mode = 0644) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    std::ofstream(path) << "text";
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static absl::Status Read(const std::string& path) {
    return ReadInputFile(path, kMost, InputKind::kOwnFile).status();
  }

  std::string folder_;
};

TEST_F(OwnFilesTest, ReadsWhatOnlyThisUserCanChange) {
  EXPECT_EQ(ReadInputFile(Write("a"), kMost, InputKind::kOwnFile).value(),
            "text");
  EXPECT_TRUE(CheckOwnFolder(folder_, StickyFolder::kRefused).ok());
}

TEST_F(OwnFilesTest, RefusesWhatOthersCanWriteAndSaysWhatHelps) {
  for (const mode_t mode : {0664, 0646, 0666}) {
    const std::string path = Write("a", mode);
    const absl::Status status = Read(path);
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(path + " can be written by others"),
                      HasSubstr("chmod go-w " + path)));
  }
}

TEST_F(OwnFilesTest, RefusesWhatBelongsToAnotherUser) {
  const std::string path = Write("a");
  if (::chown(path.c_str(), 12345, 0) != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  const absl::Status status = Read(path);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("belongs to user 12345"),
                    HasSubstr("chown root " + path)));
  ASSERT_EQ(::chown(folder_.c_str(), 12345, 0), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(
      CheckOwnFolder(folder_, StickyFolder::kAllowed)));
}

TEST_F(OwnFilesTest, OwnFilesAreNotReachedThroughLinks) {
  const std::string path = Write("a");
  std::filesystem::create_symlink(path, folder_ + "/link");
  EXPECT_TRUE(absl::IsPermissionDenied(Read(folder_ + "/link")));
  EXPECT_TRUE(ReadInputFile(folder_ + "/link", kMost).ok());
}

TEST_F(OwnFilesTest, AStickyFolderWillDoWhereItsFilesAreLookedAt) {
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  EXPECT_TRUE(CheckOwnFolder(folder_, StickyFolder::kAllowed).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(
      CheckOwnFolder(folder_, StickyFolder::kRefused)));
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(
      CheckOwnFolder(folder_, StickyFolder::kAllowed)));
}

TEST_F(OwnFilesTest, MakesFoldersForThisUserAlone) {
  const std::string path = folder_ + "/a/b";
  ASSERT_TRUE(MakeOwnFolder(path).ok());
  ASSERT_TRUE(MakeOwnFolder(path).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(::chmod(path.c_str(), 0770), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(MakeOwnFolder(path)));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeOwnFolder(Write("file"))));
}

TEST_F(OwnFilesTest, LinksMayNotLeadOutOfAFolder) {
  Write("kernel/source.cl");
  Write("kernel/..data/mounted.cl");
  Write("secret");
  const std::string kernel = folder_ + "/kernel";
  std::filesystem::create_symlink("..data/mounted.cl", kernel + "/mounted.cl");
  std::filesystem::create_symlink("../secret", kernel + "/out.cl");
  std::filesystem::create_symlink(kernel, folder_ + "/linked");
  EXPECT_TRUE(PathWithin(kernel, "source.cl").ok());
  EXPECT_TRUE(PathWithin(kernel, "mounted.cl").ok());
  EXPECT_TRUE(PathWithin(folder_ + "/linked", "source.cl").ok());
  EXPECT_TRUE(absl::IsNotFound(PathWithin(kernel, "none.cl").status()));
  const absl::Status out = PathWithin(kernel, "out.cl").status();
  EXPECT_TRUE(absl::IsPermissionDenied(out)) << out;
  EXPECT_THAT(std::string(out.message()), HasSubstr("out of the folder"));
  EXPECT_TRUE(
      absl::IsPermissionDenied(PathWithin(kernel, "../secret").status()));
}

TEST_F(OwnFilesTest, EveryFolderOnTheWayToAFileIsJudged) {
  Write("kernel/sub/deep/source.cl");
  const std::string kernel = folder_ + "/kernel";
  const std::string name = "sub/deep/source.cl";
  EXPECT_EQ(OwnPathWithin(kernel, name).value(),
            std::filesystem::canonical(kernel + "/" + name));
  for (const std::string& folder :
       {kernel, kernel + "/sub", kernel + "/sub/deep"}) {
    for (const mode_t mode : {0775, 0777, 01777}) {
      ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
      const absl::Status status = OwnPathWithin(kernel, name).status();
      EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("chmod go-w " + folder));
    }
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  }
  EXPECT_TRUE(OwnPathWithin(kernel, name).ok());
}

TEST_F(OwnFilesTest, FoldersThatLinksLeadThroughAreJudged) {
  Write("kernel/data/mounted.cl");
  Write("kernel/links/readme");
  const std::string kernel = folder_ + "/kernel";
  std::filesystem::create_symlink("../data/mounted.cl",
                                  kernel + "/links/mounted.cl");
  std::filesystem::create_symlink(kernel + "/links/mounted.cl",
                                  kernel + "/source.cl");
  EXPECT_EQ(OwnPathWithin(kernel, "source.cl").value(),
            PathWithin(kernel, "data/mounted.cl").value());
  for (const std::string& folder : {kernel + "/links", kernel + "/data"}) {
    ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
    const absl::Status status = OwnPathWithin(kernel, "source.cl").status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("chmod go-w " + folder));
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  }
  EXPECT_TRUE(OwnPathWithin(kernel, "source.cl").ok());
}

TEST_F(OwnFilesTest, ALinkOfAnotherUserIsNotFollowed) {
  Write("kernel/data.cl");
  const std::string kernel = folder_ + "/kernel";
  const std::string folder_link = folder_ + "/linked";
  const std::string file_link = kernel + "/source.cl";
  std::filesystem::create_symlink(kernel, folder_link);
  std::filesystem::create_symlink("data.cl", file_link);
  EXPECT_TRUE(CheckFoundFolder(folder_link).ok());
  EXPECT_TRUE(OwnPathWithin(folder_link, "source.cl").ok());
  if (::lchown(folder_link.c_str(), 12345, 0) != 0 ||
      ::lchown(file_link.c_str(), 12345, 0) != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  const absl::Status folder = CheckFoundFolder(folder_link);
  EXPECT_TRUE(absl::IsPermissionDenied(folder)) << folder;
  EXPECT_THAT(std::string(folder.message()),
              AllOf(HasSubstr("is a link that belongs to user 12345"),
                    HasSubstr("chown -h root " + folder_link)));
  // Whoever names a link has looked where it leads.
  EXPECT_TRUE(CheckOwnFolder(folder_link, StickyFolder::kRefused).ok());
  EXPECT_TRUE(
      absl::IsPermissionDenied(OwnPathWithin(kernel, "source.cl").status()));
}

}  // namespace
}  // namespace wavetune
