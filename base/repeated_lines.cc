#include "base/repeated_lines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

constexpr char kOtherKinds[] = "others";

std::string Summary(absl::string_view kind, const std::string& text,
                    int64_t repeats, int64_t age_us) {
  const int64_t seconds = std::max<int64_t>(1, (age_us + 500'000) / 1'000'000);
  const std::string count = WithCommas(static_cast<uint64_t>(repeats));
  const absl::string_view plural = repeats == 1 ? "" : "s";
  if (kind == kOtherKinds) {
    return absl::StrCat(text, " ... and ", count, " more line", plural, " in ",
                        seconds, " s");
  }
  return absl::StrCat(text, " ... repeated ", count, " time", plural, " in ",
                      seconds, " s");
}

}  // namespace

std::vector<std::string> RepeatedLines::Admit(absl::string_view kind,
                                              absl::string_view text,
                                              int64_t now_us) {
  std::vector<std::string> lines = Due(now_us);
  std::string name(kind);
  if (seen_.count(name) == 0 && seen_.size() >= kMaxKinds) name = kOtherKinds;
  const auto [it, first] = seen_.try_emplace(name);
  if (!first) {
    ++it->second.repeats;
    return lines;
  }
  it->second.text = ShortenedText(text, RepeatedLines::kMaxBytes);
  it->second.since_us = now_us;
  lines.emplace_back(text);
  return lines;
}

std::vector<std::string> RepeatedLines::Due(int64_t now_us) {
  return Take(now_us, kIntervalUs);
}

std::vector<std::string> RepeatedLines::Rest(int64_t now_us) {
  return Take(now_us, 0);
}

std::vector<std::string> RepeatedLines::Take(int64_t now_us,
                                             int64_t least_age_us) {
  std::vector<std::string> lines;
  for (auto it = seen_.begin(); it != seen_.end();) {
    const Seen& seen = it->second;
    if (now_us - seen.since_us < least_age_us) {
      ++it;
      continue;
    }
    if (seen.repeats > 0) {
      lines.push_back(
          Summary(it->first, seen.text, seen.repeats, now_us - seen.since_us));
    }
    it = seen_.erase(it);
  }
  return lines;
}

bool RepeatedLines::pending() const {
  return std::any_of(seen_.begin(), seen_.end(), [](const auto& entry) {
    return entry.second.repeats > 0;
  });
}

}  // namespace wavetune
