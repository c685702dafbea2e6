#include "cli/interrupt.h"

#include <signal.h>

namespace wavetune::cli {
namespace {

volatile sig_atomic_t interrupted = 0;

void OnSignal(int number) { interrupted = number; }

}  // namespace

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  // The second signal finds the default action.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // Who ignores it (nohup) wants to outlive the terminal.
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool InterruptRequested() { return interrupted != 0; }

int InterruptExitCode() { return interrupted == 0 ? 0 : 128 + interrupted; }

}  // namespace wavetune::cli
