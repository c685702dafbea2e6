#include "profiler_agent/cuda/cuda_backend.h"

#include <unistd.h>

#include <cstdlib>
#include <future>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "profiler_agent/cuda/cuda_architecture.h"
#include "profiler_agent/cuda/cuda_compile_device.h"
#include "profiler_agent/cuda/cuda_device.h"
#include "profiler_agent/cuda/cuda_driver.h"
#include "profiler_agent/cuda/cuda_facts.h"
#include "profiler_agent/cuda/cuda_telemetry.h"
#include "profiler_agent/cuda/nvml.h"
#include "profiler_agent/cuda/nvrtc.h"
#include "profiler_agent/cuda/other_processes.h"
#include "profiler_agent/cuda/triton/triton_installation.h"

namespace wavetune {
namespace {

// What a device needs beside itself; lives for ever.
struct Libraries {
  const CudaDriver* driver = nullptr;
  const Nvrtc* nvrtc = nullptr;
  const Nvml* nvml = nullptr;  // nullptr: goes without.
  std::string nvml_missing;    // Why; and what to do.
};

// Errors: NOT_FOUND and FAILED_PRECONDITION where something is missing or too
// old, however often one asks; others where it is there and fails.
absl::StatusOr<Libraries> LoadLibraries() {
  Libraries libraries;
  ASSIGN_OR_RETURN(libraries.driver, LoadCudaDriver());
  ASSIGN_OR_RETURN(libraries.nvrtc, Nvrtc::Load());
  const absl::StatusOr<const Nvml*> nvml = Nvml::Load();
  if (nvml.ok()) {
    libraries.nvml = *nvml;
  } else if (absl::IsNotFound(nvml.status())) {
    libraries.nvml_missing = absl::StrCat(
        nvml.status().message(),
        "; in a container give it the driver's \"utility\" capability");
  } else if (absl::IsUnimplemented(nvml.status())) {
    libraries.nvml_missing = std::string(nvml.status().message());
  } else {
    // Without it every GPU would be of another class than with it.
    return absl::UnavailableError(
        absl::StrCat("GPUs are left out: ", nvml.status().message()));
  }
  return libraries;
}

// Of a list that could not be made.
Backend::Enumeration NoList(const absl::Status& status) {
  const std::string text(status.message());
  if (absl::IsNotFound(status) || absl::IsFailedPrecondition(status)) {
    return {.note = text};
  }
  return {.failure = text};
}

absl::StatusOr<CudaDeviceList> List(const Libraries& libraries) {
  return ListCudaDevices(*libraries.driver, libraries.nvml,
                         libraries.nvrtc->version());
}

}  // namespace

CudaBackend::CudaBackend(double memory_cap, std::string python)
    : memory_cap_(memory_cap), python_(std::move(python)) {
  // A kernel that is loaded at its first launch waits for the device; each
  // module here holds one kernel, so there is nothing to save.
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
  // Launches that block would wait for a stream that is held back for them.
  unsetenv("CUDA_LAUNCH_BLOCKING");
}

Backend::Enumeration CudaBackend::Enumerate() {
  const absl::StatusOr<Libraries> libraries = LoadLibraries();
  if (!libraries.ok()) return NoList(libraries.status());
  absl::StatusOr<CudaDeviceList> list = List(*libraries);
  if (!list.ok()) return NoList(list.status());
  Enumeration enumeration;
  std::vector<std::string> notes;
  if (libraries->nvml == nullptr) {
    notes.push_back(absl::StrCat(
        "without NVML power limit, throttling and other processes are not "
        "seen, and tables that were measured with it are not found, as memory "
        "differs: ",
        libraries->nvml_missing));
  }
  const TritonInstallation triton =
      list->entries.empty() ? TritonInstallation() : FindTriton(python_);
  if (!triton.note.empty()) notes.push_back(triton.note);
  for (CudaDeviceEntry& entry : list->entries) {
    AddTriton(triton, entry.facts);
    const absl::Status usable = CheckArchitecture(
        CudaArchitectureOf(ComputeCapability(entry.facts)),
        libraries->nvrtc->capabilities(), libraries->nvrtc->version());
    if (usable.ok()) {
      enumeration.devices.push_back(std::move(entry.facts));
    } else {
      notes.push_back(absl::StrCat(entry.facts.label, ": ", usable.message()));
    }
  }
  if (list->entries.empty() && list->failures.empty()) {
    notes = {"the NVIDIA driver shows no GPU"};
  }
  enumeration.watches = libraries->nvml != nullptr;
  enumeration.note = absl::StrJoin(notes, "; ");
  enumeration.failure = absl::StrJoin(list->failures, "; ");
  return enumeration;
}

absl::StatusOr<std::unique_ptr<Device>> CudaBackend::Open(
    const std::string& device_uuid, const std::string& cache_dir) {
  // The driver would open all devices of the host, each time.
  if (absl::StartsWith(device_uuid, "GPU-")) {
    setenv("CUDA_VISIBLE_DEVICES", device_uuid.c_str(), /*overwrite=*/1);
  }
  // Python starts while the driver does.
  std::future<TritonInstallation> triton =
      std::async(std::launch::async, FindTriton, python_);
  const absl::StatusOr<Libraries> libraries = LoadLibraries();
  if (!libraries.ok()) {
    return absl::UnavailableError(libraries.status().message());
  }
  ASSIGN_OR_RETURN(CudaDeviceList list, List(*libraries));
  for (CudaDeviceEntry& entry : list.entries) {
    if (entry.facts.uuid != device_uuid) continue;
    AddTriton(triton.get(), entry.facts);
    return CudaDevice::Open(*libraries->driver, *libraries->nvrtc, entry,
                            cache_dir, memory_cap_);
  }
  if (!list.failures.empty()) {
    return absl::UnavailableError(absl::StrJoin(list.failures, "; "));
  }
  return absl::NotFoundError(
      absl::StrCat("no GPU has the UUID ", device_uuid,
                   "; CUDA_VISIBLE_DEVICES may hide it"));
}

absl::StatusOr<DeviceState> CudaBackend::ReadTelemetry(
    const std::string& device_uuid) {
  const absl::StatusOr<const Nvml*> nvml = Nvml::Load();
  // It says nothing of the device.
  if (!nvml.ok()) return absl::InternalError(nvml.status().message());
  ASSIGN_OR_RETURN(const NvmlDevice device, (*nvml)->Find(device_uuid));
  return ReadTelemetryOf(device, ReadProcesses("/proc", getppid(), getpid()));
}

CudaCompileBackend::CudaCompileBackend(std::string architecture,
                                       std::string python)
    : architecture_(std::move(architecture)), python_(std::move(python)) {}

Backend::Enumeration CudaCompileBackend::Enumerate() {
  const absl::StatusOr<std::unique_ptr<CudaCompileDevice>> device =
      CudaCompileDevice::Open(architecture_, "", python_);
  if (!device.ok()) return {.note = std::string(device.status().message())};
  return {.devices = {(*device)->facts()}};
}

absl::StatusOr<std::unique_ptr<Device>> CudaCompileBackend::Open(
    const std::string& device_uuid, const std::string& cache_dir) {
  ASSIGN_OR_RETURN(std::unique_ptr<CudaCompileDevice> device,
                   CudaCompileDevice::Open(architecture_, cache_dir, python_));
  if (device->facts().uuid == device_uuid) return device;
  return absl::NotFoundError(absl::StrCat("no device has the UUID ",
                                          device_uuid, "; this one is ",
                                          device->facts().uuid));
}

}  // namespace wavetune
