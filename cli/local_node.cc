#include "cli/local_node.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/process_signals.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"

namespace wavetune::cli {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);
// A worker probes its device; building PoCL's first program is what takes long.
constexpr auto kDeviceTimeout = std::chrono::seconds(60);
constexpr size_t kLogTail = 2000;

std::string Tail(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.size() <= kLogTail ? text : text.substr(text.size() - kLogTail);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalNode>> LocalNode::Start(
    const std::vector<std::string>& kernels_dirs) {
  ASSIGN_OR_RETURN(std::unique_ptr<ScratchFolder> scratch,
                   ScratchFolder::Create());
  const std::string folder = scratch->path();
  std::unique_ptr<LocalNode> node(new LocalNode(std::move(scratch)));
  std::vector<std::string> daemon = {
      FindProgram("wavetuned"), "--store", folder + "/store",
      "--socket-dir",           folder,    kEndWithStdin};
  for (const std::string& dir : kernels_dirs)
    daemon.insert(daemon.end(), {"--kernels-dir", dir});
  ASSIGN_OR_RETURN(
      node->daemon_,
      ChildProcess::Start(daemon, {.log_path = folder + "/wavetuned.log",
                                   .own_group = true,
                                   .ends_with_us = true}));
  // Compiled programs are worth keeping: the agent's own cache folder.
  ASSIGN_OR_RETURN(
      node->agent_,
      ChildProcess::Start(
          {FindProgram("wavetune-agent"), "--endpoint",
           absl::StrCat("unix:", folder, "/agent.sock"), kEndWithStdin},
          {.log_path = folder + "/wavetune-agent.log",
           .own_group = true,
           .ends_with_us = true}));
  return node;
}

LocalNode::~LocalNode() {
  // The agent first: it reports what it stops to the daemon.
  agent_.reset();
  daemon_.reset();
}

std::string LocalNode::endpoint() const {
  return absl::StrCat("unix:", folder_->path(), "/reader.sock");
}

absl::Status LocalNode::CheckAlive() const {
  for (const auto& [child, name] :
       {std::pair(daemon_.get(), "wavetuned"),
        std::pair(agent_.get(), "wavetune-agent")}) {
    const std::optional<int> code = child->Poll();
    if (code.has_value())
      return absl::FailedPreconditionError(
          absl::StrCat(name, " ended with exit code ", *code, ":\n",
                       Tail(absl::StrCat(folder_->path(), "/", name, ".log"))));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LocalNode::WaitForDevice(Daemon& daemon) {
  const Clock::Duration deadline = SystemClock().SteadyNow() + kDeviceTimeout;
  while (SystemClock().SteadyNow() < deadline) {
    if (InterruptRequested()) return absl::CancelledError("interrupted");
    RETURN_IF_ERROR(CheckAlive());
    absl::StatusOr<v1::ListDevicesResponse> devices =
        daemon.Ask<v1::ListDevicesResponse>(v1::ListDevicesRequest());
    if (devices.ok()) {
      for (const v1::DeviceStatus& device : devices->devices()) {
        if (device.attached() && device.problem().empty())
          return device.facts().uuid();
      }
    }
    SystemClock().Sleep(kPollInterval);
  }
  return absl::NotFoundError(absl::StrCat(
      "no usable device within ", std::chrono::seconds(kDeviceTimeout).count(),
      " s:\n", Tail(folder_->path() + "/wavetune-agent.log")));
}

}  // namespace wavetune::cli
