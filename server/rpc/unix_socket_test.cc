#include "server/rpc/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "server/test_descriptor_limit.h"
#include "server/test_folder.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Binds a socket at `path`; listens where wanted. Returns its descriptor.
int Bind(const std::string& path, bool listens) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  if (listens) {
    EXPECT_EQ(::listen(fd, 1), 0);
  }
  return fd;
}

TEST(UnixSocketTest, MakesTheFolder) {
  const TestFolder folder;
  EXPECT_TRUE(PrepareSocketPath(folder / "a/b/reader.sock").ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b"));
}

TEST(UnixSocketTest, RefusesAFolderThatNoClientReaches) {
  const TestFolder folder;
  for (const char* name : {"a#b", "a%20b", "a?b", "a,b"}) {
    const absl::Status status =
        PrepareSocketPath(folder / name + "/reader.sock");
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--socket-dir"));
    EXPECT_FALSE(std::filesystem::exists(folder / name));
  }
  EXPECT_TRUE(PrepareSocketPath(folder / "a b\u00e4/reader.sock").ok());
}

TEST(UnixSocketTest, ReplacesTheSocketOfADeadDaemon) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  ::close(Bind(path, /*listens=*/true));
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(PrepareSocketPath(path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixSocketTest, LeavesASocketInUseAlone) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  const int fd = Bind(path, /*listens=*/true);
  const absl::Status status = PrepareSocketPath(path);
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_TRUE(std::filesystem::exists(path));
  ::close(fd);
}

TEST(UnixSocketTest, LeavesAFileAlone) {
  const TestFolder folder;
  folder.Write("reader.sock", "precious");
  EXPECT_TRUE(
      absl::IsFailedPrecondition(PrepareSocketPath(folder / "reader.sock")));
  EXPECT_TRUE(std::filesystem::exists(folder / "reader.sock"));
}

TEST(UnixSocketTest, RefusesAPathThatIsTooLong) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      PrepareSocketPath("/tmp/" + std::string(200, 'x'))));
}

TEST(UnixSocketTest, APathIsJudgedWithoutAChange) {
  const TestFolder folder;
  EXPECT_TRUE(CheckSocketPath(folder / "a/b/reader.sock").ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  const std::string path = folder / "reader.sock";
  const int fd = Bind(path, /*listens=*/true);
  EXPECT_TRUE(CheckSocketPath(path).ok()) << "a daemon has it now";
  ::close(fd);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(ListeningSocketTest, ListensWithTheModeWhateverTheUmask) {
  const TestFolder folder;
  const std::string path = folder / "agent.sock";
  const auto socket = ListeningSocket::Listen(path, 0666);
  ASSERT_TRUE(socket.ok()) << socket.status();
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
  EXPECT_TRUE(absl::IsAlreadyExists(PrepareSocketPath(path)));
}

TEST(ListeningSocketTest, BelongsToTheGroupThatIsGivenAlsoWhenOpenedAnew) {
  // Root may give a file to any group, others to their own.
  const gid_t group = ::geteuid() == 0 ? 4242 : ::getegid();
  const TestFolder folder;
  const std::string path = folder / "agent.sock";
  auto socket = ListeningSocket::Listen(path, 0660, group);
  ASSERT_TRUE(socket.ok()) << socket.status();
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, group);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  std::filesystem::remove(path);
  ASSERT_TRUE(socket->ListenAgain().ok());
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, group);
}

TEST(ListeningSocketTest, WithoutTheRightToAGroupSaysHowToGetIt) {
  const TestFolder folder;
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const absl::Status status =
      ListeningSocket::Listen(folder / "x.sock", 0660, 4242).status();
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("to group 4242"), HasSubstr("SupplementaryGroups=4242")));
}

TEST(ListeningSocketTest, RemovesItsFileAtTheEnd) {
  const TestFolder folder;
  const std::string path = folder / "agent.sock";
  {
    auto socket = ListeningSocket::Listen(path, 0660);
    ASSERT_TRUE(socket.ok());
    const ListeningSocket moved = *std::move(socket);
    EXPECT_TRUE(moved.InPlace());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ListeningSocketTest, LeavesTheFileOfAnotherDaemonAlone) {
  const TestFolder folder;
  const std::string path = folder / "agent.sock";
  auto first = ListeningSocket::Listen(path, 0660);
  ASSERT_TRUE(first.ok());
  std::filesystem::remove(path);
  const auto second = ListeningSocket::Listen(path, 0660);
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(first->InPlace());
  EXPECT_TRUE(absl::IsAlreadyExists(first->ListenAgain()));
  *first = ListeningSocket();
  EXPECT_TRUE(second->InPlace());
}

TEST(ListeningSocketTest, ListensAnewWhereItsFileWasRemoved) {
  const TestFolder folder;
  const std::string path = folder / "agent.sock";
  auto socket = ListeningSocket::Listen(path, 0660);
  ASSERT_TRUE(socket.ok());
  std::filesystem::remove(path);
  EXPECT_FALSE(socket->InPlace());
  EXPECT_TRUE(socket->ListenAgain().ok());
  EXPECT_TRUE(socket->InPlace());
}

TEST(ListeningSocketTest, WithoutDescriptorsSaysWhichLimitToRaise) {
  const TestFolder folder;
  const absl::Status status = [&] {
    const LowDescriptorLimit none(0);
    return ListeningSocket::Listen(folder / "x.sock", 0600).status();
  }();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("LimitNOFILE"));
}

}  // namespace
}  // namespace wavetune
