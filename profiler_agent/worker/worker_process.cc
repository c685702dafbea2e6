#include "profiler_agent/worker/worker_process.h"

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
#include "base/status_macros.h"
#include "profiler_agent/measure/environment_error.h"
#include "profiler_agent/measure/output_comparison.h"
#include "profiler_agent/worker/frame.h"
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

// Starts `command` with the pipes' ends as descriptors 0, 1 and 2; returns an
// errno.
int Spawn(const std::vector<std::string>& command, const Pipe& in,
          const Pipe& out, const Pipe& err, pid_t* pid) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);

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
  const int error = posix_spawnp(pid, arguments[0], &actions, &attributes,
                                 arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? absl::StrCat("signal ", signal)
                         : absl::StrCat("SIG", name);
}

ReferenceUse UseOf(const v1::WorkerReference& said) {
  if (!said.running()) return ReferenceUse::kNone;
  return said.after_candidates() ? ReferenceUse::kAfterCandidates
                                 : ReferenceUse::kBeforeCandidates;
}

// Lays a crash or a hang at the reference's door, or leaves open whose it is:
// ABORTED is tried again, in a fresh process.
absl::Status Blamed(ReferenceUse use, absl::Status status) {
  if (!absl::IsAborted(status) && !absl::IsDeadlineExceeded(status)) {
    return status;
  }
  switch (use) {
    case ReferenceUse::kNone:
      break;
    case ReferenceUse::kBeforeCandidates:
      return BrokenReference(status);
    case ReferenceUse::kAfterCandidates:
      return absl::AbortedError(
          absl::StrCat("in the reference kernel, after candidates had run: ",
                       status.message()));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(
    const std::vector<std::string>& command) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe in;
  Pipe out;
  Pipe err;
  if (!in.Open() || !out.Open() || !err.Open()) {
    return absl::UnavailableError(
        absl::StrCat("cannot create pipes: ", std::strerror(errno)));
  }
  pid_t pid = -1;
  if (const int error = Spawn(command, in, out, err, &pid); error != 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot start the worker ", command[0], ": ", std::strerror(error),
        error == EAGAIN ? "; " : "",
        error == EAGAIN ? ExhaustedAdvice(Resource::kProcesses) : ""));
  }
  SetNonBlocking(in.ends[1]);
  absl::StatusOr<std::unique_ptr<StderrTail>> errors =
      StderrTail::Start(err.ends[0], absl::StrCat("worker ", pid));
  if (!errors.ok()) {
    kill(-pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return errors.status();
  }
  err.Take(0);
  return std::unique_ptr<WorkerProcess>(
      new WorkerProcess(pid, in.Take(1), out.Take(0), *std::move(errors)));
}

WorkerProcess::WorkerProcess(pid_t pid, int input, int output,
                             std::unique_ptr<StderrTail> errors)
    : pid_(pid), input_(input), output_(output), errors_(std::move(errors)) {}

WorkerProcess::~WorkerProcess() {
  if (running()) Kill();
  close(input_);
  close(output_);
}

absl::StatusOr<v1::WorkerResponse> WorkerProcess::Call(
    const v1::WorkerRequest& request, std::chrono::milliseconds timeout) {
  if (!running()) return absl::AbortedError("the worker is not running");
  const Clock::Duration deadline = SystemClock().SteadyNow() + timeout;
  absl::Status sent = WriteFrame(input_, request.SerializeAsString(), deadline);
  ReferenceUse use = ReferenceUse::kNone;
  absl::StatusOr<v1::WorkerResponse> answer =
      sent.ok() ? ReadAnswer(deadline, timeout, use)
                : absl::StatusOr<v1::WorkerResponse>(std::move(sent));
  if (answer.ok()) return answer;
  if (absl::IsDeadlineExceeded(answer.status())) {
    Kill();
    return Blamed(use, absl::DeadlineExceededError(absl::StrCat(
                           "no answer within ",
                           static_cast<double>(timeout.count()) / 1000,
                           " s; the worker was killed")));
  }
  if (absl::IsOutOfRange(answer.status()) ||
      absl::IsUnavailable(answer.status())) {
    return Blamed(use, Died());
  }
  Kill();
  return absl::DataLossError(absl::StrCat(
      "the worker does not speak the protocol: ", answer.status().message()));
}

// Returns the answer; `use` is what was said last. Errors: as ReadFrame.
absl::StatusOr<v1::WorkerResponse> WorkerProcess::ReadAnswer(
    Clock::Duration deadline, std::chrono::milliseconds timeout,
    ReferenceUse& use) {
  Clock::Duration begin = SystemClock().SteadyNow();
  for (;;) {
    const bool in_reference = use != ReferenceUse::kNone;
    ASSIGN_OR_RETURN(
        const std::string frame,
        ReadFrame(output_, in_reference ? begin + timeout : deadline));
    v1::WorkerResponse response;
    if (!response.ParseFromString(frame) ||
        response.response_case() == v1::WorkerResponse::RESPONSE_NOT_SET) {
      return absl::DataLossError("its answer is no WorkerResponse");
    }
    if (!response.has_reference()) return response;
    const Clock::Duration now = SystemClock().SteadyNow();
    // The candidate's clock stands while the reference runs.
    if (in_reference) deadline += now - begin;
    begin = now;
    use = UseOf(response.reference());
  }
}

// The pipe is closed: the process ended, or is about to.
absl::Status WorkerProcess::Died() {
  const int status = Reap(kExitPatience);
  const std::string last_line = errors_->LastLine();
  const std::string said =
      last_line.empty() ? "" : absl::StrCat("; it last said: ", last_line);
  const std::string text =
      WIFEXITED(status) ? absl::StrCat("the worker exited with code ",
                                       WEXITSTATUS(status), said)
                        : absl::StrCat("the worker was ended by ",
                                       SignalName(WTERMSIG(status)), said);
  if (!WIFEXITED(status) &&
      (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM)) {
    return absl::CancelledError(text);
  }
  const std::optional<Resource> exhausted = errors_->LastExhausted();
  if (exhausted.has_value()) return ExhaustedError(*exhausted, text);
  return absl::AbortedError(text);
}

void WorkerProcess::Kill() { Reap(std::chrono::milliseconds(0)); }

int WorkerProcess::Reap(std::chrono::milliseconds patience) {
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
  // The whole group: what the worker itself started (a compiler) ends with it.
  // Until the worker is reaped nothing else can have the group's id.
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

}  // namespace wavetune
