// DeviceMonitor: what devices of one backend do right now, asked of a worker
// process of its own.
//
// Why a process: management libraries hang when a GPU is lost, and they must
// not take the agent with them. It opens no device, so it takes none of its
// memory and is in no list of its processes.
//
// Thread safety: thread-safe; calls take turns.
#ifndef WAVETUNE_PROFILER_AGENT_LINK_DEVICE_MONITOR_H_
#define WAVETUNE_PROFILER_AGENT_LINK_DEVICE_MONITOR_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kernel/device.h"
#include "profiler_agent/worker/worker_process.h"

namespace wavetune {

class DeviceMonitor {
 public:
  // `command` of the worker.
  explicit DeviceMonitor(
      std::vector<std::string> command,
      std::chrono::milliseconds timeout = std::chrono::milliseconds(5'000));

  // Returns the state of a device, without `busy`. Starts the worker where it
  // does not run. Errors: the backend's; UNAVAILABLE is of the device only.
  absl::StatusOr<DeviceState> ReadTelemetry(const std::string& device_uuid);

  // Ends the worker, and so what it holds of the driver, until the next call
  // that needs it. Waits for one that runs. Cannot fail.
  void Release();

 private:
  const std::vector<std::string> command_;
  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::unique_ptr<WorkerProcess> worker_;  // Guarded by mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_LINK_DEVICE_MONITOR_H_
