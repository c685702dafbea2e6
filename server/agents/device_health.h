// DeviceHealth: whether a device is too hot to be measured.
//
// A device that throttles because it is hot gives samples of a slower device,
// and is hardly cooler when it is measured again. So it rests: another of its
// class takes over, or the job says what it waits for.
//
// Hot: most of the last looks at its clocks found them held down by heat, or
// half of its last samples were. Usable again after a while without.
//
// Thread safety: none; times are steady ones, given by the caller.
#ifndef WAVETUNE_SERVER_AGENTS_DEVICE_HEALTH_H_
#define WAVETUNE_SERVER_AGENTS_DEVICE_HEALTH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "base/clock.h"
#include "model/kernel/device.h"

namespace wavetune {

class DeviceHealth {
 public:
  // Looks, and samples, that are remembered, and those of them that must be
  // hot.
  static constexpr size_t kLooks = 10;
  static constexpr size_t kHotLooks = 8;
  static constexpr size_t kSamples = 16;
  static constexpr size_t kHotSamples = 8;
  // It rests so long after the last sign of heat.
  static constexpr double kRestS = 30;

  // Takes what the device said, or the reasons that a sample was throttled for
  // (0: none).
  void Look(const DeviceState& state, Clock::Duration now);
  void TakeSample(uint32_t throttle_reasons, Clock::Duration now);

  bool hot(Clock::Duration now) const;
  // "it is hot: 86 °C, hardware thermal slowdown for 42 s"; empty where it is
  // not.
  std::string Text(Clock::Duration now) const;

 private:
  // Whether at least `most` of the last are hot.
  static bool Add(bool is_hot, size_t kept, size_t most, std::deque<bool>& of);
  void TakeSign(uint32_t reasons, bool enough, Clock::Duration now);

  std::deque<bool> looks_;
  std::deque<bool> samples_;
  bool was_hot_ = false;
  Clock::Duration since_{0};      // First sign of heat in a row.
  Clock::Duration last_sign_{0};  // Last one.
  uint32_t reasons_ = 0;
  int32_t temperature_c_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_AGENTS_DEVICE_HEALTH_H_
