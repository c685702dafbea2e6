#include "tests/lib/program.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace wavetune::testing {
namespace {

constexpr std::chrono::milliseconds kPollInterval(10);
constexpr int kCannotStart = 127;  // As the shell says it.

void Redirect(const std::string& path, int flags, int to) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | flags, 0644);
  if (file < 0 || dup2(file, to) < 0) _exit(kCannotStart);
  close(file);
}

void BecomeUser(uid_t uid) {
  if (setgroups(0, nullptr) != 0 || setgid(uid) != 0 || setuid(uid) != 0) {
    _exit(kCannotStart);
  }
}

// In the child.
[[noreturn]] void Execute(const std::vector<std::string>& arguments,
                          const ProgramOptions& options) {
  for (const auto& [name, value] : options.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  if (!options.log_path.empty()) {
    Redirect(options.log_path, O_APPEND, STDOUT_FILENO);
    Redirect(options.log_path, O_APPEND, STDERR_FILENO);
  }
  if (!options.out_path.empty()) {
    Redirect(options.out_path, O_TRUNC, STDOUT_FILENO);
  }
  if (options.uid != 0) BecomeUser(options.uid);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(kCannotStart);
}

// Returns the parent as /proc/<pid>/stat has it, 0 where it is gone. The name
// before it is in parentheses and may hold anything.
pid_t ParentOf(pid_t pid) {
  const std::string stat = ReadText("/proc/" + std::to_string(pid) + "/stat");
  const size_t end = stat.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream rest(stat.substr(end + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return state == 'Z' ? 0 : parent;
}

}  // namespace

std::unique_ptr<Program> Program::Start(
    const std::vector<std::string>& arguments, const ProgramOptions& options) {
  const pid_t pid = fork();
  if (pid == 0) Execute(arguments, options);
  auto program = std::unique_ptr<Program>(new Program(pid));
  if (pid < 0) program->exit_code_ = kCannotStart;
  return program;
}

Program::~Program() { Kill(); }

void Program::Kill() {
  if (Poll()) return;
  kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  exit_code_ = 128 + SIGKILL;
}

std::optional<int> Program::Stop(std::chrono::seconds patience) {
  if (!Poll()) kill(pid_, SIGTERM);
  const std::optional<int> code = Wait(patience);
  Kill();
  return code;
}

std::optional<int> Program::Poll() {
  int status = 0;
  if (!exit_code_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_code_ =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return exit_code_;
}

std::optional<int> Program::Wait(std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!Poll() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPollInterval);
  }
  return exit_code_;
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  DIR* const proc = opendir("/proc");
  if (proc == nullptr) return children;
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0 && ParentOf(pid) == parent) children.push_back(pid);
  }
  closedir(proc);
  return children;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace wavetune::testing
