#include "profiler_agent/cuda/cuda_telemetry.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"

namespace wavetune {

absl::StatusOr<DeviceState> ReadTelemetryOf(const NvmlDevice& device,
                                            const ProcessView& view) {
  RETURN_IF_ERROR(device.CheckNotLost());
  DeviceState state;
  state.looked_at_us = SystemClock().NowUs();
  state.sm_clock_mhz = device.SmClockMhz().value_or(0);
  state.throttle_reasons = device.ThrottleReasons().value_or(0);
  state.utilisation_percent = device.UtilisationPercent();
  if (const auto processes = device.ComputeProcesses()) {
    state.other_processes = OtherProcesses(*processes, view);
  }
  if (const std::optional<NvmlMemory> memory = device.Memory()) {
    state.memory_used_bytes = static_cast<int64_t>(memory->used);
    state.memory_total_bytes = static_cast<int64_t>(memory->total);
  }
  state.own_workers = view.own_workers;
  state.temperature_c = device.TemperatureC().value_or(0);
  state.power_limit_w = device.PowerLimitW().value_or(0);
  return state;
}

}  // namespace wavetune
