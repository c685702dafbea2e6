#include "cli/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "cli/interrupt.h"

namespace wavetune::cli {
namespace {

constexpr auto kExitPollInterval = std::chrono::milliseconds(20);
// An agent kills a hanging worker within this.
constexpr auto kStopTimeout = std::chrono::seconds(10);

constexpr int kUnknownExitCode = 255;

// What posix_spawn takes and must be given back.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  // `input`: what its standard input is to be; -1: /dev/null beside a log.
  void Apply(const ChildProcess::Options& options, int input) {
    if (input >= 0)
      posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    if (!options.log_path.empty()) {
      posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO,
                                       options.log_path.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0644);
      posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
      if (input < 0) {
        posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null",
                                         O_RDONLY, 0);
      }
    }
    if (!options.output_path.empty()) {
      posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO,
                                       options.output_path.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0644);
    }
    // The child starts with the default signals whatever we do with ours.
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    short flags = POSIX_SPAWN_SETSIGDEF;  // NOLINT: posix_spawn's type.
    if (options.own_group) {
      posix_spawnattr_setpgroup(&attributes_, 0);
      flags |= POSIX_SPAWN_SETPGROUP;
    }
    if (options.own_session) flags |= POSIX_SPAWN_SETSID;
    posix_spawnattr_setflags(&attributes_, flags);
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

int ToExitCode(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                : 128 + WTERMSIG(wait_status);
}

}  // namespace

std::filesystem::path ProgramFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

std::string FolderBeside(const std::string& name, const std::string& in_clone) {
  const std::filesystem::path programs = ProgramFolder();
  const std::filesystem::path installed =
      programs.parent_path() / "share/wavetune" / name;
  std::error_code error;
  if (std::filesystem::is_directory(installed, error))
    return installed.string();
  // build/PRESET/bin
  const std::filesystem::path clone =
      programs.parent_path().parent_path().parent_path();
  const bool is_clone =
      std::filesystem::exists(clone / "CMakePresets.json", error) &&
      std::filesystem::is_directory(clone / in_clone, error);
  return is_clone ? (clone / in_clone).string() : "";
}

std::string FindProgram(const std::string& name) {
  const std::filesystem::path folder = ProgramFolder();
  std::error_code error;
  return !folder.empty() && std::filesystem::exists(folder / name, error)
             ? (folder / name).string()
             : name;
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& arguments, const Options& options) {
  if (arguments.empty())
    return absl::InvalidArgumentError("no program to start");
  std::array<int, 2> pipe = {-1, -1};
  if (options.ends_with_us && ::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return absl::InternalError(
        absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  SpawnSettings settings;
  settings.Apply(options, pipe[0]);
  std::vector<char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], settings.actions(),
                                 settings.attributes(), argv.data(), environ);
  if (pipe[0] >= 0) close(pipe[0]);
  if (error != 0 && pipe[1] >= 0) close(pipe[1]);
  if (error == ENOENT)
    return absl::NotFoundError(
        absl::StrCat("cannot start ", arguments[0],
                     ": not beside this program and not in PATH"));
  if (error != 0)
    return absl::InternalError(absl::StrCat("cannot start ", arguments[0], ": ",
                                            std::strerror(error)));
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, pipe[1]));
}

ChildProcess::~ChildProcess() {
  Stop();
  if (lifeline_ >= 0) close(lifeline_);
}

std::optional<int> ChildProcess::Poll() {
  if (exit_code_.has_value()) return exit_code_;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == pid_) exit_code_ = ToExitCode(status);
  // Somebody else collected it: it is gone, with a code nobody knows.
  if (ended < 0 && errno == ECHILD) exit_code_ = kUnknownExitCode;
  return exit_code_;
}

absl::StatusOr<int> ChildProcess::Wait() {
  bool passed_on = false;
  while (!Poll().has_value()) {
    if (InterruptRequested() && !passed_on) {
      kill(pid_, SIGINT);
      passed_on = true;
    }
    SystemClock().Sleep(kExitPollInterval);
  }
  return *exit_code_;
}

void ChildProcess::Leave() {
  exit_code_ = kUnknownExitCode;  // Nothing is left to stop.
}

void ChildProcess::Stop() {
  if (Poll().has_value()) return;
  kill(pid_, SIGTERM);
  const Clock::Duration deadline = SystemClock().SteadyNow() + kStopTimeout;
  while (!Poll().has_value()) {
    if (SystemClock().SteadyNow() > deadline) kill(pid_, SIGKILL);
    SystemClock().Sleep(kExitPollInterval);
  }
}

}  // namespace wavetune::cli
