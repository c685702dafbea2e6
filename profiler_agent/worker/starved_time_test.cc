#include "profiler_agent/worker/starved_time.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A child that runs for ever on the first core that we may use, or sleeps.
class Child {
 public:
  Child(bool runs, int nice_by) : pid_(fork()) {
    if (pid_ != 0) return;
    cpu_set_t all;
    cpu_set_t one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof(all), &all);
    int core = 0;
    while (!CPU_ISSET(core, &all)) ++core;
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
    if (nice(nice_by) == -1) _exit(1);
    while (!runs) pause();
    for (;;) asm volatile("");
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

class StarvedTimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/proc/self/task/" + std::to_string(getpid()) +
                                 "/schedstat")) {
      GTEST_SKIP() << "this kernel does not count it";
    }
  }
};

TEST_F(StarvedTimeTest, OneThatGetsNoCoreIsStarved) {
  const Child other(/*runs=*/true, 0);
  const Child starved(/*runs=*/true, 19);
  StarvedTime time(starved.pid(), seconds(60));
  Clock::Duration sum{};
  for (int i = 0; i < 300 && sum < milliseconds(200); ++i) {
    std::this_thread::sleep_for(milliseconds(20));
    sum += time.Take();
  }
  EXPECT_GE(sum, milliseconds(200));
}

TEST_F(StarvedTimeTest, NoMoreThanTheMostCounts) {
  const Child other(/*runs=*/true, 0);
  const Child starved(/*runs=*/true, 19);
  StarvedTime time(starved.pid(), milliseconds(50));
  Clock::Duration sum{};
  for (int i = 0; i < 100; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
    sum += time.Take();
  }
  EXPECT_LE(sum, milliseconds(50));
}

TEST_F(StarvedTimeTest, OneThatWaitsForSomethingElseIsNot) {
  const Child other(/*runs=*/true, 0);
  const Child asleep(/*runs=*/false, 19);
  std::this_thread::sleep_for(milliseconds(300));  // Until it sleeps.
  StarvedTime time(asleep.pid(), seconds(60));
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_LT(time.Take(), milliseconds(100));
}

TEST(StarvedTimeOfNobodyTest, IsNone) {
  StarvedTime time(-1, seconds(60));
  EXPECT_EQ(time.Take(), Clock::Duration(0));
}

}  // namespace
}  // namespace wavetune
