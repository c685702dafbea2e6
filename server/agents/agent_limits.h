// What one agent may bring into the daemon. Agents are programs of the node's
// operator, but of any version, and in containers of others.
#ifndef WAVETUNE_SERVER_AGENTS_AGENT_LIMITS_H_
#define WAVETUNE_SERVER_AGENTS_AGENT_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace wavetune {

// Devices attached at once, of all agents: 16 GPUs of 7 instances each are 112.
// Each may have a thread of its own while a job runs on it.
inline constexpr size_t kMaxAttachedDevices = 128;
// Devices ever seen. The one seen longest ago makes room.
inline constexpr size_t kMaxSeenDevices = 1024;
// A device's UUID, which names it everywhere; all its facts.
inline constexpr size_t kMaxUuidBytes = 256;
inline constexpr size_t kMaxFactsBytes = size_t{8} << 10;
// An agent's name; why a device is busy.
inline constexpr size_t kMaxAgentNameBytes = 256;
// The kept reason for an exclusion, a failure or a device's problem: compilers
// say the important things first.
inline constexpr size_t kMaxReasonBytes = size_t{4} << 10;

// Lines of what went wrong when an agent looked for devices; later ones are
// dropped.
inline constexpr size_t kMaxAgentProblems = 16;

// Kernels of a stream that a batch may name: the daemon remembers which.
inline constexpr int32_t kMaxKeptKernels = 64;

// Reports of a batch: one for each item and the end. An agent of another
// version may say something more.
inline constexpr uint64_t ReportsAllowed(size_t items) {
  return 2 * uint64_t{items} + 16;
}

// Reports of devices' facts and problems, and of agents', within
// kDeviceReportsS: an agent sends one where something changes.
inline constexpr int64_t kDeviceReportsS = 10;
inline constexpr size_t DeviceReportsAllowed(size_t devices) {
  return 16 * devices + 64;
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_AGENTS_AGENT_LIMITS_H_
