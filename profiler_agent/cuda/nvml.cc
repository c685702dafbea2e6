#include "profiler_agent/cuda/nvml.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/shared_library.h"

namespace wavetune {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";

// nvmlReturn_t.
constexpr NvmlCode kSuccess = 0;
constexpr NvmlCode kInsufficientSize = 7;
constexpr NvmlCode kGpuIsLost = 15;
constexpr NvmlCode kResetRequired = 16;

// nvmlClockType_t.
constexpr int kSmClock = 1;

}  // namespace

std::optional<int64_t> NvmlDevice::TotalMemoryBytes() const {
  const std::optional<NvmlMemory> memory = Memory();
  if (!memory.has_value()) return std::nullopt;
  return static_cast<int64_t>(memory->total);
}

std::optional<NvmlMemory> NvmlDevice::Memory() const {
  NvmlMemory memory = {};
  if (nvml_.memory(handle_, &memory) != kSuccess) return std::nullopt;
  return memory;
}

std::optional<int32_t> NvmlDevice::PowerLimitW() const {
  unsigned milliwatts = 0;
  if (nvml_.power_limit(board_, &milliwatts) != kSuccess) return std::nullopt;
  return static_cast<int32_t>((milliwatts + 500) / 1000);
}

std::optional<int32_t> NvmlDevice::TemperatureC() const {
  unsigned celsius = 0;
  if (nvml_.temperature == nullptr ||
      nvml_.temperature(board_, 0, &celsius) != kSuccess) {
    return std::nullopt;
  }
  return static_cast<int32_t>(celsius);
}

std::optional<uint32_t> NvmlDevice::ThrottleReasons() const {
  unsigned long long reasons = 0;
  if (nvml_.throttle_reasons(board_, &reasons) != kSuccess) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(reasons);
}

std::optional<int32_t> NvmlDevice::SmClockMhz() const {
  unsigned mhz = 0;
  if (nvml_.clock(board_, kSmClock, &mhz) != kSuccess) return std::nullopt;
  return static_cast<int32_t>(mhz);
}

std::optional<int32_t> NvmlDevice::UtilisationPercent() const {
  NvmlUtilisation utilisation = {};
  if (nvml_.utilisation(handle_, &utilisation) != kSuccess) return std::nullopt;
  return static_cast<int32_t>(utilisation.gpu);
}

std::optional<std::vector<int64_t>> NvmlDevice::ComputeProcesses() const {
  if (nvml_.compute_processes == nullptr) return std::nullopt;
  std::vector<NvmlProcess> processes(64);
  for (;;) {
    auto count = static_cast<unsigned>(processes.size());
    const NvmlCode code =
        nvml_.compute_processes(handle_, &count, processes.data());
    if (code == kInsufficientSize && count > processes.size()) {
      processes.resize(count + 16);  // More may start meanwhile.
      continue;
    }
    if (code != kSuccess || count > processes.size()) return std::nullopt;
    std::vector<int64_t> ids;
    for (unsigned i = 0; i < count; ++i) {
      ids.push_back(static_cast<int64_t>(processes[i].pid));
    }
    return ids;
  }
}

bool NvmlDevice::IsLost() const {
  unsigned milliwatts = 0;
  const NvmlCode code = nvml_.power_limit(board_, &milliwatts);
  return code == kGpuIsLost || code == kResetRequired;
}

absl::StatusOr<const Nvml*> Nvml::Load() {
  static const auto* const nvml = new absl::StatusOr<Nvml>(LoadFrom(kLibrary));
  if (!nvml->ok()) return nvml->status();
  return &**nvml;
}

absl::StatusOr<Nvml> Nvml::LoadFrom(const std::string& library) {
  ASSIGN_OR_RETURN(const SharedLibrary opened, SharedLibrary::Open({library}));
  NvmlFunctions nvml;
  RETURN_IF_ERROR(opened.Bind("nvmlInit_v2", &nvml.init));
  RETURN_IF_ERROR(
      opened.Bind("nvmlSystemGetDriverVersion", &nvml.driver_version));
  RETURN_IF_ERROR(
      opened.Bind("nvmlDeviceGetHandleByUUID", &nvml.handle_by_uuid));
  RETURN_IF_ERROR(opened.Bind("nvmlDeviceGetMemoryInfo", &nvml.memory));
  RETURN_IF_ERROR(
      opened.Bind("nvmlDeviceGetEnforcedPowerLimit", &nvml.power_limit));
  RETURN_IF_ERROR(opened.Bind("nvmlDeviceGetClockInfo", &nvml.clock));
  RETURN_IF_ERROR(
      opened.Bind("nvmlDeviceGetUtilizationRates", &nvml.utilisation));
  opened.Bind("nvmlDeviceGetTemperature", &nvml.temperature).IgnoreError();
  // The third version, since driver 510, differs from the second in its name.
  if (!opened
           .Bind("nvmlDeviceGetComputeRunningProcesses_v3",
                 &nvml.compute_processes)
           .ok()) {
    opened
        .Bind("nvmlDeviceGetComputeRunningProcesses_v2",
              &nvml.compute_processes)
        .IgnoreError();
  }
  // Renamed with driver 535; the older name is there as long as it is.
  if (!opened
           .Bind("nvmlDeviceGetCurrentClocksEventReasons",
                 &nvml.throttle_reasons)
           .ok()) {
    RETURN_IF_ERROR(opened.Bind("nvmlDeviceGetCurrentClocksThrottleReasons",
                                &nvml.throttle_reasons));
  }
  opened
      .Bind("nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
            &nvml.parent_of_partition)
      .IgnoreError();
  const NvmlCode code = nvml.init();
  if (code == kSuccess) return Nvml(nvml);
  return absl::UnavailableError(
      absl::StrCat("NVML does not start: error ", code));
}

std::string Nvml::DriverVersion() const {
  char text[96] = {};
  if (nvml_.driver_version(text, sizeof(text) - 1) != kSuccess) return "";
  return text;
}

absl::StatusOr<NvmlDevice> Nvml::Find(const std::string& uuid) const {
  NvmlHandle handle = nullptr;
  const NvmlCode code = nvml_.handle_by_uuid(uuid.c_str(), &handle);
  if (code != kSuccess) {
    return absl::NotFoundError(
        absl::StrCat("NVML does not know device ", uuid, ": error ", code));
  }
  // A partition has no power limit or clock of its own.
  NvmlHandle board = nullptr;
  if (nvml_.parent_of_partition == nullptr ||
      nvml_.parent_of_partition(handle, &board) != kSuccess) {
    board = handle;
  }
  return NvmlDevice(nvml_, handle, board);
}

}  // namespace wavetune
