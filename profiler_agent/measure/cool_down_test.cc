#include "profiler_agent/measure/cool_down.h"

#include <chrono>
#include <stop_token>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CoolDownTest : public ::testing::Test {
 protected:
  std::vector<milliseconds> pauses_;
  CoolDown cool_down_{[this](milliseconds pause, const std::stop_token&) {
    pauses_.push_back(pause);
  }};
};

TEST_F(CoolDownTest, PausesOnlyAfterThrottledBursts) {
  cool_down_.After(false, {});
  EXPECT_THAT(pauses_, IsEmpty());
  cool_down_.After(true, {});
  cool_down_.After(true, {});
  cool_down_.After(false, {});
  cool_down_.After(true, {});
  EXPECT_THAT(pauses_, ElementsAre(milliseconds(250), milliseconds(500),
                                   milliseconds(250)));
}

TEST_F(CoolDownTest, NeverPausesLongerThanItsBudget) {
  milliseconds total{0};
  for (int i = 0; i < 100; ++i) cool_down_.After(true, {});
  for (const milliseconds pause : pauses_) {
    EXPECT_LE(pause, CoolDown::kLongest);
    total += pause;
  }
  EXPECT_EQ(total, CoolDown::kMost);
}

TEST(CoolDownSleepTest, ACancelledBatchDoesNotWait) {
  std::stop_source cancel;
  cancel.request_stop();
  CoolDown cool_down;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) cool_down.After(true, cancel.get_token());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, CoolDown::kMost / 2);
}

}  // namespace
}  // namespace wavetune
