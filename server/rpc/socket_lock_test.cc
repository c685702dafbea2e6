#include "server/rpc/socket_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/test_descriptor_limit.h"
#include "server/test_folder.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kNobody = 65534;

bool LockWhole(int fd, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

// Whether another user can do `what`, in a process of its own.
template <typename What>
bool AsAnotherUser(What what) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(::setresuid(kNobody, kNobody, kNobody) == 0 && what() ? 0 : 1);
  }
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(MakeSocketFolderTest, NobodyElseWritesThereWhateverTheMaskIs) {
  const TestFolder folder;
  const mode_t before = ::umask(0);
  const absl::Status made = MakeSocketFolder(folder / "a/b/reader.sock");
  ::umask(077);
  const absl::Status own = MakeSocketFolder(folder / "own/reader.sock");
  ::umask(before);
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_EQ(ModeOf(folder / "a"), 0755u);
  EXPECT_EQ(ModeOf(folder / "a/b"), 0755u);
  ASSERT_TRUE(own.ok()) << own;
  EXPECT_EQ(ModeOf(folder / "own"), 0700u);
}

TEST(MakeSocketFolderTest, AFolderThatOthersCanWriteIsRefusedUnlessItIsSticky) {
  const TestFolder folder;
  const std::string path = folder / "open/reader.sock";
  ASSERT_TRUE(MakeSocketFolder(path).ok());
  ASSERT_EQ(::chmod((folder / "open").c_str(), 0777), 0);
  const absl::Status status = MakeSocketFolder(path);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("chmod go-w " + folder / "open"),
                    HasSubstr("choose another --socket-dir")));
  ASSERT_EQ(::chmod((folder / "open").c_str(), 01777), 0);
  EXPECT_TRUE(MakeSocketFolder(path).ok());
}

TEST(SocketLockTest, IsHeldByOneAndSaysByWhom) {
  const TestFolder folder;
  const std::string path = folder / "new/reader.sock";
  auto lock = SocketLock::Take(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  const absl::Status status = SocketLock::Take(path).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(path), HasSubstr("--socket-dir"),
                    HasSubstr(absl::StrCat("(pid ", ::getpid(), ")"))));
}

TEST(SocketLockTest, EndsWithItsObjectAndLeavesTheFile) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  {
    auto lock = SocketLock::Take(path);
    const SocketLock moved = *std::move(lock);
    EXPECT_FALSE(SocketLock::Take(path).ok());
  }
  EXPECT_TRUE(std::filesystem::exists(path + ".lock"));
  EXPECT_TRUE(SocketLock::Take(path).ok());
}

TEST(SocketLockTest, EndsWithItsProcess) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = SocketLock::Take(path);
    ::_exit(lock.ok() ? 0 : 1);  // No destructor runs.
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(SocketLock::Take(path).ok());
}

// Between taking the lock and writing a name into it, the file still has that
// of a holder that was killed.
TEST(SocketLockTest, NamesNoHolderThatIsDead) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = SocketLock::Take(path);
    ::_exit(lock.ok() ? 0 : 1);  // Its name stays.
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const int taken = ::open((path + ".lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_TRUE(LockWhole(taken, F_WRLCK));
  std::thread writer([taken] {
    const std::string pid = absl::StrCat(::getpid(), "\n");
    EXPECT_EQ(::ftruncate(taken, 0), 0);
    EXPECT_EQ(::pwrite(taken, pid.data(), pid.size(), 0),
              static_cast<ssize_t>(pid.size()));
  });
  const absl::Status status = SocketLock::Take(path).status();
  writer.join();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("(pid ", ::getpid(), ")")));
  ::close(taken);
}

TEST(SocketLockTest, NamesNobodyWhereTheHolderHasNotSaidWhoItIs) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  for (const char* const written : {"", "999999999\n"}) {
    folder.Write("reader.sock.lock", written);
    const int taken = ::open((path + ".lock").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_TRUE(LockWhole(taken, F_WRLCK));
    const absl::Status status = SocketLock::Take(path).status();
    EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("reader.sock.lock and has not said its pid"),
                      Not(HasSubstr("(pid "))));
    ::close(taken);
  }
}

TEST(SocketLockTest, OnlyItsOwnerCanOpenIt) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  folder.Write("reader.sock.lock", "1\n");
  ASSERT_EQ(::chmod((path + ".lock").c_str(), 0644), 0);
  for (const std::string& socket : {path, folder / "admin.sock"}) {
    const auto lock = SocketLock::Take(socket);
    ASSERT_TRUE(lock.ok()) << lock.status();
    struct stat info {};
    ASSERT_EQ(::stat((socket + ".lock").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600U);
  }
}

// Held by who opened the file while everybody could read it.
TEST(SocketLockTest, ALockOfReadersDoesNotKeepTheDaemonOut) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  folder.Write("reader.sock.lock", "1\n");
  const int reader = ::open((path + ".lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(reader, LOCK_EX | LOCK_NB), 0);
  ASSERT_TRUE(LockWhole(reader, F_RDLCK));
  const auto lock = SocketLock::Take(path);
  EXPECT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(absl::IsAlreadyExists(SocketLock::Take(path).status()));
  ::close(reader);
  EXPECT_TRUE(absl::IsAlreadyExists(SocketLock::Take(path).status()));
}

TEST(SocketLockTest, OneOfManyTakesALockThatReadersHold) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  for (int round = 0; round < 20; ++round) {
    std::filesystem::remove(path + ".lock");
    folder.Write("reader.sock.lock", "");
    const int reader = ::open((path + ".lock").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_TRUE(LockWhole(reader, F_RDLCK));
    std::atomic<int> taken = 0;
    std::atomic<int> done = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const auto lock = SocketLock::Take(path);
        if (lock.ok()) ++taken;
        for (++done; done < 4;) std::this_thread::yield();
      });
    }
    for (std::thread& thread : threads) thread.join();
    ::close(reader);
    ASSERT_EQ(taken, 1);
  }
}

TEST(SocketLockTest, AnotherUserCannotHoldIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  ASSERT_EQ(::chmod((folder / "").c_str(), 0755), 0);
  ASSERT_TRUE(SocketLock::Take(path).ok());
  EXPECT_FALSE(AsAnotherUser([&] {
    return ::open((path + ".lock").c_str(), O_RDONLY | O_CLOEXEC) >= 0;
  }));
}

TEST(SocketLockTest, RefusesAnotherUsersFileAndSaysWhose) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const TestFolder folder;
  folder.Write("reader.sock.lock", "");
  ASSERT_EQ(::chown((folder / "reader.sock.lock").c_str(), kNobody, kNobody),
            0);
  const absl::Status status = SocketLock::Take(folder / "reader.sock").status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("is of user 65534"), HasSubstr("remove it")));
}

TEST(SocketLockTest, WithoutDescriptorsSaysWhichLimitToRaise) {
  const TestFolder folder;
  const absl::Status status = [&] {
    const LowDescriptorLimit none(0);
    return SocketLock::Take(folder / "reader.sock").status();
  }();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("LimitNOFILE"), HasSubstr("ulimit -n")));
}

TEST(SocketLockTest, SocketsHaveLocksOfTheirOwn) {
  const TestFolder folder;
  const auto reader = SocketLock::Take(folder / "reader.sock");
  EXPECT_TRUE(SocketLock::Take(folder / "admin.sock").ok());
}

TEST(SocketLockTest, OneOfManyThatTakeItAtOnceHasIt) {
  const TestFolder folder;
  const std::string path = folder / "reader.sock";
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> waiting = 4;
    std::atomic<int> taken = 0;
    std::atomic<int> done = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (--waiting; waiting > 0;) std::this_thread::yield();
        const auto lock = SocketLock::Take(path);
        if (lock.ok()) ++taken;
        for (++done; done < 4;) std::this_thread::yield();
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(taken, 1);
  }
}

TEST(SocketLockTest, FollowsNoLink) {
  const TestFolder folder;
  folder.Write("precious", "text");
  std::filesystem::create_symlink(folder / "precious",
                                  folder / "reader.sock.lock");
  EXPECT_FALSE(SocketLock::Take(folder / "reader.sock").ok());
  EXPECT_EQ(std::filesystem::file_size(folder / "precious"), 4u);
}

}  // namespace
}  // namespace wavetune
