#include "profiler_agent/commands/folder_writer.h"

#include <stdlib.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kMarker[] = "launch.json";
using Files = std::map<std::string, std::string>;

class FolderWriterTest : public ::testing::Test {
 protected:
  FolderWriterTest() : root_(::testing::TempDir() + "folder_writer_XXXXXX") {
    if (mkdtemp(root_.data()) == nullptr) std::abort();
  }
  ~FolderWriterTest() override { fs::remove_all(root_); }

  std::string Path(const std::string& name) const { return root_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // Whatever is in the folder around.
  size_t Entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
  }

  std::string root_;
};

TEST_F(FolderWriterTest, WritesAFolderThatOthersMayRead) {
  ASSERT_TRUE(WriteFolder(Path("out/"), Files{{"a", "1"}, {kMarker, "{}"}},
                          kMarker, false)
                  .ok());
  EXPECT_EQ(Read(Path("out/a")), "1");
  EXPECT_EQ(Read(Path("out/launch.json")), "{}");
  EXPECT_NE(fs::status(Path("out")).permissions() & fs::perms::owner_exec,
            fs::perms::none);
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FolderWriterTest, KeepsWhatIsThereUnlessToldOtherwise) {
  const Files first = {{kMarker, "1"}, {"gone", "x"}};
  ASSERT_TRUE(WriteFolder(Path("out"), first, kMarker, false).ok());
  const absl::Status status =
      WriteFolder(Path("out"), Files{{kMarker, "2"}}, kMarker, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--force"));
  EXPECT_EQ(Read(Path("out/launch.json")), "1");
  ASSERT_TRUE(
      WriteFolder(Path("out"), Files{{kMarker, "2"}}, kMarker, true).ok());
  EXPECT_EQ(Read(Path("out/launch.json")), "2");
  EXPECT_FALSE(fs::exists(Path("out/gone")));
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FolderWriterTest, NeverReplacesSomebodysWork) {
  fs::create_directory(Path("work"));
  std::ofstream(Path("work/thesis.tex")) << "years";
  std::ofstream(Path("file")) << "x";
  fs::create_directory_symlink(Path("work"), Path("link"));
  for (const char* name : {"work", "file", "link"}) {
    EXPECT_EQ(
        WriteFolder(Path(name), Files{{kMarker, ""}}, kMarker, true).code(),
        absl::StatusCode::kFailedPrecondition)
        << name;
  }
  EXPECT_EQ(Read(Path("work/thesis.tex")), "years");
  EXPECT_EQ(Entries(), 3u);
}

TEST_F(FolderWriterTest, SaysThatTheFolderAroundIsMissing) {
  const absl::Status status =
      WriteFolder(Path("no/out"), Files{{kMarker, ""}}, kMarker, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("make it first"));
}

TEST_F(FolderWriterTest, LeavesNothingBehindAFailure) {
  // The second file cannot be written: its name has a folder that is not there.
  EXPECT_FALSE(
      WriteFolder(Path("out"), Files{{"a", "1"}, {"b/c", "2"}}, kMarker, false)
          .ok());
  EXPECT_EQ(Entries(), 0u);
}

TEST_F(FolderWriterTest, AFullDiskIsResourceExhaustedAndLeavesNothing) {
  // Files end at 64 KiB, in the middle of a write.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = 65536, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const absl::Status status = WriteFolder(
      Path("out"), Files{{"a", "1"}, {"b", std::string(1 << 20, 'x')}}, kMarker,
      false);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(Entries(), 0u);
}

}  // namespace
}  // namespace wavetune
