// Throttle reasons: why a device's clocks are held down, as bits.
//
// The bits are those of NVML's clocks event reasons, which every tool for
// NVIDIA GPUs prints; other backends translate to them. Stored with samples:
// never renumber.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_THROTTLING_H_
#define WAVETUNE_MODEL_KERNEL_THROTTLING_H_

#include <cstdint>
#include <string>

namespace wavetune {

// The power limit holds the clocks down. Not throttling: see IsThrottled.
inline constexpr uint32_t kPowerCap = 0x04;

// Heat holds the clocks down: the device is badly cooled, or too hot for now.
inline constexpr uint32_t kThermal = 0x60;

// Returns whether the clocks are held below what the load would otherwise get:
// heat, or a brake from outside. The power cap does not count. Large products
// run into it on every healthy device, in serving as well, and a table that
// left them out would know nothing of them.
bool IsThrottled(uint32_t reasons);

// Returns "hardware thermal slowdown, hardware power brake", the power cap
// included; empty for none.
std::string ThrottleText(uint32_t reasons);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_THROTTLING_H_
