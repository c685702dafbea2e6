// Log lines on standard error: time, level, component, text.
//
//   Log(LogLevel::kInfo, "agent", absl::StrCat("attached ", uuid));
//   // 2026-01-31T09:15:02.123Z INFO  agent: attached GPU-1
//
// Quiet by default (kWarning). Thread-safe; one write per line.
#ifndef WAVETUNE_BASE_LOG_H_
#define WAVETUNE_BASE_LOG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Lines below `level` are dropped from now on. Cannot fail.
void SetLogLevel(LogLevel level);

// Returns the level named "debug", "info", "warning" or "error". Errors:
// INVALID_ARGUMENT listing these.
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name);

// Writes one line; control characters in `text` become spaces, bytes that are
// not UTF-8 are escaped, and more than 8 KiB are cut. Cannot fail.
void Log(LogLevel level, absl::string_view component, absl::string_view text);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_LOG_H_
