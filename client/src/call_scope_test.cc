#include "client/src/call_scope.h"

#include <gtest/gtest.h>

namespace wavetune {
namespace {

TEST(CallScopeTest, EndsTheCallThatRunsAndEveryLaterOneOfItsThread) {
  int first = 0;
  int second = 0;
  CallScope scope;
  const CallScope::Use use(&scope);
  {
    const CallScope::Call call([&] { ++first; });
    EXPECT_EQ(first, 0);
    scope.Cancel();
    EXPECT_EQ(first, 1);
  }
  scope.Cancel();
  EXPECT_EQ(first, 1) << "that call is over";
  const CallScope::Call call([&] { ++second; });
  EXPECT_EQ(second, 1);
}

TEST(CallScopeTest, LeavesCallsOfOtherOperationsAlone) {
  int ended = 0;
  CallScope cancelled;
  cancelled.Cancel();
  {
    const CallScope::Call of_nobody([&] { ++ended; });
  }
  CallScope outer;
  const CallScope::Use use(&outer);
  {
    const CallScope::Use inner(&cancelled);
    const CallScope::Call call([&] { ended += 10; });
  }
  const CallScope::Call call([&] { ++ended; });
  EXPECT_EQ(ended, 10);
}

}  // namespace
}  // namespace wavetune
