#include "profiler_agent/measure/stop_wait.h"

#include <stop_token>
#include <thread>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

TEST(StopWaitTest, ReturnsAtOnceWhereAStopWasRequestedBefore) {
  std::stop_source stop;
  std::stop_source ended;
  stop.request_stop();
  EXPECT_TRUE(WaitForStop(stop.get_token(), ended.get_token()));
  ended.request_stop();
  EXPECT_FALSE(WaitForStop(stop.get_token(), ended.get_token()));
  EXPECT_FALSE(WaitForStop({}, ended.get_token()));
}

TEST(StopWaitTest, EitherTokenEndsTheWaitWheneverItIsStopped) {
  for (int i = 0; i < 200; ++i) {
    std::stop_source stop;
    std::stop_source ended;
    std::stop_source& first = i % 2 == 0 ? stop : ended;
    const std::jthread stopper([&first] { first.request_stop(); });
    EXPECT_EQ(WaitForStop(stop.get_token(), ended.get_token()), i % 2 == 0);
  }
}

TEST(StopWaitTest, ASleepEndsWhenStopped) {
  EXPECT_FALSE(SleepOrStop(std::chrono::milliseconds(1), {}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(SleepOrStop(std::chrono::hours(1), stop.get_token()));
}

}  // namespace
}  // namespace wavetune
