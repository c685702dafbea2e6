#include "profiler_agent/link/device_monitor.h"

#include <utility>

#include "base/status_macros.h"
#include "formats/types.h"
#include "profiler_agent/worker/worker_error.h"

namespace wavetune {

DeviceMonitor::DeviceMonitor(std::vector<std::string> command,
                             std::chrono::milliseconds timeout)
    : command_(std::move(command)), timeout_(timeout) {}

absl::StatusOr<DeviceState> DeviceMonitor::ReadTelemetry(
    const std::string& device_uuid) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (worker_ == nullptr || !worker_->running()) {
    absl::StatusOr<std::unique_ptr<WorkerProcess>> started =
        WorkerProcess::Start(command_);
    // It says nothing of the device.
    if (!started.ok()) return absl::InternalError(started.status().message());
    worker_ = *std::move(started);
  }
  v1::WorkerRequest request;
  request.mutable_read_telemetry()->set_device_uuid(device_uuid);
  ASSIGN_OR_RETURN(const v1::WorkerResponse response,
                   worker_->Call(request, timeout_));
  if (response.has_error()) return FromWorkerError(response.error());
  if (!response.has_state()) {
    return absl::InternalError("the worker answered look with nonsense");
  }
  return DeviceStateFromProto(response.state());
}

void DeviceMonitor::Release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  worker_.reset();
}

}  // namespace wavetune
