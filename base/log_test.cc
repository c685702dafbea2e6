#include "base/log.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::HasSubstr;

// What the process says on standard error.
class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    FlushLog();
    SetLogFormat(LogFormat::kPlain);
    ::testing::internal::CaptureStderr();
  }
  ~LogTest() override {
    FlushLog();
    SetLogFormat(LogFormat::kText);
  }

  static std::string Said() { return ::testing::internal::GetCapturedStderr(); }
};

TEST_F(LogTest, RepeatsAreSummedUp) {
  for (int i = 0; i < 3; ++i) Log(LogLevel::kError, "test", "three times");
  FlushLog();
  EXPECT_EQ(Said(),
            "error: three times\n"
            "error: three times ... repeated 2 times in 1 s\n");
}

TEST_F(LogTest, WhatIsSaidOnceIsNeverRepeated) {
  LogOnce(LogLevel::kWarning, "test", "no space");
  FlushLog();
  LogOnce(LogLevel::kWarning, "test", "no space");
  EXPECT_EQ(Said(), "warning: no space (said once)\n");
}

TEST_F(LogTest, ARelayedLineKeepsItsLevel) {
  RelayLog("worker", "worker 7", "error: out of memory");
  RelayLog("worker", "worker 7", "info: below the level");
  RelayLog("worker", "worker 7", "LLVM ERROR: without a level, so kInfo");
  EXPECT_EQ(Said(), "error: worker 7: out of memory\n");
}

TEST_F(LogTest, WhatSeveralProcessesSayOnceIsRelayedOnce) {
  for (const char* name : {"worker 7", "worker 8"}) {
    RelayLog("worker", name, "warning: no folder (said once)");
    FlushLog();
  }
  LogOnce(LogLevel::kWarning, "test", "no folder");
  EXPECT_EQ(Said(), "warning: worker 7: no folder (said once)\n");
}

TEST_F(LogTest, WhatSeveralProcessesSayIsSummedUp) {
  for (const char* name : {"worker 7", "worker 8"}) {
    RelayLog("worker", name, "warning: slow");
  }
  FlushLog();
  EXPECT_EQ(Said(),
            "warning: worker 7: slow\n"
            "warning: worker 7: slow ... repeated 1 time in 1 s\n");
}

TEST(ParseLogTest, LevelsAndFormatsHaveNames) {
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kInfo,
                               LogLevel::kWarning, LogLevel::kError}) {
    const absl::StatusOr<LogLevel> parsed = ParseLogLevel(LogLevelName(level));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, level);
  }
  EXPECT_EQ(*ParseLogFormat("text"), LogFormat::kText);
  EXPECT_EQ(*ParseLogFormat("json"), LogFormat::kJson);
}

TEST(ParseLogTest, WrongNamesAreRefusedWithTheRightOnes) {
  for (const char* name : {"", "loud", "WARNING", "warn"}) {
    EXPECT_THAT(std::string(ParseLogLevel(name).status().message()),
                HasSubstr("is none of: debug, info, warning, error"));
  }
  for (const char* name : {"", "xml", "JSON", "plain"}) {
    EXPECT_THAT(std::string(ParseLogFormat(name).status().message()),
                HasSubstr("is none of: text, json"));
  }
}

}  // namespace
}  // namespace wavetune
