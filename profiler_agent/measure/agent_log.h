// Log lines on standard error: level, text. The time is the journal's.
//
//   AgentLog(AgentLogLevel::kWarning, absl::StrCat("worker of ", uuid, ...));
//   // warning: worker of CL-1 crashed (SIGSEGV)
//
// Thread-safe; one write per line.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_AGENT_LOG_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_AGENT_LOG_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace wavetune {

enum class AgentLogLevel { kDebug, kInfo, kWarning, kError };

// Returns the level named "debug", "info", "warning" or "error".
std::optional<AgentLogLevel> ParseAgentLogLevel(absl::string_view name);

// Lines below `level` are dropped from now on (at first: below kInfo).
void SetAgentLogLevel(AgentLogLevel level);

// Writes a line. Cannot fail.
void AgentLog(AgentLogLevel level, absl::string_view text);

// Writes a line unless this process, or another worker of the same agent, has
// written the same one. Cannot fail.
void AgentLogOnce(AgentLogLevel level, absl::string_view text);

// For lines of other processes: returns whether AgentLogOnce wrote this one
// there, and it was seen here before.
bool WasLoggedOnce(absl::string_view line);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_AGENT_LOG_H_
