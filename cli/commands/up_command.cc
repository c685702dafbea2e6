// wavetune up, wavetune down: a daemon and an agent of this user.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/environment_variable.h"
#include "base/socket_diagnosis.h"
#include "base/socket_paths.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/commands/commands.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/local_node.h"
#include "client/src/endpoint.h"

namespace wavetune::cli {
namespace {

// A daemon ends its jobs in order, an agent kills a worker that hangs.
constexpr auto kEndTimeout = std::chrono::seconds(20);
constexpr auto kPollInterval = std::chrono::milliseconds(50);

constexpr mode_t kOthersRead = 0755;

struct UpOptions {
  std::vector<std::string> kernels_dirs;
  std::string python;
};

// What `up` started, by the program's name. The agent comes first in it, and is
// to end first, as it reports what it stops to the daemon.
using Started = std::map<std::string, pid_t>;

std::string StartedFile() { return DefaultSocketDir() + "/up.pids"; }

// Whether the process is this program still: numbers are given anew, and one
// that has ended keeps its number until it is asked for.
bool Runs(const std::string& program, pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string stat;  // "123 (wavetuned) S ..."
  if (!std::getline(file, stat)) return false;
  const std::string name = absl::StrCat("(", program, ") ");
  const size_t at = stat.find(name);
  return at != std::string::npos && stat[at + name.size()] != 'Z';
}

// Returns what was started and runs still. Nothing where somebody else may have
// written it: anybody can make a folder in /tmp before us.
Started ReadStarted() {
  Started started;
  struct stat info {};
  if (!CheckPrivateDir(DefaultSocketDir()).ok() ||
      ::lstat(StartedFile().c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return started;
  std::ifstream file(StartedFile());
  std::string program;
  for (pid_t pid = 0; file >> program >> pid;) {
    const bool ours = program == "wavetuned" || program == "wavetune-agent";
    if (ours && pid > 0 && Runs(program, pid)) started[program] = pid;
  }
  return started;
}

// Makes the daemon's folder where it is missing, as it would. Errors: others
// can write there.
absl::Status MakeFolder() {
  const std::string folder = DefaultSocketDir();
  RETURN_IF_ERROR(PrepareSocketDir(folder));
  if (::mkdir(folder.c_str(), kOthersRead) != 0 && errno != EEXIST) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make ", folder, ": ", std::strerror(errno)));
  }
  return CheckPrivateDir(folder);
}

// What is not there leaves no file.
absl::Status WriteStarted(const Started& started) {
  if (started.empty()) {
    std::error_code error;
    std::filesystem::remove(StartedFile(), error);
    return absl::OkStatus();
  }
  std::string text;
  for (const auto& [program, pid] : started)
    absl::StrAppend(&text, program, " ", pid, "\n");
  if (const std::error_code error = WriteFileAtomically(StartedFile(), text)) {
    return absl::InternalError(
        absl::StrCat("cannot write ", StartedFile(), ": ", error.message()));
  }
  return absl::OkStatus();
}

std::string OwnEndpoint() {
  return absl::StrCat("unix:", DefaultSocketDir(), "/reader.sock");
}

// Those that lie beside the program, as packages, wheels and clones have them.
std::vector<std::string> KernelsBeside() {
  const std::string beside = FolderBeside("kernels", "kernels");
  if (beside.empty()) return {};
  return {beside};
}

absl::StatusOr<std::string> LogFolder() {
  const CacheDir cache = DefaultCacheDir();
  std::error_code error;
  if (!cache.path.empty())
    std::filesystem::create_directories(cache.path, error);
  if (cache.path.empty() || error) {
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no folder for logs: ",
        error ? error.message() : cache.problem,
        "; say one that this user can write to in WAVETUNE_CACHE_DIR"));
  }
  return cache.path;
}

// Returns the UUID of a device that is attached; empty where none is.
std::string AttachedDevice(Daemon& daemon) {
  const auto devices =
      daemon.Ask<v1::ListDevicesResponse>(v1::ListDevicesRequest());
  if (!devices.ok()) return "";
  for (const v1::DeviceStatus& device : devices->devices()) {
    if (device.attached()) return device.facts().uuid();
  }
  return "";
}

// Whether the socket at which a client of this user finds a daemon is that of
// somebody else: for root both have one place.
bool IsOfAnother(const std::string& endpoint) {
  const std::string path(absl::StripPrefix(endpoint, "unix:"));
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && info.st_uid != ::geteuid();
}

struct Found {
  bool daemon = false;  // Somebody answers.
  std::string device;   // Attached there.
};

// Looks at who answers already. Errors: what answers there is not to be
// replaced, and cannot be used.
absl::StatusOr<Found> LookAround(CommandContext& context) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  const absl::Status answer =
      daemon->Ask<v1::GetStatusResponse>(v1::GetStatusRequest()).status();
  if (answer.ok())
    return Found{.daemon = true, .device = AttachedDevice(*daemon)};
  if (context.Endpoint() != OwnEndpoint()) return Found();
  using Kind = SocketDiagnosis::Kind;
  const Kind kind = DiagnoseSocket(OwnEndpoint()).kind;
  if (kind == Kind::kNoSocket || kind == Kind::kNobody) return Found();
  return answer;
}

// Starts what is missing and waits for a device, which it sets in `found`.
absl::Status Start(CommandContext& context, const UpOptions& options,
                   const std::vector<std::string>& kernels_dirs,
                   bool start_agent, Found* found, Started* started,
                   std::string* endpoint) {
  ASSIGN_OR_RETURN(const std::string logs, LogFolder());
  RETURN_IF_ERROR(MakeFolder());
  if (InterruptRequested()) return absl::CancelledError("interrupted");
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalNode> node,
                   LocalNode::StartForUser(!found->daemon, start_agent, logs,
                                           kernels_dirs, options.python));
  for (const auto& [program, pid] : node->Started()) (*started)[program] = pid;
  // At once: a second Ctrl-C ends this program, and `down` is to end these.
  RETURN_IF_ERROR(WriteStarted(*started));
  *endpoint = node->endpoint();
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon,
                   context.connect(*endpoint));
  RETURN_IF_ERROR(node->WaitForDaemon(*daemon));
  absl::StatusOr<std::string> device = node->WaitForDevice(*daemon);
  if (absl::IsCancelled(device.status())) return device.status();
  if (device.ok()) {
    found->device = *device;
  } else {
    // It serves what it has all the same, if it is there.
    RETURN_IF_ERROR(
        daemon->Ask<v1::GetStatusResponse>(v1::GetStatusRequest()).status());
    *context.err << "no device: " << Lines(device.status().message(), "  ")
                 << "\n";
  }
  node->Leave();
  return absl::OkStatus();
}

absl::Status RunUp(CommandContext& context, const UpOptions& options) {
  if (!context.endpoint.empty() ||
      !EnvironmentVariable("WAVETUNE_ENDPOINT").empty()) {
    return absl::InvalidArgumentError(
        "`wavetune up` starts a daemon where every client of this user looks "
        "for one: leave --endpoint and WAVETUNE_ENDPOINT out");
  }
  ASSIGN_OR_RETURN(Found found, LookAround(context));
  Started started = ReadStarted();
  std::string endpoint = context.Endpoint();
  const bool of_the_system =
      found.daemon && (endpoint != OwnEndpoint() || IsOfAnother(endpoint));
  const bool start_agent = !of_the_system && found.device.empty() &&
                           !started.contains("wavetune-agent");
  if ((found.daemon && !options.kernels_dirs.empty()) ||
      (!start_agent && !options.python.empty())) {
    *context.err << "what runs already keeps its own options: end it first, "
                    "with `wavetune down`\n";
  }
  const std::vector<std::string> kernels_dirs =
      options.kernels_dirs.empty() ? KernelsBeside() : options.kernels_dirs;
  if (!found.daemon || start_agent) {
    const Started before = started;
    const absl::Status status = Start(context, options, kernels_dirs,
                                      start_agent, &found, &started, &endpoint);
    if (!status.ok()) {
      WriteStarted(before).IgnoreError();
      return status;
    }
    if (!found.daemon && kernels_dirs.empty()) {
      *context.err << "no kernels: give their folder with --kernels-dir\n";
    }
  }
  if (context.json) {
    Json json = {{"endpoint", endpoint}, {"device", found.device}};
    for (const auto& [program, pid] : started) json["started"][program] = pid;
    PrintJson(*context.out, json);
    return absl::OkStatus();
  }
  *context.out << (of_the_system  ? "the system's daemon answers at "
                   : found.daemon ? "a daemon answers already at "
                                  : "a daemon answers at ")
               << endpoint << "\n";
  if (!found.device.empty())
    *context.out << "device " << found.device << " is attached\n";
  if (!started.empty()) *context.out << "`wavetune down` ends what is up\n";
  return absl::OkStatus();
}

// Errors: DEADLINE_EXCEEDED where it does not end.
absl::Status End(const std::string& program, pid_t pid) {
  if (::kill(pid, SIGTERM) != 0 && errno != ESRCH) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot end ", program, " (process ", pid,
                     "): ", std::strerror(errno)));
  }
  const Clock::Duration deadline = SystemClock().SteadyNow() + kEndTimeout;
  while (Runs(program, pid)) {
    if (SystemClock().SteadyNow() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          program, " (process ", pid, ") does not end: look into its log"));
    }
    SystemClock().Sleep(kPollInterval);
  }
  return absl::OkStatus();
}

absl::Status RunDown(CommandContext& context) {
  const Started started = ReadStarted();
  Json ended = Json::array();
  for (const auto& [program, pid] : started) {
    RETURN_IF_ERROR(End(program, pid));
    ended.push_back(program);
    if (!context.json) *context.out << program << " has ended\n";
  }
  std::error_code error;
  std::filesystem::remove(StartedFile(), error);
  if (started.empty() &&
      DiagnoseSocket(OwnEndpoint()).kind == SocketDiagnosis::Kind::kSilent) {
    return absl::FailedPreconditionError(
        absl::StrCat("somebody else started the daemon at ", OwnEndpoint(),
                     ": end it where it was started"));
  }
  if (context.json) {
    Json json;
    json["ended"] = ended;
    PrintJson(*context.out, json);
  } else if (started.empty()) {
    *context.out << "nothing is up\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddUpCommands(CommandRegistry& registry) {
  auto options = std::make_shared<UpOptions>();
  CLI::App* command = registry.Add(
      registry.root(), "up",
      "Starts a daemon and an agent for this user, without root, where clients "
      "find them without being told. Goes on with what runs already; where the "
      "system's daemon serves, nothing is started.",
      {"wavetune up", "wavetune up --kernels-dir kernels",
       "wavetune up --python ~/venv/bin/python"},
      [options](CommandContext& context) { return RunUp(context, *options); },
      /*needs_daemon=*/false);
  command->add_option(
      "--kernels-dir", options->kernels_dirs,
      "Folder of kernel folders; may be repeated. Default: those that are "
      "installed beside this program");
  command
      ->add_option("--python", options->python,
                   "Python interpreter with Triton, which compiles Triton "
                   "kernels; default: the agent's")
      ->envname("WAVETUNE_PYTHON");
  registry.Add(registry.root(), "down",
               "Ends what `wavetune up` started. Samples and tables stay.",
               {"wavetune down"}, RunDown, /*needs_daemon=*/false);
}

}  // namespace wavetune::cli
