#include "model/kernel/device.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace wavetune {
namespace {

// Writes what would break the form "name=value;name=value" as %XX; '%' too, so
// that different facts never give the same key.
std::string Escape(absl::string_view text) {
  constexpr absl::string_view kDigits = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == ';' || c == '=' || c == '%') {
      result += '%';
      result += kDigits[byte >> 4];
      result += kDigits[byte & 0xf];
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string SiliconKey(const DeviceFacts& facts) {
  return absl::StrCat("backend=", Escape(facts.backend),
                      ";arch=", Escape(facts.architecture),
                      ";mp=", facts.multiprocessors,
                      ";memory_mib=", facts.memory_bytes / (int64_t{1} << 20),
                      ";partition=", Escape(facts.partition));
}

std::string EnvironmentKey(const DeviceFacts& facts) {
  return absl::StrCat("driver=", Escape(facts.driver),
                      ";runtime=", Escape(facts.runtime),
                      ";power_w=", facts.power_limit_w);
}

bool IsCpu(const DeviceFacts& facts) { return facts.memory_bytes == 0; }

int32_t ComputeCapability(const DeviceFacts& facts) {
  absl::string_view digits = facts.architecture;
  int32_t capability = 0;
  if (!absl::ConsumePrefix(&digits, "sm_") ||
      !absl::SimpleAtoi(digits, &capability) || capability < 0) {
    return 0;
  }
  return capability;
}

}  // namespace wavetune
