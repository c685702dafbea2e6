#include "profiler_agent/measure/throttle_episode.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "model/kernel/throttling.h"

namespace wavetune {

std::string ThrottleEpisode::After(const LaunchTimes& burst,
                                   Clock::Duration now) {
  if (!IsThrottled(burst.throttle_reasons)) {
    if (!lasts()) return "";
    ++bursts_since_;
    return now - last_ < kQuiet ? "" : End(now);
  }
  // Nothing was measured in between.
  std::string line = lasts() && now - last_ >= kQuiet ? End(now) : "";
  const bool first = !lasts();
  if (first) begin_ = said_ = now;
  Count(burst, now);
  if (!first && now - said_ < kReminder) return line;
  said_ = now;
  return absl::StrCat(line, line.empty() ? "" : "; again: ", "device ", uuid_,
                      first ? absl::StrCat(" is throttled (", Why(),
                                           "): what is measured so is measured "
                                           "again after a pause")
                            : absl::StrCat(" is still throttled, ", Sum(now)));
}

std::string ThrottleEpisode::End(Clock::Duration now) {
  if (!lasts()) return "";
  const bool over = now - last_ >= kQuiet && bursts_since_ > 0;
  std::string line = absl::StrCat(
      "device ", uuid_, " was throttled, ", Sum(last_),
      over ? ", and is not any more" : "; nothing is measured any more");
  throttled_ = bursts_ = bursts_since_ = 0;
  reasons_ = 0;
  lowest_mhz_ = 0;
  return line;
}

void ThrottleEpisode::Count(const LaunchTimes& burst, Clock::Duration now) {
  ++throttled_;
  bursts_ += std::exchange(bursts_since_, 0) + 1;
  reasons_ |= burst.throttle_reasons;
  const int32_t mhz = burst.sm_clock_mhz;
  if (mhz > 0) lowest_mhz_ = lowest_mhz_ > 0 ? std::min(lowest_mhz_, mhz) : mhz;
  last_ = now;
}

std::string ThrottleEpisode::Sum(Clock::Duration until) const {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(until - begin_).count();
  return absl::StrCat("in ", WithCommas(static_cast<uint64_t>(throttled_)),
                      " of ", WithCommas(static_cast<uint64_t>(bursts_)),
                      " bursts within ", std::max<int64_t>(1, seconds), " s (",
                      Why(), ")");
}

std::string ThrottleEpisode::Why() const {
  return absl::StrCat(
      ThrottleText(reasons_),
      lowest_mhz_ > 0 ? absl::StrCat("; down to ", lowest_mhz_, " MHz") : "");
}

}  // namespace wavetune
