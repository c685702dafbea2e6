#include "profiler_agent/agent_log.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/printable_text.h"

namespace wavetune {
namespace {

// Compilers write texts of any length.
constexpr size_t kMaxTextBytes = size_t{16} << 10;

constexpr std::array<const char*, 4> kNames = {"debug", "info", "warning",
                                               "error"};
std::atomic<AgentLogLevel> least_level = AgentLogLevel::kInfo;

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

}  // namespace wavetune
