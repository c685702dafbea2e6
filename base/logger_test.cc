#include "base/logger.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LoggerTest : public ::testing::Test {
 protected:
  FakeClock clock_;  // It is 2023-11-14, 22:13:20.
  std::vector<std::string> lines_;
  Logger logger_{clock_,
                 [this](absl::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(LoggerTest, ALineHasTimeLevelComponentAndText) {
  logger_.Log(LogLevel::kWarning, "store", "", "the disk is full");
  EXPECT_THAT(lines_,
              ElementsAre("2023-11-14T22:13:20.000Z WARN  store: the disk is "
                          "full\n"));
}

TEST_F(LoggerTest, TheJournalReadsThePriorityOfEachLine) {
  logger_.SetForJournal(true);
  logger_.SetLevel(LogLevel::kDebug);
  logger_.Log(LogLevel::kDebug, "a", "", "d");
  logger_.Log(LogLevel::kInfo, "a", "", "i");
  logger_.Log(LogLevel::kWarning, "a", "", "w");
  logger_.SetFormat(LogFormat::kJson);
  logger_.Log(LogLevel::kError, "a", "", "e");
  using ::testing::StartsWith;
  EXPECT_THAT(lines_, ElementsAre(StartsWith("<7>2023"), StartsWith("<6>2023"),
                                  StartsWith("<4>2023"), StartsWith("<3>{")));
}

TEST_F(LoggerTest, LinesBelowTheLevelAreDropped) {
  logger_.Log(LogLevel::kInfo, "store", "", "opened");
  EXPECT_THAT(lines_, IsEmpty());
  logger_.SetLevel(LogLevel::kInfo);
  logger_.Log(LogLevel::kInfo, "store", "", "opened");
  EXPECT_THAT(lines_, SizeIs(1));
}

TEST_F(LoggerTest, AnyTextIsOneLineOfUtf8) {
  logger_.Log(LogLevel::kError, "store", "", "caf\xe9\r\n2023 INFO x: forged");
  EXPECT_THAT(lines_, ElementsAre(EndsWith("caf\\xe9  2023 INFO x: forged\n")));
  lines_.clear();
  logger_.Log(LogLevel::kError, "store", "",
              std::string(Logger::kMaxTextBytes + 7, 'x'));
  EXPECT_THAT(lines_, ElementsAre(EndsWith("x ... (7 bytes more)\n")));
}

TEST_F(LoggerTest, JsonIsAnObjectALine) {
  logger_.SetFormat(LogFormat::kJson);
  logger_.Log(LogLevel::kWarning, "kernels", "",
              "C:\\a \"b\"\n\t\x01 \xc3\xa9 caf\xe9 \x7f </script>");
  EXPECT_THAT(
      lines_,
      ElementsAre("{\"time\":\"2023-11-14T22:13:20.000Z\",\"level\":"
                  "\"warning\",\"component\":\"kernels\",\"message\":\"C:"
                  "\\\\a \\\"b\\\"\\n\\u0009\\u0001 \xc3\xa9 caf\\\\xe9 \x7f "
                  "</script>\"}\n"));
}

TEST_F(LoggerTest, PlainLinesAreForPeopleAndRelays) {
  logger_.SetFormat(LogFormat::kPlain);
  logger_.Log(LogLevel::kError, "cuda", "", "no device");
  EXPECT_THAT(lines_, ElementsAre("error: no device\n"));
}

TEST_F(LoggerTest, EqualLinesAreSummedUpEveryTenSeconds) {
  logger_.SetFormat(LogFormat::kPlain);
  EXPECT_FALSE(logger_.Log(LogLevel::kError, "store", "", "full"));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(logger_.Log(LogLevel::kError, "store", "", "full"));
  }
  EXPECT_THAT(lines_, ElementsAre("error: full\n"));
  clock_.Advance(9);
  EXPECT_TRUE(logger_.WriteDue());
  clock_.Advance(1);
  EXPECT_FALSE(logger_.WriteDue());
  EXPECT_THAT(lines_, ElementsAre("error: full\n",
                                  "error: full ... repeated 1,000 times in 10 "
                                  "s\n"));
}

TEST_F(LoggerTest, LongTextsThatDifferAtTheirEndAreDifferentLines) {
  const std::string text(5000, 'x');
  logger_.Log(LogLevel::kError, "store", "", text + "1");
  logger_.Log(LogLevel::kError, "store", "", text + "2");
  EXPECT_THAT(lines_, SizeIs(2));
}

TEST_F(LoggerTest, LinesOfOneKindAreRepeatsWhateverTheirText) {
  for (int i = 0; i < 10; ++i) {
    logger_.Log(LogLevel::kError, "socket", "refused", absl::StrCat(i));
  }
  logger_.Log(LogLevel::kError, "socket", "accept", "10");
  EXPECT_THAT(lines_, ElementsAre(EndsWith(": 0\n"), EndsWith(": 10\n")));
}

TEST_F(LoggerTest, AFloodOfOneComponentHidesNoOtherAndNoError) {
  for (int i = 0; i < 1000; ++i) {
    logger_.Log(LogLevel::kWarning, "kernels", "", absl::StrCat("fault ", i));
  }
  EXPECT_THAT(lines_, SizeIs(RepeatedLines::kMaxKinds + 1));
  logger_.Log(LogLevel::kError, "kernels", "", "an error");
  logger_.Log(LogLevel::kWarning, "store", "", "another");
  EXPECT_THAT(lines_, SizeIs(RepeatedLines::kMaxKinds + 3));
  lines_.clear();
  logger_.Flush();
  EXPECT_THAT(lines_,
              ElementsAre(HasSubstr("fault 64 ... and 935 more lines in 1 s")));
}

TEST_F(LoggerTest, AtTheEndAllIsSummedUp) {
  logger_.Log(LogLevel::kError, "store", "", "full");
  logger_.Log(LogLevel::kError, "store", "", "full");
  logger_.Flush();
  EXPECT_THAT(lines_,
              ElementsAre(EndsWith("full\n"),
                          EndsWith("full ... repeated 1 time in 1 s\n")));
}

TEST_F(LoggerTest, LinesOfSeveralThreadsStayWhole) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      for (int j = 0; j < 1000; ++j) {
        logger_.Log(LogLevel::kError, "store", "", absl::StrCat("thread ", i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(lines_, SizeIs(4));
  logger_.Flush();
  EXPECT_THAT(lines_, SizeIs(8));
  EXPECT_THAT(lines_[7], HasSubstr("repeated 999 times"));
}

}  // namespace
}  // namespace wavetune
