#include "base/atomic_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Files = std::map<std::string, std::string>;

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int Entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(folder_),
                                          fs::directory_iterator()));
  }

  // What a new file or folder may be, of what `mode` would let it be.
  static fs::perms AfterUmask(mode_t mode) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return static_cast<fs::perms>(mode & ~mask);
  }
  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }

  const std::string folder_ =
      absl::StrCat(::testing::TempDir(), "atomic_file_test.", getpid());
  const std::string path_ = folder_ + "/report.html";
};

TEST_F(AtomicFileTest, AFileAppearsAsAWhole) {
  std::ofstream(path_) << "old";
  auto file = StagedFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Read(path_), "old");
  ASSERT_TRUE((*file)->Commit(std::string(100'000, 'x')).ok());
  EXPECT_EQ(Read(path_), std::string(100'000, 'x'));
  EXPECT_EQ(Entries(), 1);
}

TEST_F(AtomicFileTest, AFileThatIsNotCommittedLeavesNothing) {
  std::ofstream(path_) << "old";
  { ASSERT_TRUE(StagedFile::Open(path_).ok()); }
  EXPECT_EQ(Read(path_), "old");
  EXPECT_EQ(Entries(), 1);
}

TEST_F(AtomicFileTest, AFileMayBeReadAsTheUmaskSays) {
  auto file = StagedFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Commit("x").ok());
  EXPECT_EQ(fs::status(path_).permissions(), AfterUmask(0666));
}

TEST_F(AtomicFileTest, ANamedFileIsWrittenThroughALink) {
  std::ofstream(folder_ + "/target.html") << "old";
  fs::create_symlink("target.html", path_);
  auto file = StagedFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Commit("new").ok());
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(Read(folder_ + "/target.html"), "new");
}

TEST_F(AtomicFileTest, PathsThatCannotBeWrittenAreRefusedAtOnce) {
  EXPECT_TRUE(absl::IsInvalidArgument(StagedFile::Open("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(StagedFile::Open(folder_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(StagedFile::Open("/dev/null").status()));
  const absl::Status missing =
      StagedFile::Open(folder_ + "/no/report.html").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()),
              AllOf(HasSubstr("/no/report.html: No such file"),
                    HasSubstr("; make the folder around it first")));
  std::ofstream(path_) << "a file";
  EXPECT_TRUE(absl::IsFailedPrecondition(
      StagedFile::Open(path_ + "/report.html").status()));
}

TEST_F(AtomicFileTest, ACachedFileTakesThePlaceOfALink) {
  std::ofstream(Path("target")) << "old";
  fs::create_symlink("target", path_);
  EXPECT_FALSE(WriteFileAtomically(path_, "new"));
  EXPECT_FALSE(fs::is_symlink(path_));
  EXPECT_EQ(Read(path_), "new");
  EXPECT_EQ(Read(Path("target")), "old");
  EXPECT_EQ(Entries(), 2);
}

TEST_F(AtomicFileTest, NoGroupMayWriteToACachedFileWhateverTheUmask) {
  const mode_t mask = ::umask(0);
  EXPECT_FALSE(WriteFileAtomically(path_, "x"));
  ::umask(mask);
  EXPECT_EQ(fs::status(path_).permissions(), static_cast<fs::perms>(0644));
}

TEST_F(AtomicFileTest, ACachedFileThatCannotBeWrittenLeavesNothing) {
  fs::create_directory(path_);
  EXPECT_EQ(WriteFileAtomically(path_, "x"), std::errc::is_a_directory);
  EXPECT_EQ(WriteFileAtomically(Path("no/file"), "x"),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(Entries(), 1);
}

TEST_F(AtomicFileTest, WritesAFolderThatOthersMayRead) {
  ASSERT_TRUE(
      WriteFolderAtomically(Path("out/"), Files{{"a", "1"}, {"b", "{}"}}, false)
          .ok());
  EXPECT_EQ(Read(Path("out/a")), "1");
  EXPECT_EQ(Read(Path("out/b")), "{}");
  EXPECT_EQ(fs::status(Path("out")).permissions(), AfterUmask(0777));
  EXPECT_EQ(fs::status(Path("out/a")).permissions(), AfterUmask(0666));
  EXPECT_EQ(Entries(), 1);
}

TEST_F(AtomicFileTest, AFolderIsReplacedOnlyWhenToldSo) {
  fs::create_directory(Path("out"));
  EXPECT_TRUE(WriteFolderAtomically(Path("out"), Files{{"a", "1"}}, false).ok())
      << "an empty one is none";
  EXPECT_TRUE(absl::IsAlreadyExists(
      WriteFolderAtomically(Path("out"), Files{{"b", "2"}}, false)));
  EXPECT_EQ(Read(Path("out/a")), "1");
  EXPECT_TRUE(WriteFolderAtomically(Path("out"), Files{{"b", "2"}}, true).ok());
  EXPECT_EQ(Read(Path("out/b")), "2");
  EXPECT_FALSE(fs::exists(Path("out/a")));
  EXPECT_EQ(Entries(), 1);
}

TEST_F(AtomicFileTest, AFolderTakesThePlaceOfALinkOrAFileOnlyWhenToldSo) {
  fs::create_directory(Path("target"));
  std::ofstream(Path("target/thesis.tex")) << "years";
  std::ofstream(Path("file")) << "x";
  fs::create_directory_symlink("target", Path("link"));
  for (const char* name : {"file", "link"}) {
    EXPECT_TRUE(absl::IsAlreadyExists(
        WriteFolderAtomically(Path(name), Files{{"a", "1"}}, false)))
        << name;
    EXPECT_TRUE(WriteFolderAtomically(Path(name), Files{{"a", "1"}}, true).ok())
        << name;
    EXPECT_EQ(Read(Path(name) + "/a"), "1");
  }
  EXPECT_EQ(Read(Path("target/thesis.tex")), "years");
  EXPECT_EQ(Entries(), 3);
}

TEST_F(AtomicFileTest, AFolderThatIsNotPublishedLeavesNothing) {
  {
    auto folder = StagedFolder::Open(Path("out"));
    ASSERT_TRUE(folder.ok()) << folder.status();
    ASSERT_TRUE((*folder)->Write("a", "1").ok());
    EXPECT_EQ(Entries(), 1);
  }
  EXPECT_EQ(Entries(), 0);
}

TEST_F(AtomicFileTest, SaysBeforehandWhetherAFolderCanBeMade) {
  const auto check = [this](const std::string& name) {
    return CheckNewFolder(Path(name), "name another");
  };
  EXPECT_TRUE(check("out").ok());
  EXPECT_TRUE(check("out/").ok());
  EXPECT_TRUE(CheckNewFolder("out", "name another").ok());
  EXPECT_TRUE(absl::IsNotFound(check("no/out")));
  EXPECT_THAT(std::string(check("no/out/").message()),
              HasSubstr("/no; make it first"));
  fs::create_directory(Path("there"));
  fs::create_symlink(Path("nowhere"), Path("link"));
  for (const char* name : {"there", "there/", "link"}) {
    EXPECT_TRUE(absl::IsAlreadyExists(check(name))) << name;
    EXPECT_THAT(std::string(check(name).message()),
                HasSubstr(" exists; name another"));
  }
  EXPECT_TRUE(absl::IsNotFound(check("link/out")));
}

TEST_F(AtomicFileTest, AFailureInAFolderLeavesNothing) {
  // The second file cannot be written: its name has a folder that is not there.
  EXPECT_FALSE(
      WriteFolderAtomically(Path("out"), Files{{"a", "1"}, {"b/c", "2"}}, false)
          .ok());
  EXPECT_EQ(Entries(), 0);
}

TEST_F(AtomicFileTest, AFullDiskIsResourceExhaustedAndLeavesNothing) {
  // Files end at 64 KiB, in the middle of a write.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = 65536, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const std::string large(1 << 20, 'x');
  const absl::Status folder = WriteFolderAtomically(
      Path("out"), Files{{"a", "1"}, {"b", large}}, false);
  absl::Status file = absl::OkStatus();
  {
    auto staged = StagedFile::Open(path_);
    if (staged.ok()) file = (*staged)->Commit(large);
  }
  const std::error_code cached = WriteFileAtomically(path_, large);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(absl::IsResourceExhausted(folder)) << folder;
  EXPECT_TRUE(absl::IsResourceExhausted(file)) << file;
  EXPECT_THAT(std::string(file.message()), HasSubstr("free some space"));
  EXPECT_EQ(cached, std::errc::file_too_large);
  EXPECT_EQ(Entries(), 0);
}

}  // namespace
}  // namespace wavetune
