#include "profiler_agent/worker/piped_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/worker/stderr_tail.h"

extern char** environ;

namespace wavetune {
namespace {

// A process that closed its output gets this long to end by itself (a core dump
// takes a while), so that the reason is its own and not our SIGKILL.
constexpr auto kExitPatience = std::chrono::milliseconds(2000);

// A pipe whose ends are closed at the end, unless taken.
struct Pipe {
  std::array<int, 2> ends = {-1, -1};

  // Close-on-exec: a worker must not hold another one's pipe open, or the other
  // would outlive the agent.
  bool Open() { return pipe2(ends.data(), O_CLOEXEC) == 0; }
  int Take(size_t end) { return std::exchange(ends[end], -1); }
  ~Pipe() {
    for (const int fd : ends) {
      if (fd >= 0) close(fd);
    }
  }
};

void SetNonBlocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

// Returns the texts as execve takes them; points into them.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Starts `command` with the pipes' ends as descriptors 0, 1 and 2; returns an
// errno.
int Spawn(const std::vector<std::string>& command,
          const std::vector<std::string>* environment, const Pipe& in,
          const Pipe& out, const Pipe& err, pid_t* pid) {
  const std::vector<char*> arguments = Pointers(command);
  std::vector<char*> variables;
  if (environment != nullptr) variables = Pointers(*environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  // The agent ignores SIGPIPE and blocks the signals it waits for; the worker
  // starts with neither. A process group of its own keeps a Ctrl-C for the
  // agent, which ends its workers in order, and everything in it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETPGROUP);
  const int error =
      posix_spawnp(pid, arguments[0], &actions, &attributes, arguments.data(),
                   environment == nullptr ? environ : variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal)
                         : absl::StrCat("SIG", name);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PipedProcess>> PipedProcess::Start(
    const std::vector<std::string>& command, const std::string& role,
    const std::vector<std::string>* environment) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe in;
  Pipe out;
  Pipe err;
  if (!in.Open() || !out.Open() || !err.Open()) {
    return absl::UnavailableError(
        absl::StrCat("cannot create pipes: ", std::strerror(errno)));
  }
  pid_t pid = -1;
  if (const int error = Spawn(command, environment, in, out, err, &pid);
      error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot start the ", role, " ", command[0], ": ", std::strerror(error),
        error == EAGAIN ? "; " : "",
        error == EAGAIN ? ExhaustedAdvice(Resource::kProcesses) : ""));
  }
  SetNonBlocking(in.ends[1]);
  absl::StatusOr<std::unique_ptr<StderrTail>> errors =
      StderrTail::Start(err.ends[0], absl::StrCat(role, " ", pid));
  if (!errors.ok()) {
    kill(-pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return errors.status();
  }
  err.Take(0);
  return std::unique_ptr<PipedProcess>(
      new PipedProcess(pid, in.Take(1), out.Take(0), *std::move(errors), role));
}

PipedProcess::PipedProcess(pid_t pid, int input, int output,
                           std::unique_ptr<StderrTail> errors, std::string role)
    : pid_(pid),
      input_(input),
      output_(output),
      errors_(std::move(errors)),
      role_(std::move(role)) {}

PipedProcess::~PipedProcess() {
  if (running()) Kill();
  close(input_);
  close(output_);
}

absl::Status PipedProcess::Died() {
  const int status = Reap(kExitPatience);
  const std::string last_line = errors_->LastLine();
  const std::string said =
      last_line.empty() ? "" : absl::StrCat("; it last said: ", last_line);
  const std::string text =
      WIFEXITED(status) ? absl::StrCat("the ", role_, " exited with code ",
                                       WEXITSTATUS(status), said)
                        : absl::StrCat("the ", role_, " was ended by ",
                                       SignalName(WTERMSIG(status)), said);
  if (!WIFEXITED(status) &&
      (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM)) {
    return absl::CancelledError(text);
  }
  const std::optional<Resource> exhausted = errors_->LastExhausted();
  if (exhausted.has_value()) return ExhaustedError(*exhausted, text);
  return absl::AbortedError(text);
}

void PipedProcess::Kill() { Reap(std::chrono::milliseconds(0)); }

void PipedProcess::End() {
  kill(pid_, SIGTERM);
  Reap(kExitPatience);
}

int PipedProcess::Reap(std::chrono::milliseconds patience) {
  constexpr auto kStep = std::chrono::milliseconds(5);
  for (auto waited = kStep; waited <= patience; waited += kStep) {
    siginfo_t ended = {};
    if (waitid(P_PID, static_cast<id_t>(pid_), &ended,
               WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid == pid_) {
      break;
    }
    SystemClock().Sleep(kStep);
  }
  // The whole group: what the child itself started (a compiler) ends with it.
  // Until the child is reaped nothing else can have the group's id.
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

}  // namespace wavetune
