// ThrottleWatch: whether the device's clocks are held down, and what for. The
// agent says so in its log (measure/throttle_episode.h).
//
// Thread safety: one thread.
#ifndef WAVETUNE_PROFILER_AGENT_CUDA_THROTTLE_WATCH_H_
#define WAVETUNE_PROFILER_AGENT_CUDA_THROTTLE_WATCH_H_

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/kernel/throttling.h"
#include "profiler_agent/cuda/nvml.h"

namespace wavetune {

class ThrottleWatch {
 public:
  // Without a device nothing is ever throttled. `clock` outlives it.
  ThrottleWatch(std::optional<NvmlDevice> device, Clock& clock)
      : device_(device), clock_(clock) {}

  // Asks NVML, at most every 25 ms: the power limit takes about 100 ms to move
  // the clocks, and asking takes the driver's locks.
  void Poll();

  // As of the last look; 0 where unknown.
  bool throttled() const { return IsThrottled(reasons_); }
  uint32_t reasons() const { return reasons_; }
  int32_t sm_clock_mhz() const { return sm_clock_mhz_; }

  // Asks whether the device is gone.
  bool IsLost() const {
    return device_.has_value() && !device_->CheckNotLost().ok();
  }

 private:
  std::optional<NvmlDevice> device_;
  Clock& clock_;
  std::optional<Clock::Duration> last_;
  uint32_t reasons_ = 0;
  int32_t sm_clock_mhz_ = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_CUDA_THROTTLE_WATCH_H_
