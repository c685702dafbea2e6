#include "base/process_signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace wavetune {
namespace {

using Asked = ProcessSignals::Asked;

// Never destroyed: its thread runs until the process ends.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex.
  bool serving = false;  // Somebody waits, has waited, or will.
  bool end = false;
  bool reload = false;
};

State& Get() {
  static State* const state = new State;
  return *state;
}

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  return signals;
}

void OnSignal(int signal) {
  State& state = Get();
  std::lock_guard lock(state.mutex);
  if (signal == SIGHUP) {
    state.reload = state.serving;
  } else if (!state.serving || state.end) {
    ::_exit(0);
  } else {
    state.end = true;
  }
  state.changed.notify_all();
}

}  // namespace

void ProcessSignals::Block() {
  ::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = Signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    for (;;) {
      int signal = 0;
      if (::sigwait(&signals, &signal) == 0) OnSignal(signal);
    }
  }).detach();
}

void ProcessSignals::Keep() {
  State& state = Get();
  std::lock_guard lock(state.mutex);
  state.serving = true;
}

Asked ProcessSignals::Wait() {
  State& state = Get();
  std::unique_lock lock(state.mutex);
  state.serving = true;
  state.changed.wait(lock, [&] { return state.end || state.reload; });
  if (state.end) return Asked::kEnd;
  state.reload = false;
  return Asked::kReload;
}

void EndWithStdin() {
  std::thread([] {
    std::array<char, 64> ignored;
    for (;;) {
      const ssize_t count =
          ::read(STDIN_FILENO, ignored.data(), ignored.size());
      if (count == 0 || (count < 0 && errno != EINTR)) break;
    }
    ::kill(::getpid(), SIGTERM);
  }).detach();
}

}  // namespace wavetune
