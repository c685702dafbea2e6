#include "base/init_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

namespace wavetune {
namespace {

// Collects what has ended. Returns what `child` ended with, once it has.
std::optional<int> Collect(pid_t child) {
  std::optional<int> code;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended < 0 && errno == EINTR) continue;
    if (ended <= 0) return code;
    if (ended != child) continue;
    code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

[[noreturn]] void ServeAsInit(pid_t child, const sigset_t& all) {
  for (;;) {
    siginfo_t info = {};
    const int signal = ::sigwaitinfo(&all, &info);
    if (signal > 0 && signal != SIGCHLD) ::kill(child, signal);
    if (const std::optional<int> code = Collect(child)) ::_exit(*code);
  }
}

}  // namespace

void LeaveInitBehind() {
  if (::getpid() == 1) SplitOffInit();
}

void SplitOffInit() {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child > 0) ServeAsInit(child, all);
  // A terminal's signals come to its group, and are passed on: not twice.
  if (child == 0) ::setpgid(0, 0);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace wavetune
