// Device facts and the keys derived from them.
//
// Silicon key: what a table depends on absolutely (a mismatch refuses the
// table). Environment key: what a carry-over record can bridge (driver,
// runtime, power limit). Device class: both together; what a fleet shares. The
// marketing name is a label, never a key.
#ifndef WAVETUNE_MODEL_KERNEL_DEVICE_H_
#define WAVETUNE_MODEL_KERNEL_DEVICE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace wavetune {

// What an agent knows of one device. Units in the names; see
// proto/wavetune/v1/types.proto.
struct DeviceFacts {
  std::string uuid;
  std::string label;
  std::string backend;
  std::string architecture;
  int32_t multiprocessors = 1;
  int64_t memory_bytes = 0;  // 0: no fact of the device (CPUs).
  std::string partition;
  std::string driver;
  std::string runtime;
  int32_t power_limit_w = 0;
  std::string compiler;
  int64_t last_level_cache_bytes = 0;
  int64_t max_group_size = 0;
  int64_t max_shared_memory_bytes = 0;
  std::string triton;  // "Triton 3.6.0, ptxas 12.8.93"; empty: none.
  std::string python;  // Which was asked for Triton; for messages.

  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

// What a device does right now, as far as it says; see
// proto/wavetune/v1/types.proto.
struct DeviceState {
  int64_t looked_at_us = 0;  // Since the Unix epoch; 0: never.
  int32_t sm_clock_mhz = 0;
  uint32_t throttle_reasons = 0;  // Bits: model/kernel/throttling.h.
  // Our own work included.
  std::optional<int32_t> utilisation_percent;
  // Without our own workers; absent where they cannot be told apart.
  std::optional<int32_t> other_processes;
  int64_t memory_used_bytes = 0;
  int64_t memory_total_bytes = 0;
  int32_t own_workers = 0;
  int32_t power_limit_w = 0;
  std::string busy;           // Why profiling keeps off; empty: it need not.
  int32_t temperature_c = 0;  // 0: unknown.

  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

// Returns the canonical silicon key, for example
// "backend=cuda;arch=sm_90;mp=132;memory_mib=143771;partition=". Characters
// that would break the form (';', '=', '%', control characters) are written as
// %XX. Cannot fail.
std::string SiliconKey(const DeviceFacts& facts);

// Returns the canonical environment key, for example
// "driver=580.159.04;runtime=13.0;power_w=700". Cannot fail.
std::string EnvironmentKey(const DeviceFacts& facts);

// Returns whether the device is the host's own processor: its memory is no fact
// of it. Cannot fail.
bool IsCpu(const DeviceFacts& facts);

// Returns the compute capability of a CUDA architecture: 90 for "sm_90" (9.0),
// 0 for an architecture of any other form. Cannot fail.
int32_t ComputeCapability(const DeviceFacts& facts);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_DEVICE_H_
