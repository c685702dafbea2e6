// NVML, the management library, from libnvidia-ml.so.1 at run time: what the
// CUDA driver does not say of a device (power limit, clocks, throttling).
//
// Everything is optional: a container may have CUDA and no NVML. The few types
// are declared here, as the toolkit may be there without nvml.h.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_NVML_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_NVML_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace wavetune {

// As nvml.h declares them (API of driver 450 and newer).
struct NvmlDeviceTag;
using NvmlHandle = NvmlDeviceTag*;
using NvmlCode = int;
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct NvmlUtilisation {
  unsigned gpu;  // Percent of the last sampling period with a kernel running.
  unsigned memory;
};
// Second version, which the functions below take.
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct NvmlFunctions {
  NvmlCode (*init)() = nullptr;
  NvmlCode (*driver_version)(char* text, unsigned size) = nullptr;
  NvmlCode (*handle_by_uuid)(const char* uuid, NvmlHandle* handle) = nullptr;
  NvmlCode (*memory)(NvmlHandle handle, NvmlMemory* memory) = nullptr;
  NvmlCode (*power_limit)(NvmlHandle handle, unsigned* milliwatts) = nullptr;
  NvmlCode (*throttle_reasons)(NvmlHandle handle,
                               unsigned long long* reasons) = nullptr;
  NvmlCode (*clock)(NvmlHandle handle, int type, unsigned* mhz) = nullptr;
  NvmlCode (*utilisation)(NvmlHandle handle,
                          NvmlUtilisation* utilisation) = nullptr;
  // `sensor` 0 is the chip's. May be absent.
  NvmlCode (*temperature)(NvmlHandle handle, int sensor,
                          unsigned* celsius) = nullptr;
  // Absent before driver 450. `count` is the room on entry.
  NvmlCode (*compute_processes)(NvmlHandle handle, unsigned* count,
                                NvmlProcess* processes) = nullptr;
  // Absent before driver 450.
  NvmlCode (*parent_of_partition)(NvmlHandle partition,
                                  NvmlHandle* parent) = nullptr;
};

// One GPU, or one partition (MIG) of it.
class NvmlDevice {
 public:
  // `handle` of the GPU or partition, `board` of the GPU.
  NvmlDevice(const NvmlFunctions& nvml, NvmlHandle handle, NvmlHandle board)
      : nvml_(nvml), handle_(handle), board_(board) {}

  // Enforced limit of the board, rounded to whole watts.
  std::optional<int32_t> PowerLimitW() const;
  // The board's now; bits as in model/kernel/throttling.h.
  std::optional<uint32_t> ThrottleReasons() const;
  std::optional<int32_t> SmClockMhz() const;
  // The chip's, in degrees Celsius.
  std::optional<int32_t> TemperatureC() const;
  std::optional<NvmlMemory> Memory() const;
  // Percent of the last sampling period (up to a second) with a kernel running.
  // A partition does not say.
  std::optional<int32_t> UtilisationPercent() const;
  // Processes with a compute context, ids as the host counts them; ours, too.
  std::optional<std::vector<int64_t>> ComputeProcesses() const;
  // Errors: UNAVAILABLE where the driver says that the GPU fell off the bus, or
  // must be reset (says what to do).
  absl::Status CheckNotLost() const;

 private:
  friend class Nvml;

  NvmlFunctions nvml_;
  NvmlHandle handle_;
  NvmlHandle board_;
};

// What NVML knows of a GPU that goes into its keys. An absent field is never
// said of it.
struct NvmlFacts {
  std::optional<NvmlDevice> device;
  std::string driver;  // "580.159.04"; empty: absent.
  // Memory in bytes with what the driver keeps for itself: the same under every
  // driver.
  std::optional<int64_t> memory_bytes;
  std::optional<int32_t> power_limit_w;  // As NvmlDevice's.
};

class Nvml {
 public:
  // Loads and initialises the library; once that went well, once a process.
  // Errors: NOT_FOUND where it is missing; UNIMPLEMENTED where it is too old;
  // UNAVAILABLE where it does not start.
  static absl::StatusOr<const Nvml*> Load();

  // The same from another library, as often as called; for tests.
  static absl::StatusOr<Nvml> LoadFrom(const std::string& library);

  // For tests.
  explicit Nvml(const NvmlFunctions& functions) : nvml_(functions) {}

  // `uuid` as nvidia-smi -L prints it. Errors: NOT_FOUND where it has none;
  // UNAVAILABLE where the GPU is lost (says what to do); INTERNAL.
  absl::StatusOr<NvmlDevice> Find(const std::string& uuid) const;

  // Returns what goes into the GPU's keys. Errors: as Find, but for a GPU that
  // NVML does not have; INTERNAL where a question fails that another time may
  // not: the keys must not depend on the moment.
  absl::StatusOr<NvmlFacts> FactsOf(const std::string& uuid) const;

 private:
  NvmlFunctions nvml_;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_NVML_H_
