#include "profiler_agent/cuda/nvml.h"

#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/shared_library.h"

namespace wavetune {
namespace {

constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

// nvmlReturn_t.
constexpr NvmlCode kSuccess = 0;
constexpr NvmlCode kNotSupported = 3;
constexpr NvmlCode kNoPermission = 4;
constexpr NvmlCode kNotFound = 6;
constexpr NvmlCode kInsufficientSize = 7;
constexpr NvmlCode kFunctionNotFound = 13;
constexpr NvmlCode kGpuIsLost = 15;
constexpr NvmlCode kResetRequired = 16;
constexpr NvmlCode kVersionMismatch = 18;

// nvmlClockType_t.
constexpr int kSmClock = 1;

bool IsLostCode(NvmlCode code) {
  return code == kGpuIsLost || code == kResetRequired;
}

// Whether this GPU, driver or user never gets an answer, whenever it is asked.
bool IsNeverSaid(NvmlCode code) {
  return code == kNotSupported || code == kNoPermission || code == kNotFound ||
         code == kFunctionNotFound;
}

int32_t Watts(unsigned milliwatts) {
  return static_cast<int32_t>((milliwatts + 500) / 1000);
}

absl::Status Failed(absl::string_view question, NvmlCode code) {
  if (IsLostCode(code)) {
    return absl::UnavailableError(absl::StrCat(
        code == kGpuIsLost ? "the GPU is lost: it fell off the bus"
                           : "the GPU must be reset",
        " (NVML error ", code,
        "); look for Xid in dmesg, then nvidia-smi --gpu-reset, or reboot"));
  }
  return absl::InternalError(absl::StrCat(
      question, " failed with NVML error ", code,
      "; nvidia-smi -q asks the same: does it answer on this host?"));
}

// Returns whether there is an answer. Errors: as Failed.
absl::StatusOr<bool> Answered(absl::string_view question, NvmlCode code) {
  if (code == kSuccess) return true;
  if (IsNeverSaid(code)) return false;
  return Failed(question, code);
}

absl::StatusOr<NvmlFunctions> BindAll(const SharedLibrary& library) {
  NvmlFunctions nvml;
  RETURN_IF_ERROR(library.Bind("nvmlInit_v2", &nvml.init));
  RETURN_IF_ERROR(
      library.Bind("nvmlSystemGetDriverVersion", &nvml.driver_version));
  RETURN_IF_ERROR(
      library.Bind("nvmlDeviceGetHandleByUUID", &nvml.handle_by_uuid));
  RETURN_IF_ERROR(library.Bind("nvmlDeviceGetMemoryInfo", &nvml.memory));
  RETURN_IF_ERROR(
      library.Bind("nvmlDeviceGetEnforcedPowerLimit", &nvml.power_limit));
  RETURN_IF_ERROR(library.Bind("nvmlDeviceGetClockInfo", &nvml.clock));
  RETURN_IF_ERROR(
      library.Bind("nvmlDeviceGetUtilizationRates", &nvml.utilisation));
  library.Bind("nvmlDeviceGetTemperature", &nvml.temperature).IgnoreError();
  // The third version, since driver 510, differs from the second in its name.
  if (!library
           .Bind("nvmlDeviceGetComputeRunningProcesses_v3",
                 &nvml.compute_processes)
           .ok()) {
    library
        .Bind("nvmlDeviceGetComputeRunningProcesses_v2",
              &nvml.compute_processes)
        .IgnoreError();
  }
  // Renamed with driver 535; the older name is there as long as it is.
  if (!library
           .Bind("nvmlDeviceGetCurrentClocksEventReasons",
                 &nvml.throttle_reasons)
           .ok()) {
    RETURN_IF_ERROR(library.Bind("nvmlDeviceGetCurrentClocksThrottleReasons",
                                 &nvml.throttle_reasons));
  }
  library
      .Bind("nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
            &nvml.parent_of_partition)
      .IgnoreError();
  return nvml;
}

}  // namespace

std::optional<NvmlMemory> NvmlDevice::Memory() const {
  NvmlMemory memory = {};
  if (nvml_.memory(handle_, &memory) != kSuccess) return std::nullopt;
  return memory;
}

std::optional<int32_t> NvmlDevice::PowerLimitW() const {
  unsigned milliwatts = 0;
  if (nvml_.power_limit(board_, &milliwatts) != kSuccess) return std::nullopt;
  return Watts(milliwatts);
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

absl::Status NvmlDevice::CheckNotLost() const {
  unsigned milliwatts = 0;
  const NvmlCode code = nvml_.power_limit(board_, &milliwatts);
  return IsLostCode(code) ? Failed("", code) : absl::OkStatus();
}

absl::StatusOr<const Nvml*> Nvml::Load() {
  static std::mutex mutex;
  static const Nvml* loaded = nullptr;  // For ever.
  const std::lock_guard<std::mutex> lock(mutex);
  if (loaded == nullptr) {
    ASSIGN_OR_RETURN(const Nvml nvml, LoadFrom(kNvmlLibrary));
    loaded = new Nvml(nvml);
  }
  return loaded;
}

absl::StatusOr<Nvml> Nvml::LoadFrom(const std::string& library) {
  ASSIGN_OR_RETURN(const SharedLibrary opened, SharedLibrary::Open({library}));
  const absl::StatusOr<NvmlFunctions> nvml = BindAll(opened);
  if (!nvml.ok()) return absl::UnimplementedError(nvml.status().message());
  const NvmlCode code = nvml->init();
  if (code == kSuccess) return Nvml(*nvml);
  return absl::UnavailableError(absl::StrCat(
      "NVML does not start: error ", code,
      code == kVersionMismatch
          ? " (it is not of the version of the NVIDIA kernel module: reboot, "
            "or unload and load the module)"
          : "; nvidia-smi asks the same: does it answer on this host?"));
}

absl::StatusOr<NvmlDevice> Nvml::Find(const std::string& uuid) const {
  NvmlHandle handle = nullptr;
  const NvmlCode code = nvml_.handle_by_uuid(uuid.c_str(), &handle);
  if (IsNeverSaid(code)) {
    return absl::NotFoundError(
        absl::StrCat("NVML does not know device ", uuid, ": error ", code));
  }
  if (code != kSuccess) {
    return Failed(absl::StrCat("looking for device ", uuid), code);
  }
  // A partition has no power limit or clock of its own.
  NvmlHandle board = nullptr;
  if (nvml_.parent_of_partition == nullptr ||
      nvml_.parent_of_partition(handle, &board) != kSuccess) {
    board = handle;
  }
  return NvmlDevice(nvml_, handle, board);
}

absl::StatusOr<NvmlFacts> Nvml::FactsOf(const std::string& uuid) const {
  NvmlFacts facts;
  char driver[96] = {};
  ASSIGN_OR_RETURN(const bool has_driver,
                   Answered("asking for the driver's version",
                            nvml_.driver_version(driver, sizeof(driver) - 1)));
  if (has_driver) facts.driver = driver;
  const absl::StatusOr<NvmlDevice> device = Find(uuid);
  if (absl::IsNotFound(device.status())) return facts;
  RETURN_IF_ERROR(device.status());
  NvmlMemory memory = {};
  ASSIGN_OR_RETURN(const bool has_memory,
                   Answered("asking for the memory of a GPU",
                            nvml_.memory(device->handle_, &memory)));
  if (has_memory) facts.memory_bytes = static_cast<int64_t>(memory.total);
  unsigned milliwatts = 0;
  ASSIGN_OR_RETURN(const bool has_limit,
                   Answered("asking for the power limit of a GPU",
                            nvml_.power_limit(device->board_, &milliwatts)));
  if (has_limit) facts.power_limit_w = Watts(milliwatts);
  facts.device = *device;
  return facts;
}

}  // namespace wavetune
