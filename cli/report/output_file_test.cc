#include "cli/report/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
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

  const std::string folder_ =
      absl::StrCat(::testing::TempDir(), "output_file_test.", getpid());
  const std::string path_ = folder_ + "/report.html";
};

TEST_F(OutputFileTest, AppearsAsAWhole) {
  std::ofstream(path_) << "old";
  auto file = OutputFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Read(path_), "old");
  ASSERT_TRUE((*file)->Commit(std::string(100'000, 'x')).ok());
  EXPECT_EQ(Read(path_), std::string(100'000, 'x'));
  EXPECT_EQ(Entries(), 1);
}

TEST_F(OutputFileTest, WhatIsNotCommittedLeavesNothing) {
  std::ofstream(path_) << "old";
  { ASSERT_TRUE(OutputFile::Open(path_).ok()); }
  EXPECT_EQ(Read(path_), "old");
  EXPECT_EQ(Entries(), 1);
}

TEST_F(OutputFileTest, MayBeReadAsTheUmaskSays) {
  auto file = OutputFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Commit("x").ok());
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat facts {};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0666 & ~mask);
}

TEST_F(OutputFileTest, GoesThroughALink) {
  std::ofstream(folder_ + "/target.html") << "old";
  fs::create_symlink("target.html", path_);
  auto file = OutputFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Commit("new").ok());
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(Read(folder_ + "/target.html"), "new");
}

TEST_F(OutputFileTest, PathsThatCannotBeWrittenAreRefusedAtOnce) {
  EXPECT_TRUE(absl::IsInvalidArgument(OutputFile::Open("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OutputFile::Open(folder_).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OutputFile::Open("/dev/null").status()));
  const absl::Status missing =
      OutputFile::Open(folder_ + "/no/report.html").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_NE(missing.message().find("/no/report.html"), std::string::npos);
  std::ofstream(path_) << "a file";
  EXPECT_FALSE(OutputFile::Open(path_ + "/report.html").ok());
}

}  // namespace
}  // namespace wavetune::cli
