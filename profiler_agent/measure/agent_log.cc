#include "profiler_agent/measure/agent_log.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

// Compilers write texts of any length.
constexpr size_t kMaxTextBytes = size_t{16} << 10;

constexpr std::array<const char*, 4> kNames = {"debug", "info", "warning",
                                               "error"};
std::atomic<AgentLogLevel> least_level = AgentLogLevel::kInfo;
// Ends a line that is not repeated, so that an agent knows it among those of
// its workers.
constexpr char kOnce[] = " (said once)";

// Returns whether `line` is new.
bool TakeOnce(absl::string_view line) {
  static std::mutex mutex;
  static auto* const seen = new std::set<std::string>();
  const std::lock_guard<std::mutex> lock(mutex);
  return seen->insert(std::string(line)).second;
}

}  // namespace

std::optional<AgentLogLevel> ParseAgentLogLevel(absl::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<AgentLogLevel>(i);
  }
  return std::nullopt;
}

void SetAgentLogLevel(AgentLogLevel level) { least_level = level; }

void AgentLog(AgentLogLevel level, absl::string_view text) {
  if (level < least_level.load()) return;
  const std::string line =
      absl::StrCat(kNames[static_cast<size_t>(level)], ": ",
                   BoundedText(text, kMaxTextBytes), "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void AgentLogOnce(AgentLogLevel level, absl::string_view text) {
  if (TakeOnce(text)) AgentLog(level, absl::StrCat(text, kOnce));
}

bool WasLoggedOnce(absl::string_view line) {
  return absl::EndsWith(line, kOnce) && !TakeOnce(line);
}

}  // namespace wavetune
