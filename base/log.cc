#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

std::atomic<LogLevel> minimum_level{LogLevel::kWarning};

// What files and agents bring in may be of any length.
constexpr size_t kMaxTextBytes = size_t{8} << 10;

absl::string_view Name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO ";
    case LogLevel::kWarning:
      return "WARN ";
    case LogLevel::kError:
      return "ERROR";
  }
  return "?";
}

}  // namespace

void SetLogLevel(LogLevel level) { minimum_level.store(level); }

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  return absl::InvalidArgumentError(absl::StrCat(
      "log level \"", name, "\" is none of: debug, info, warning, error"));
}

void Log(LogLevel level, absl::string_view component, absl::string_view text) {
  if (level < minimum_level.load(std::memory_order_relaxed)) return;
  std::string line = absl::StrCat(
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(),
                       absl::UTCTimeZone()),
      " ", Name(level), " ", component, ": ", BoundedText(text, kMaxTextBytes));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  line.push_back('\n');
  // A log that cannot be written is nobody's error to handle.
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace wavetune
