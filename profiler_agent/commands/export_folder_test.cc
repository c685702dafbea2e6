#include "profiler_agent/commands/export_folder.h"

#include <stdlib.h>

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

using Files = std::map<std::string, std::string>;

class ExportFolderTest : public ::testing::Test {
 protected:
  ExportFolderTest() : root_(::testing::TempDir() + "export_folder_XXXXXX") {
    if (mkdtemp(root_.data()) == nullptr) std::abort();
  }
  ~ExportFolderTest() override { fs::remove_all(root_); }

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

TEST_F(ExportFolderTest, KeepsWhatIsThereUnlessToldOtherwise) {
  const Files first = {{"launch.json", "1"}, {"gone", "x"}};
  ASSERT_TRUE(WriteExportFolder(Path("out"), first, false).ok());
  const absl::Status status =
      WriteExportFolder(Path("out"), Files{{"launch.json", "2"}}, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--force"));
  EXPECT_EQ(Read(Path("out/launch.json")), "1");
  ASSERT_TRUE(
      WriteExportFolder(Path("out"), Files{{"launch.json", "2"}}, true).ok());
  EXPECT_EQ(Read(Path("out/launch.json")), "2");
  EXPECT_FALSE(fs::exists(Path("out/gone")));
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(ExportFolderTest, NeverReplacesSomebodysWork) {
  fs::create_directory(Path("work"));
  std::ofstream(Path("work/thesis.tex")) << "years";
  std::ofstream(Path("file")) << "x";
  fs::create_directory_symlink(Path("work"), Path("link"));
  for (const char* name : {"work", "file", "link"}) {
    EXPECT_EQ(
        WriteExportFolder(Path(name), Files{{"launch.json", ""}}, true).code(),
        absl::StatusCode::kFailedPrecondition)
        << name;
  }
  EXPECT_EQ(Read(Path("work/thesis.tex")), "years");
  EXPECT_EQ(Entries(), 3u);
}

TEST_F(ExportFolderTest, SaysThatTheFolderAroundIsMissing) {
  const absl::Status status =
      WriteExportFolder(Path("no/out"), Files{{"launch.json", ""}}, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("make it first"));
}

}  // namespace
}  // namespace wavetune
