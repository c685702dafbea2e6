#include "cli/progress.h"

#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace wavetune::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ProgressTest : public ::testing::Test {
 protected:
  Progress Make(bool terminal) {
    return Progress(output_, terminal, [this] { return now_s_; });
  }

  double now_s_ = 1000;
  std::ostringstream err_;
  Output output_{&err_};
};

TEST_F(ProgressTest, PrintsAPlainLineAtMostEveryTenSeconds) {
  {
    Progress progress = Make(/*terminal=*/false);
    for (int i = 0; i <= 25; ++i) {
      progress.Update("sampling", i, 100);
      now_s_ += 1;
    }
  }
  // At 0, 10 and 20 seconds, and the last state.
  const std::string text = err_.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_THAT(text, HasSubstr("25/100"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST_F(ProgressTest, RedrawsOneLineOnATerminal) {
  {
    Progress progress = Make(/*terminal=*/true);
    for (int i = 0; i < 5; ++i) {
      progress.Update("sampling", i, 100);
      now_s_ += 1;
    }
  }
  const std::string text = err_.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, HasSubstr("\r"));
}

TEST_F(ProgressTest, EstimatesTheTimeLeftFromTheRate) {
  Progress progress = Make(false);
  progress.Update("sampling", 0, 100);
  now_s_ += 20;
  progress.Update("sampling", 40, 100);
  EXPECT_THAT(err_.str(), HasSubstr("2/s, 30 s left"));
}

TEST_F(ProgressTest, BelievesTheDaemonsEstimate) {
  Progress progress = Make(false);
  progress.Update("sampling", 0, 100);
  now_s_ += 20;
  progress.Update("sampling", 40, 100, /*seconds_left=*/75);
  EXPECT_THAT(err_.str(), HasSubstr("1 min 15 s left"));
}

TEST_F(ProgressTest, ANewPhaseHasARateOfItsOwn) {
  Progress progress = Make(false);
  progress.Update("compiling", 0, 10);
  now_s_ += 100;
  progress.Update("sampling", 5, 1000);
  now_s_ += 10;
  progress.Update("sampling", 15, 1000);
  EXPECT_THAT(err_.str(), HasSubstr("1/s"));
}

TEST_F(ProgressTest, TheTimeLeftNeverRisesInAPhase) {
  Progress progress = Make(false);
  progress.Update("measuring", 1, 100, /*seconds_left=*/20);
  now_s_ += 20;
  progress.Update("measuring", 2, 100, /*seconds_left=*/60);
  now_s_ += 20;
  progress.Update("measuring", 3, 100, /*seconds_left=*/5);
  now_s_ += 20;
  progress.Update("fitting", 1, 100, /*seconds_left=*/30);
  EXPECT_THAT(err_.str(), HasSubstr("2/100, 0.05/s, more than 20 s left"));
  EXPECT_THAT(err_.str(), HasSubstr("3/100, 0.05/s, 5 s left"));
  EXPECT_THAT(err_.str(), HasSubstr("1/100, 30 s left"));
}

TEST_F(ProgressTest, WhatNobodyKnowsIsNotShown) {
  Progress progress = Make(false);
  progress.Update("sampling", 1, 100, Progress::kUnknown);
  now_s_ += 20;
  progress.Update("sampling", 40, 100, Progress::kUnknown);
  EXPECT_THAT(err_.str(), HasSubstr("40/100"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("left")));
}

TEST_F(ProgressTest, SaysNothingWhereNothingHappened) {
  {
    Progress progress = Make(true);
    progress.Finish();
  }
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ProgressTest, AnUnknownTotalIsNoBar) {
  Progress progress = Make(false);
  progress.Update("waiting", 0, 0);
  EXPECT_EQ(err_.str(), "waiting\n");
}

}  // namespace
}  // namespace wavetune::cli
