// Finds the machine's devices and puts each behind its workers.
//
// Enumerating happens in a worker, too: a driver that crashes or hangs when it
// is loaded must not take the agent with it.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_AGENT_DEVICES_H_
#define WAVETUNE_PROFILER_AGENT_LINK_AGENT_DEVICES_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/host_resources.h"
#include "profiler_agent/link/device_host.h"
#include "profiler_agent/worker/backends.h"

namespace wavetune {

struct AgentDevicesOptions {
  std::string program;  // This binary, to start workers with.
  // In order. What "cuda" finds is left out of "opencl" behind it.
  std::vector<std::string> backends;
  BackendOptions backend;
  // Per device; 0: as many as cores and memory allow (base/host_resources.h).
  int prepare_workers = 1;
  // Steps of nice(2) that workers which prepare are below the agent.
  int prepare_nice = 0;
  std::chrono::milliseconds prepare_timeout{120'000};
  std::chrono::milliseconds measure_timeout{60'000};
};

// Returns how many workers each of `devices` devices may have, 1 to 16: a core
// each, as a compile keeps one busy, and 256 MiB of free memory.
int WorkersThatFit(const HostResources& host, int devices);

// Returns `wanted`, or for 0 how many workers each of `devices` devices may
// have on this machine now.
int PrepareWorkers(int wanted, int devices);

// Returns the command line of a worker for a backend.
std::vector<std::string> WorkerCommand(const AgentDevicesOptions& options,
                                       const std::string& backend);

// The devices that there are now, as far as drivers answer.
struct DeviceList {
  std::vector<DeviceFacts> devices;
  // Why devices are missing that should be there, and what to do; a line each.
  std::vector<std::string> problems;
  // An error cut the list short: those that are missing may be there the next
  // time.
  bool cut_short = false;
};

// What one backend found.
struct BackendDevices {
  std::string backend;
  Backend::Enumeration found;
};

// Returns the devices that the backends found, in that order and each UUID
// once: the daemon, jobs and drivers know a device by nothing else. Cannot
// fail. Pure.
DeviceList EachOnce(const std::vector<BackendDevices>& found);

// Returns what FindDevices would find now, each backend asked in a fresh
// process, and says nothing in the log. Cannot fail.
DeviceList ListDevices(const AgentDevicesOptions& options);

// The devices, each behind a host.
struct FoundDevices {
  std::vector<std::unique_ptr<DeviceHost>> hosts;
  DeviceList list;
};

// Returns a host per usable device. What is missing (a backend that is not
// built in, no driver, no device) is one log line each, a warning where an
// error is to blame. Cannot fail.
FoundDevices FindDevices(const AgentDevicesOptions& options,
                         const ReportSink& report);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_AGENT_DEVICES_H_
