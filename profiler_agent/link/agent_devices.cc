#include "profiler_agent/link/agent_devices.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "profiler_agent/link/device_monitor.h"
#include "profiler_agent/worker/remote_device.h"

namespace wavetune {
namespace {

// Every worker holds a compiler and a context of the device. The agent and one
// worker of PoCL together take 150 MiB at most (gemm_f32, PoCL 3.1 with LLVM
// 15, files of the cgroup included); a CUDA context and NVRTC take more.
constexpr int64_t kBytesPerWorker = int64_t{256} << 20;
// A machine of eight devices has hundreds of threads.
constexpr int kMostWorkers = 16;

// A device that was found, and how to reach it.
struct Found {
  DeviceFacts facts;
  std::vector<std::string> command;        // Of its workers.
  std::shared_ptr<DeviceMonitor> monitor;  // nullptr: it does not say.
};

// What a backend found, and how it was asked.
struct Asked {
  BackendDevices devices;
  std::vector<std::string> command;
};

std::unique_ptr<DeviceHost> CreateHost(const AgentDevicesOptions& options,
                                       const Found& found, int workers,
                                       const ReportSink& report) {
  DeviceHostOptions host;
  // One more measures, and is ready by the time that the others are done; where
  // there is room for one only, that does both.
  for (int i = 0; i < (workers > 1 ? workers + 1 : 1); ++i) {
    host.workers.push_back(std::make_unique<RemoteDevice>(
        RemoteDeviceOptions{.command = found.command,
                            .facts = found.facts,
                            .cache_dir = options.backend.cache_dir,
                            .prepare_nice = options.prepare_nice,
                            .prepare_timeout = options.prepare_timeout,
                            .measure_timeout = options.measure_timeout}));
  }
  // The probe runs on the thread that otherwise uses the worker.
  auto* first = static_cast<RemoteDevice*>(host.workers.front().get());
  host.probe = [first] { return first->Reopen(); };
  if (found.monitor != nullptr) {
    host.read_telemetry = [monitor = found.monitor, uuid = found.facts.uuid] {
      return monitor->ReadTelemetry(uuid);
    };
    host.stop_watching = [monitor = found.monitor] { monitor->Release(); };
  }
  return std::make_unique<DeviceHost>(std::move(host), report);
}

std::vector<std::unique_ptr<DeviceHost>> CreateHosts(
    const AgentDevicesOptions& options, const std::vector<Found>& found,
    const ReportSink& report) {
  std::vector<std::unique_ptr<DeviceHost>> hosts;
  if (found.empty()) return hosts;
  const int workers =
      PrepareWorkers(options.prepare_workers, static_cast<int>(found.size()));
  Log(LogLevel::kInfo, "agent",
      absl::StrCat(workers, " workers per device compile", MemoryLimitText()));
  for (const Found& device : found) {
    hosts.push_back(CreateHost(options, device, workers, report));
  }
  return hosts;
}

Backend::Enumeration Enumerate(const std::vector<std::string>& command) {
  RemoteDevice worker({.command = command});
  absl::StatusOr<Backend::Enumeration> found = worker.Enumerate();
  if (found.ok()) return *std::move(found);
  return {.failure = absl::StrCat("looking for devices failed: ",
                                  found.status().message())};
}

// Asks each backend that is built in.
std::vector<Asked> EnumerateAll(AgentDevicesOptions options) {
  // CUDA first, as OpenCL leaves out what it has.
  const auto claims_nvidia =
      [claiming = BackendsThat(&BackendAbilities::claims_nvidia)](
          const std::string& b) { return absl::c_linear_search(claiming, b); };
  std::stable_partition(options.backends.begin(), options.backends.end(),
                        claims_nvidia);
  std::vector<Asked> all;
  for (const std::string& backend : options.backends) {
    if (!IsBuiltIn(backend)) continue;
    Asked asked{.devices = {.backend = backend},
                .command = WorkerCommand(options, backend)};
    asked.devices.found = Enumerate(asked.command);
    // NVIDIA's OpenCL lists the same GPUs again, also while CUDA waits for
    // some.
    const Backend::Enumeration& found = asked.devices.found;
    if (claims_nvidia(backend) &&
        (!found.devices.empty() || !found.failure.empty())) {
      options.backend.skip_nvidia_opencl = true;
    }
    all.push_back(std::move(asked));
  }
  return all;
}

DeviceList ListOf(const std::vector<Asked>& all) {
  std::vector<BackendDevices> devices;
  for (const Asked& asked : all) devices.push_back(asked.devices);
  return EachOnce(devices);
}

void SayFound(const std::vector<Asked>& all, const DeviceList& list) {
  for (const Asked& asked : all) {
    if (asked.devices.found.note.empty()) continue;
    Log(LogLevel::kInfo, "agent",
        absl::StrCat(asked.devices.backend, ": ", asked.devices.found.note));
  }
  for (const std::string& problem : list.problems) {
    Log(LogLevel::kWarning, "agent", problem);
  }
  for (const DeviceFacts& facts : list.devices) {
    Log(LogLevel::kInfo, "agent",
        absl::StrCat(facts.backend, ": ", facts.label, " (", facts.uuid, ", ",
                     facts.multiprocessors, " multiprocessors, ", facts.driver,
                     ")"));
  }
}

// Devices of a backend share what watches them.
std::vector<Found> Reachable(const std::vector<Asked>& all,
                             const DeviceList& list) {
  std::map<std::string, Found> by_backend;  // As it was asked first.
  for (const Asked& asked : all) {
    Found found{.command = asked.command};
    if (asked.devices.found.watches) {
      found.monitor = std::make_shared<DeviceMonitor>(asked.command);
    }
    by_backend.emplace(asked.devices.backend, std::move(found));
  }
  std::vector<Found> reachable;
  for (const DeviceFacts& facts : list.devices) {
    reachable.push_back(by_backend[facts.backend]);
    reachable.back().facts = facts;
  }
  return reachable;
}

}  // namespace

int WorkersThatFit(const HostResources& host, int devices) {
  int workers = std::min(UsableCpus(host), kMostWorkers);
  if (host.memory_free_bytes >= 0) {
    const int64_t fit =
        host.memory_free_bytes / kBytesPerWorker / std::max(1, devices);
    workers = static_cast<int>(std::min<int64_t>(workers, fit));
  }
  return std::max(1, workers);
}

int PrepareWorkers(int wanted, int devices) {
  return wanted > 0 ? wanted : WorkersThatFit(ReadHostResources(), devices);
}

std::vector<std::string> WorkerCommand(const AgentDevicesOptions& options,
                                       const std::string& backend) {
  std::vector<std::string> command = {options.program, "worker", "--backend",
                                      backend};
  if (!options.backend.cache_dir.empty()) {
    command.insert(command.end(), {"--cache-dir", options.backend.cache_dir});
  }
  for (const std::string& folder : options.backend.replay_traces) {
    command.insert(command.end(), {"--replay-trace", folder});
  }
  if (options.backend.replay_judged) command.emplace_back("--replay-judged");
  if (options.backend.replay_devices != 1) {
    command.insert(
        command.end(),
        {"--replay-devices", absl::StrCat(options.backend.replay_devices)});
  }
  if (options.backend.replay_pace != 0) {
    command.insert(command.end(), {"--replay-pace",
                                   absl::StrCat(options.backend.replay_pace)});
  }
  command.insert(command.end(),
                 {"--memory-cap", absl::StrCat(options.backend.memory_cap)});
  command.insert(command.end(), {"--python", options.backend.python});
  if (options.backend.skip_nvidia_opencl) {
    command.emplace_back("--skip-nvidia-opencl");
  }
  if (options.backend.guard_pages) command.emplace_back("--guard-pages");
  if (!options.backend.inject.empty()) {
    command.insert(command.end(), {"--inject", options.backend.inject});
  }
  if (!options.backend.compile_only_architecture.empty()) {
    command.insert(command.end(),
                   {"--arch", options.backend.compile_only_architecture});
  }
  return command;
}

DeviceList EachOnce(const std::vector<BackendDevices>& found) {
  DeviceList list;
  std::set<std::string> uuids;
  for (const BackendDevices& backend : found) {
    if (!backend.found.failure.empty()) {
      list.cut_short = true;
      list.problems.push_back(
          absl::StrCat(backend.backend, ": ", backend.found.failure));
    }
    for (const DeviceFacts& facts : backend.found.devices) {
      if (uuids.insert(facts.uuid).second) {
        list.devices.push_back(facts);
        continue;
      }
      list.problems.push_back(absl::StrCat(
          backend.backend, ": another device, ", facts.label, ", has the UUID ",
          facts.uuid,
          " too and is left out: devices are told apart by it; give each its "
          "own (of virtual GPUs the hypervisor does), or hide one with "
          "CUDA_VISIBLE_DEVICES"));
    }
  }
  return list;
}

DeviceList ListDevices(const AgentDevicesOptions& options) {
  return ListOf(EnumerateAll(options));
}

FoundDevices FindDevices(const AgentDevicesOptions& options,
                         const ReportSink& report) {
  for (const std::string& backend : options.backends) {
    if (IsBuiltIn(backend)) continue;
    Log(LogLevel::kInfo, "agent", absl::StrCat(backend, ": not built in"));
  }
  const std::vector<Asked> all = EnumerateAll(options);
  FoundDevices found{.list = ListOf(all)};
  SayFound(all, found.list);
  found.hosts = CreateHosts(options, Reachable(all, found.list), report);
  return found;
}

}  // namespace wavetune
