#include "base/process_signals.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "gtest/gtest.h"

namespace wavetune {
namespace {

using ::testing::ExitedWithCode;
using Asked = ProcessSignals::Asked;

constexpr int kInOrder = 7;

// Returns once a reload was asked for: from then on the process serves.
bool WaitUntilServing() {
  const pid_t parent = ::getpid();
  if (::fork() == 0) {
    // Those that come before the parent waits are ignored.
    while (::getppid() == parent) ::kill(parent, SIGHUP);
    ::_exit(0);
  }
  return ProcessSignals::Wait() == Asked::kReload;
}

void WaitForTheEnd() {
  while (ProcessSignals::Wait() == Asked::kReload) {
  }
}

TEST(ProcessSignalsDeathTest, AnEndingSignalDuringTheStartIsObeyedAtOnce) {
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_EXIT(
        {
          ProcessSignals::Block();
          ::kill(::getpid(), SIGHUP);
          ::kill(::getpid(), signal);
          for (;;) ::pause();
        },
        ExitedWithCode(0), "");
  }
}

TEST(ProcessSignalsDeathTest, WhatComesBetweenReadyAndWaitingIsKept) {
  EXPECT_EXIT(
      {
        ProcessSignals::Block();
        ProcessSignals::Keep();
        ::kill(::getpid(), SIGHUP);
        if (ProcessSignals::Wait() != Asked::kReload) ::_exit(1);
        ::kill(::getpid(), SIGTERM);
        WaitForTheEnd();
        ::_exit(kInOrder);
      },
      ExitedWithCode(kInOrder), "");
}

TEST(ProcessSignalsDeathTest, AServerReloadsAndThenEndsInOrder) {
  EXPECT_EXIT(
      {
        ProcessSignals::Block();
        if (!WaitUntilServing()) ::_exit(1);
        ::kill(::getpid(), SIGTERM);
        WaitForTheEnd();
        ::_exit(kInOrder);
      },
      ExitedWithCode(kInOrder), "");
}

TEST(ProcessSignalsDeathTest, ASecondEndingSignalDoesNotWaitForTheOrder) {
  EXPECT_EXIT(
      {
        ProcessSignals::Block();
        if (!WaitUntilServing()) ::_exit(1);
        ::kill(::getpid(), SIGTERM);
        WaitForTheEnd();
        ::kill(::getpid(), SIGTERM);
        for (;;) ::pause();
      },
      ExitedWithCode(0), "");
}

}  // namespace
}  // namespace wavetune
