#include "server/socket_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/test_folder.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
  ASSERT_EQ(::flock(taken, LOCK_EX | LOCK_NB), 0);
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
