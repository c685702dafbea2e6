#include "base/init_process.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>

namespace wavetune {
namespace {

// Runs `program` in a process that orphans come to, as they do to the first one
// of a namespace, below its init. Returns the status of that.
int RunBelowInit(const std::function<int()>& program,
                 const std::function<void(pid_t init)>& meanwhile) {
  const pid_t init = ::fork();
  if (init == 0) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    SplitOffInit();
    ::_exit(program());
  }
  meanwhile(init);
  int status = -1;
  ::waitpid(init, &status, 0);
  return status;
}

// Waits until `pid` is nobody's any more, as it is once it was collected.
bool IsCollected(pid_t pid) {
  for (int i = 0; i < 1000; ++i) {
    if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
    ::usleep(5'000);
  }
  return false;
}

TEST(InitProcessTest, CollectsOrphansAndLeavesTheProgramItsChildren) {
  const int status = RunBelowInit(
      [] {
        int orphan[2];
        if (::pipe(orphan) != 0) return 1;
        const pid_t child = ::fork();
        if (child == 0) {
          const pid_t grandchild = ::fork();
          if (grandchild == 0) ::_exit(0);
          const bool told =
              ::write(orphan[1], &grandchild, sizeof(grandchild)) > 0;
          ::_exit(told ? 7 : 1);
        }
        pid_t grandchild = 0;
        if (::read(orphan[0], &grandchild, sizeof(grandchild)) < 0) return 2;
        int own = 0;
        if (::waitpid(child, &own, 0) != child || WEXITSTATUS(own) != 7) {
          return 3;
        }
        return IsCollected(grandchild) ? 5 : 4;
      },
      [](pid_t) {});
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST(InitProcessTest, PassesSignalsOnAndEndsAsTheProgramDoes) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const int status = RunBelowInit(
      [&] {
        std::signal(SIGTERM, [](int) { ::_exit(42); });
        if (::write(ready[1], "r", 1) != 1) return 1;
        for (;;) ::pause();
      },
      [&](pid_t init) {
        char byte = 0;
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);
        ::kill(init, SIGTERM);
      });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  const int killed =
      RunBelowInit([] { return ::raise(SIGKILL); }, [](pid_t) {});
  ASSERT_TRUE(WIFEXITED(killed));
  EXPECT_EQ(WEXITSTATUS(killed), 128 + SIGKILL);
}

}  // namespace
}  // namespace wavetune
