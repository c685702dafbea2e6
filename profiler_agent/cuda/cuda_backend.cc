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
#include "profiler_agent/triton/triton_installation.h"

namespace wavetune {
namespace {

// What a device needs beside itself; lives for ever.
struct Libraries {
  const CudaDriver* driver = nullptr;
  const Nvrtc* nvrtc = nullptr;
  const Nvml* nvml = nullptr;  // nullptr: goes without.
};

absl::StatusOr<Libraries> LoadLibraries() {
  Libraries libraries;
  ASSIGN_OR_RETURN(libraries.driver, LoadCudaDriver());
  ASSIGN_OR_RETURN(libraries.nvrtc, Nvrtc::Load());
  if (const absl::StatusOr<const Nvml*> nvml = Nvml::Load(); nvml.ok()) {
    libraries.nvml = *nvml;
  }
  return libraries;
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
  if (!libraries.ok()) {
    return {.note = std::string(libraries.status().message())};
  }
  absl::StatusOr<CudaDeviceList> list = List(*libraries);
  if (!list.ok()) return {.note = std::string(list.status().message())};
  Enumeration enumeration;
  const bool none_left_out = list->notes.empty();
  std::vector<std::string> notes = std::move(list->notes);
  if (libraries->nvml == nullptr) {
    notes.emplace_back(
        "without NVML (libnvidia-ml.so.1) power limit, throttling and other "
        "processes are not seen, and tables that were measured with it are not "
        "found, as memory differs; in a container give it the driver's "
        "\"utility\" capability");
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
  if (list->entries.empty() && none_left_out) {
    notes = {"the NVIDIA driver shows no GPU"};
  }
  enumeration.watches = libraries->nvml != nullptr;
  enumeration.note = absl::StrJoin(notes, "; ");
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
  return absl::NotFoundError(
      absl::StrCat("no GPU has the UUID ", device_uuid,
                   "; CUDA_VISIBLE_DEVICES may hide it"));
}

absl::StatusOr<DeviceState> CudaBackend::ReadTelemetry(
    const std::string& device_uuid) {
  ASSIGN_OR_RETURN(const Nvml* const nvml, Nvml::Load());
  ASSIGN_OR_RETURN(const NvmlDevice device, nvml->Find(device_uuid));
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
