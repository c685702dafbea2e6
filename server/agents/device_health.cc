#include "server/agents/device_health.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/kernel/throttling.h"

namespace wavetune {

void DeviceHealth::Look(const DeviceState& state, Clock::Duration now) {
  temperature_c_ = state.temperature_c;
  const uint32_t heat = state.throttle_reasons & kThermal;
  TakeSign(heat, Add(heat != 0, kLooks, kHotLooks, looks_), now);
}

void DeviceHealth::TakeSample(uint32_t throttle_reasons, Clock::Duration now) {
  const uint32_t heat = throttle_reasons & kThermal;
  TakeSign(heat, Add(heat != 0, kSamples, kHotSamples, samples_), now);
}

bool DeviceHealth::Add(bool is_hot, size_t kept, size_t most,
                       std::deque<bool>& of) {
  of.push_back(is_hot);
  if (of.size() > kept) of.pop_front();
  return static_cast<size_t>(std::count(of.begin(), of.end(), true)) >= most;
}

void DeviceHealth::TakeSign(uint32_t reasons, bool enough,
                            Clock::Duration now) {
  if (was_hot_ && !hot(now)) {
    // What it did before it rested says nothing of it now.
    was_hot_ = false;
    looks_.clear();
    samples_.clear();
    reasons_ = 0;
  }
  if (reasons == 0) return;
  if (reasons_ == 0 || ToSeconds(now - last_sign_) > kRestS) since_ = now;
  reasons_ |= reasons;
  last_sign_ = now;
  was_hot_ |= enough;
}

bool DeviceHealth::hot(Clock::Duration now) const {
  return was_hot_ && ToSeconds(now - last_sign_) < kRestS;
}

std::string DeviceHealth::Text(Clock::Duration now) const {
  if (!hot(now)) return "";
  return absl::StrCat(
      "it is hot: ",
      temperature_c_ > 0 ? absl::StrCat(temperature_c_, " °C, ") : "",
      ThrottleText(reasons_), " for ",
      static_cast<int64_t>(ToSeconds(last_sign_ - since_)), " s");
}

}  // namespace wavetune
