#include "cli/local_node.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/process_signals.h"
#include "base/socket_paths.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "client/src/endpoint.h"

namespace wavetune::cli {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);
// A worker probes its device; building PoCL's first program is what takes long.
constexpr auto kDeviceTimeout = std::chrono::seconds(60);
constexpr auto kDaemonTimeout = std::chrono::seconds(30);
constexpr size_t kLogTail = 2000;

constexpr char kDaemonName[] = "wavetuned";
constexpr char kAgentName[] = "wavetune-agent";

// The end of what is behind the file's first `from` bytes.
std::string Tail(const std::string& path, std::streamoff from) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(from);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.size() <= kLogTail ? text : text.substr(text.size() - kLogTail);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalNode>> LocalNode::Start(
    const std::vector<std::string>& kernels_dirs, const std::string& backends) {
  ASSIGN_OR_RETURN(std::unique_ptr<ScratchFolder> scratch,
                   ScratchFolder::Create());
  const std::string folder = scratch->path();
  std::unique_ptr<LocalNode> node(
      new LocalNode(std::move(scratch), folder,
                    absl::StrCat("unix:", folder, "/reader.sock")));
  const ChildProcess::Options options{.own_group = true, .ends_with_us = true};
  ASSIGN_OR_RETURN(node->daemon_,
                   node->StartProgram(kDaemonName,
                                      {"--store", folder + "/store",
                                       "--socket-dir", folder, kEndWithStdin},
                                      options, kernels_dirs));
  // Compiled programs are worth keeping: the agent's own cache folder.
  std::vector<std::string> arguments = {
      "--endpoint", SiblingEndpoint(node->endpoint_, "agent"), kEndWithStdin};
  if (!backends.empty())
    arguments.insert(arguments.end(), {"--backends", backends});
  ASSIGN_OR_RETURN(node->agent_,
                   node->StartProgram(kAgentName, arguments, options));
  return node;
}

absl::StatusOr<std::unique_ptr<LocalNode>> LocalNode::StartForUser(
    bool daemon, bool agent, const std::string& folder,
    const std::vector<std::string>& kernels_dirs, const std::string& python) {
  std::unique_ptr<LocalNode> node(
      new LocalNode(nullptr, folder, ReaderEndpoint()));
  const ChildProcess::Options options{.own_session = true};
  if (daemon) {
    ASSIGN_OR_RETURN(node->daemon_, node->StartProgram(kDaemonName, {}, options,
                                                       kernels_dirs));
    node->endpoint_ = absl::StrCat("unix:", DefaultSocketDir(), "/reader.sock");
  }
  if (agent) {
    std::vector<std::string> arguments = {
        "--endpoint", SiblingEndpoint(node->endpoint_, "agent")};
    if (!python.empty())
      arguments.insert(arguments.end(), {"--python", python});
    ASSIGN_OR_RETURN(node->agent_,
                     node->StartProgram(kAgentName, arguments, options));
  }
  return node;
}

absl::StatusOr<std::unique_ptr<ChildProcess>> LocalNode::StartProgram(
    const std::string& name, std::vector<std::string> arguments,
    ChildProcess::Options options,
    const std::vector<std::string>& kernels_dirs) {
  arguments.insert(arguments.begin(), FindProgram(name));
  for (const std::string& dir : kernels_dirs)
    arguments.insert(arguments.end(), {"--kernels-dir", dir});
  options.log_path = LogOf(name);
  std::error_code error;
  const auto size = std::filesystem::file_size(options.log_path, error);
  log_begins_[name] = error ? 0 : static_cast<std::streamoff>(size);
  return ChildProcess::Start(arguments, options);
}

LocalNode::~LocalNode() {
  // The agent first: it reports what it stops to the daemon.
  agent_.reset();
  daemon_.reset();
}

std::string LocalNode::LogOf(const std::string& program) const {
  return absl::StrCat(folder_, "/", program, ".log");
}

std::string LocalNode::EndOfLog(const std::string& program) const {
  const auto begin = log_begins_.find(program);
  return Tail(LogOf(program), begin == log_begins_.end() ? 0 : begin->second);
}

std::map<std::string, pid_t> LocalNode::Started() const {
  std::map<std::string, pid_t> started;
  if (daemon_ != nullptr) started[kDaemonName] = daemon_->pid();
  if (agent_ != nullptr) started[kAgentName] = agent_->pid();
  return started;
}

void LocalNode::Leave() {
  if (daemon_ != nullptr) daemon_->Leave();
  if (agent_ != nullptr) agent_->Leave();
}

absl::Status LocalNode::CheckRuns(ChildProcess* child,
                                  const std::string& name) const {
  const std::optional<int> code =
      child == nullptr ? std::nullopt : child->Poll();
  if (!code.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      name, " ended with exit code ", *code, ":\n", EndOfLog(name)));
}

absl::Status LocalNode::WaitForDaemon(Daemon& daemon) {
  const Clock::Duration deadline = SystemClock().SteadyNow() + kDaemonTimeout;
  absl::Status answer;
  while (SystemClock().SteadyNow() < deadline) {
    if (InterruptRequested()) return absl::CancelledError("interrupted");
    RETURN_IF_ERROR(CheckRuns(daemon_.get(), kDaemonName));
    answer = daemon.Ask<v1::GetStatusResponse>(v1::GetStatusRequest()).status();
    if (answer.ok()) return absl::OkStatus();
    SystemClock().Sleep(kPollInterval);
  }
  return absl::NotFoundError(
      absl::StrCat("no daemon within ", kDaemonTimeout.count(),
                   " s: ", answer.message(), ":\n", EndOfLog(kDaemonName)));
}

absl::StatusOr<std::string> LocalNode::WaitForDevice(Daemon& daemon,
                                                     const std::string& uuid) {
  const Clock::Duration deadline = SystemClock().SteadyNow() + kDeviceTimeout;
  while (SystemClock().SteadyNow() < deadline) {
    if (InterruptRequested()) return absl::CancelledError("interrupted");
    RETURN_IF_ERROR(CheckRuns(daemon_.get(), kDaemonName));
    RETURN_IF_ERROR(CheckRuns(agent_.get(), kAgentName));
    absl::StatusOr<v1::ListDevicesResponse> devices =
        daemon.Ask<v1::ListDevicesResponse>(v1::ListDevicesRequest());
    if (devices.ok()) {
      for (const v1::DeviceStatus& device : devices->devices()) {
        if (device.attached() && device.problem().empty() &&
            (uuid.empty() || device.facts().uuid() == uuid))
          return device.facts().uuid();
      }
    }
    SystemClock().Sleep(kPollInterval);
  }
  return absl::NotFoundError(absl::StrCat(
      uuid.empty() ? "no usable device" : absl::StrCat("no device ", uuid),
      " within ", std::chrono::seconds(kDeviceTimeout).count(), " s:\n",
      EndOfLog(kAgentName)));
}

}  // namespace wavetune::cli
