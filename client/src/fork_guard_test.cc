#include "client/src/fork_guard.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

namespace wavetune {
namespace {

// Returns the exit code of a child that runs `function`.
int InAChild(const std::function<int()>& function) {
  const pid_t child = fork();
  if (child == 0) _exit(function());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkGuardTest, EachForkIsAnotherGeneration) {
  PrepareForForks();
  const uint32_t here = ForkGeneration();
  EXPECT_EQ(InAChild([&] {
              const bool other = ForkGeneration() == here + 1;
              return InAChild([&] {
                       return ForkGeneration() == here + 2 ? 7 : 1;
                     }) == 7 &&
                             other
                         ? 0
                         : 1;
            }),
            0);
  EXPECT_EQ(ForkGeneration(), here);
}

TEST(ForkGuardTest, NoForkCatchesAMutexLocked) {
  PrepareForForks();
  ForkSafeMutex mutex;
  ForkSafeMutex inner;
  std::atomic<bool> stop = false;
  std::thread holder([&] {
    while (!stop) {
      const std::lock_guard lock(mutex);
      const std::lock_guard nested(inner);
    }
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(InAChild([&] {
                const std::lock_guard lock(mutex);
                const std::lock_guard nested(inner);
                return 0;
              }),
              0);
  }
  stop = true;
  holder.join();
}

}  // namespace
}  // namespace wavetune
