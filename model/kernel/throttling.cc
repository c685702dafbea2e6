#include "model/kernel/throttling.h"

#include <vector>

#include "absl/strings/str_join.h"

namespace wavetune {
namespace {

// nvmlClocksEventReason*.
struct Reason {
  uint32_t bit;
  bool throttles;
  const char* text;
};
constexpr Reason kReasons[] = {
    {kPowerCap, false, "power cap"},
    {0x08, true, "hardware slowdown"},
    {0x20, true, "software thermal slowdown"},
    {0x40, true, "hardware thermal slowdown"},
    {0x80, true, "hardware power brake"},
};

}  // namespace

bool IsThrottled(uint32_t reasons) {
  uint32_t throttling = 0;
  for (const Reason& reason : kReasons) {
    if (reason.throttles) throttling |= reason.bit;
  }
  return (reasons & throttling) != 0;
}

std::string ThrottleText(uint32_t reasons) {
  std::vector<std::string> texts;
  for (const Reason& reason : kReasons) {
    if ((reasons & reason.bit) != 0) texts.emplace_back(reason.text);
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace wavetune
