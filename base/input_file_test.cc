#include "base/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class InputFileTest : public ::testing::Test {
 protected:
  InputFileTest() {
    std::string name = ::testing::TempDir() + "/input_file_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~InputFileTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name) << content;
    return folder_ + "/" + name;
  }

  std::string folder_;
};

TEST_F(InputFileTest, ReadsAFileWhole) {
  const std::string large(200'000, 'x');
  EXPECT_EQ(ReadInputFile(Write("a", large), large.size()).value(), large);
  EXPECT_EQ(ReadInputFile(Write("b", ""), 0).value(), "");
}

TEST_F(InputFileTest, ReadsAFileThroughALink) {
  Write("a", "text");
  std::filesystem::create_symlink("a", folder_ + "/link");
  EXPECT_EQ(ReadInputFile(folder_ + "/link", 10).value(), "text");
}

TEST_F(InputFileTest, RefusesWhatIsTooLarge) {
  EXPECT_EQ(ReadInputFile(Write("a", "four"), 3).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(InputFileTest, SaysThatAFileIsMissing) {
  const absl::Status status = ReadInputFile(folder_ + "/none", 9).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ + "/none"));
}

// Would hang where the pipe were opened as a file is.
TEST_F(InputFileTest, RefusesAPipeThatNobodyWritesTo) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const absl::Status status = ReadInputFile(pipe, 9).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(pipe), HasSubstr("is a pipe, not a file")));
}

TEST_F(InputFileTest, RefusesAFolderASocketAndADevice) {
  EXPECT_THAT(std::string(ReadInputFile(folder_, 9).status().message()),
              HasSubstr("is a directory, not a file"));
  EXPECT_THAT(std::string(ReadInputFile("/dev/zero", 9).status().message()),
              HasSubstr("is a device, not a file"));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder_ + "/s";
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  EXPECT_THAT(std::string(ReadInputFile(path, 9).status().message()),
              HasSubstr("is a socket, not a file"));
  ::close(fd);
}

TEST_F(InputFileTest, TakesAPipeWhereACommandLineNamesIt) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string name = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_TRUE(InputFile::Open(name, InputKind::kFileOrPipe).ok());
  EXPECT_FALSE(InputFile::Open(name, InputKind::kFile).ok());
  EXPECT_FALSE(InputFile::Open(folder_, InputKind::kFileOrPipe).ok());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace wavetune
