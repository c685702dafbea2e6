#include "profiler_agent/measure/poison.h"

#include <cstring>
#include <limits>

#include "profiler_agent/measure/buffer_values.h"

namespace wavetune {
namespace {

// Far from poison, and from anything a kernel's results would be apart by. No
// byte of it is as poison's.
constexpr int64_t kOtherPoison = 0x5bd1e9955bd1e995;

template <typename Unsigned>
Unsigned PartAt(absl::string_view bytes, size_t at) {
  Unsigned part = 0;
  std::memcpy(&part, bytes.data() + at, sizeof(part));
  return part;
}

// What an element held, and what it holds afterwards, on both poisons.
struct TwoRuns {
  absl::string_view poison;
  absl::string_view other_poison;
  absl::string_view after_poison;
  absl::string_view after_other;
};

// Whether a part of the element is as far from what it was on poison as the
// other poison is: it was left alone, or added to.
template <typename Unsigned>
bool WasAddedTo(const TwoRuns& element) {
  for (size_t at = 0; at + sizeof(Unsigned) <= element.poison.size();
       at += sizeof(Unsigned)) {
    const auto apart = [at](absl::string_view from, absl::string_view to) {
      return static_cast<Unsigned>(PartAt<Unsigned>(to, at) -
                                   PartAt<Unsigned>(from, at));
    };
    if (apart(element.after_poison, element.after_other) ==
        apart(element.poison, element.other_poison)) {
      return true;
    }
  }
  return false;
}

// Whether a byte of the element is what it was, on both poisons.
bool WasLeftAlone(const TwoRuns& element) {
  for (size_t at = 0; at < element.poison.size(); ++at) {
    if (element.after_poison[at] == element.poison[at] &&
        element.after_other[at] == element.other_poison[at]) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string PoisonValues(ElementType type, size_t elements) {
  switch (type) {
    case ElementType::kFloat32:
      return GenerateValues<float>(elements, [](size_t) {
        return std::numeric_limits<float>::quiet_NaN();
      });
    case ElementType::kBfloat16:
      return GenerateValues<uint16_t>(elements,
                                      [](size_t) { return uint16_t{0x7fc0}; });
    case ElementType::kInt32:
      return GenerateValues<int32_t>(
          elements, [](size_t) { return std::numeric_limits<int32_t>::min(); });
    case ElementType::kInt64:
      return GenerateValues<int64_t>(
          elements, [](size_t) { return std::numeric_limits<int64_t>::min(); });
  }
  return "";
}

std::string OtherPoison(ElementType type, size_t elements) {
  if (type == ElementType::kInt32) {
    return GenerateValues<int32_t>(
        elements, [](size_t) { return static_cast<int32_t>(kOtherPoison); });
  }
  return GenerateValues<int64_t>(elements, [](size_t) { return kOtherPoison; });
}

int64_t FirstThatFollowsPoison(ElementType type, absl::string_view after_poison,
                               absl::string_view after_other) {
  const size_t bytes = ElementBytes(type);
  const std::string poison = PoisonValues(type, 1);
  const std::string other_poison = OtherPoison(type, 1);
  for (size_t at = 0; at + bytes <= after_poison.size(); at += bytes) {
    const TwoRuns element = {.poison = poison,
                             .other_poison = other_poison,
                             .after_poison = after_poison.substr(at, bytes),
                             .after_other = after_other.substr(at, bytes)};
    // Nearly always; and what has a right to be equal is not looked at.
    if (element.after_poison == element.after_other) continue;
    // Whole words too: what is added to a half may carry into the other.
    if (WasLeftAlone(element) || WasAddedTo<uint32_t>(element) ||
        WasAddedTo<uint64_t>(element)) {
      return static_cast<int64_t>(at / bytes);
    }
  }
  return -1;
}

}  // namespace wavetune
