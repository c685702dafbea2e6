// The log of our programs, on standard error: time, level, component, text.
//
//   Log(LogLevel::kInfo, "agent", absl::StrCat("attached ", uuid));
//   // 2026-01-31T09:15:02.123Z INFO  agent: attached GPU-1
//
// Repeats are summed up, and each component may write so many lines only
// (base/logger.h): whoever can provoke a line cannot fill a disk with it.
//
// For programs, not for the client library. Quiet by default (kWarning).
// Thread-safe; one write per line. Summaries come from a thread of their own,
// with the next line, or when the process exits.
#ifndef WAVETUNE_BASE_LOG_H_
#define WAVETUNE_BASE_LOG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

enum class LogFormat {
  kText,  // As above.
  // An object a line: {"time":"2026-01-31T09:15:02.123Z","level":"info",
  // "component":"agent","message":"attached GPU-1"}
  kJson,
  // "info: attached GPU-1": for a person at a terminal, and for a process whose
  // lines another one relays.
  kPlain,
};

// Lines below `level` are dropped from now on. Cannot fail.
void SetLogLevel(LogLevel level);
void SetLogFormat(LogFormat format);

// Returns "debug", "info", "warning" or "error".
absl::string_view LogLevelName(LogLevel level);

// Returns the level named "debug", "info", "warning" or "error". Errors:
// INVALID_ARGUMENT listing these.
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name);

// Returns the format named "text" or "json". Errors: INVALID_ARGUMENT listing
// these.
absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view name);

// Writes one line, unless the same was written within ten seconds. Bytes that
// are not UTF-8 are escaped, more than 16 KiB are cut, and control characters
// become spaces, or JSON's escapes. Cannot fail.
void Log(LogLevel level, absl::string_view component, absl::string_view text);

// As Log, where any line of `kind` is a repeat: who provokes a line often
// chooses some of its text.
void LogOfKind(LogLevel level, absl::string_view component,
               absl::string_view kind, absl::string_view text);

// Writes a line unless this process, or another whose lines this one relays,
// has ever written the same one. Cannot fail.
void LogOnce(LogLevel level, absl::string_view component,
             absl::string_view text);

// Writes a line that another process wrote as kPlain, with its level and its
// `name` before it; what names no level is kInfo. What LogOnce wrote there and
// was seen here before is left out.
void RelayLog(absl::string_view component, absl::string_view name,
              absl::string_view line);

// Writes the summaries that are not written yet: before an end without exit
// handlers. What repeats is new from now on. Cannot fail.
void FlushLog();

}  // namespace wavetune

#endif  // WAVETUNE_BASE_LOG_H_
