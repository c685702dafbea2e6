#include "base/socket_paths.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

class SocketPathsTest : public ::testing::Test {
 protected:
  SocketPathsTest() {
    char folder[] = "/tmp/socket_paths_XXXXXX";
    folder_ = mkdtemp(folder);
    around_.private_dir = folder_ + "/private";
    around_.system_dir = folder_ + "/system";
  }
  ~SocketPathsTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // A file stands for a socket: nobody connects here.
  static std::string Touch(const std::string& path) {
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    std::ofstream(path) << "";
    return path;
  }

  std::string folder_;
  SocketSurroundings around_;
};

TEST_F(SocketPathsTest, AServerOfRootUsesTheSystemsFolder) {
  around_.runtime_dir = folder_ + "/runtime";
  EXPECT_EQ(DefaultSocketDir(around_), around_.runtime_dir + "/wavetune");
  around_.root = true;
  EXPECT_EQ(DefaultSocketDir(around_), around_.system_dir);
}

TEST_F(SocketPathsTest, WithoutARuntimeFolderAPrivateOneIsUsed) {
  EXPECT_EQ(DefaultSocketDir(around_), around_.private_dir);
}

TEST_F(SocketPathsTest, AClientFindsTheSystemsDaemon) {
  const std::string system = Touch(around_.system_dir + "/reader.sock");
  EXPECT_EQ(DefaultSocketPath("reader", around_), system);
  around_.runtime_dir = folder_ + "/runtime";
  EXPECT_EQ(DefaultSocketPath("reader", around_), system);
}

TEST_F(SocketPathsTest, AClientPrefersTheUsersDaemon) {
  Touch(around_.system_dir + "/reader.sock");
  around_.runtime_dir = folder_ + "/runtime";
  const std::string own = Touch(folder_ + "/runtime/wavetune/reader.sock");
  EXPECT_EQ(DefaultSocketPath("reader", around_), own);
}

TEST_F(SocketPathsTest, WithoutAnySocketTheUsersDaemonIsAwaited) {
  EXPECT_EQ(DefaultSocketPath("agent", around_),
            around_.private_dir + "/agent.sock");
}

TEST_F(SocketPathsTest, AClientDistrustsAFolderThatOthersCanWriteTo) {
  Touch(around_.private_dir + "/reader.sock");
  ASSERT_EQ(chmod(around_.private_dir.c_str(), 0777), 0);
  EXPECT_EQ(DefaultSocketPath("reader", around_),
            around_.system_dir + "/reader.sock");
  ASSERT_EQ(chmod(around_.private_dir.c_str(), 0755), 0);
  EXPECT_EQ(DefaultSocketPath("reader", around_),
            around_.private_dir + "/reader.sock");
}

TEST_F(SocketPathsTest, ThePrivateFolderIsMadePrivate) {
  ASSERT_TRUE(PrepareSocketDir(around_.private_dir, around_).ok());
  struct stat info {};
  ASSERT_EQ(stat(around_.private_dir.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
  EXPECT_TRUE(PrepareSocketDir(around_.private_dir, around_).ok());
  ASSERT_EQ(chmod(around_.private_dir.c_str(), 0770), 0);
  EXPECT_FALSE(PrepareSocketDir(around_.private_dir, around_).ok());
}

TEST_F(SocketPathsTest, OtherFoldersAreLeftAlone) {
  EXPECT_TRUE(PrepareSocketDir(around_.system_dir, around_).ok());
  EXPECT_FALSE(std::filesystem::exists(around_.system_dir));
}

TEST_F(SocketPathsTest, ALinkIsNoPrivateFolder) {
  ASSERT_TRUE(MakePrivateDir(folder_ + "/real").ok());
  std::filesystem::create_directory_symlink(folder_ + "/real",
                                            folder_ + "/link");
  EXPECT_TRUE(absl::IsPermissionDenied(MakePrivateDir(folder_ + "/link")));
}

TEST_F(SocketPathsTest, AnotherUsersFolderIsRefused) {
  const std::string dir = folder_ + "/foreign";
  ASSERT_TRUE(MakePrivateDir(dir).ok());
  if (chown(dir.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(absl::IsPermissionDenied(MakePrivateDir(dir)));
}

TEST(IsEndpointTest, TakesSocketsAndPortsWithoutAScheme) {
  for (const char* legal : {"unix:/a.sock", "unix:///a.sock", "unix:a.sock",
                            "host:1", "1.2.3.4:56", "[::1]:7"})
    EXPECT_TRUE(IsEndpoint(legal)) << legal;
  for (const char* illegal :
       {"", "host", "host:", ":1", "host:abc", "host:1x", "tcp://host:1",
        "unix-abstract:name", "dns:///host:1", "::1:7", "agent.sock"})
    EXPECT_FALSE(IsEndpoint(illegal)) << illegal;
}

}  // namespace
}  // namespace wavetune
