// Logger: what base/log.h writes, without standard error and a real clock.
//
//   Logger logger(SystemClock(), [](absl::string_view line) { ... });
//   logger.Log(LogLevel::kInfo, "agent", "", "attached GPU-1");
//
// A line that was written within the last ten seconds is counted instead, and
// then summed up in one line (base/repeated_lines.h). Each component writes
// RepeatedLines::kMaxKinds different lines of a level in that time, and counts
// what comes beyond: a flood of one hides no other, nor an error.
//
// Memory: bounded, as components are names in the code. Thread-safe.
#ifndef WAVETUNE_BASE_LOGGER_H_
#define WAVETUNE_BASE_LOGGER_H_

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/repeated_lines.h"

namespace wavetune {

class Logger {
 public:
  // Longer texts are cut: files, compilers and agents bring in any length.
  static constexpr size_t kMaxTextBytes = size_t{16} << 10;

  // Takes a line with its end; one call at a time.
  using Write = std::function<void(absl::string_view line)>;

  // `clock` outlives the logger.
  Logger(const Clock& clock, Write write);

  void SetLevel(LogLevel level) { level_.store(level); }
  void SetFormat(LogFormat format) { format_.store(format); }
  // Lines begin with their priority as systemd's journal reads it: "<4>" of a
  // warning (sd-daemon(3)).
  void SetForJournal(bool journal) { for_journal_.store(journal); }

  // Lines of one `kind` are repeats of each other; empty: those of equal text.
  // Returns whether lines wait to be summed up.
  bool Log(LogLevel level, absl::string_view component, absl::string_view kind,
           absl::string_view text);

  // Writes the summaries whose time has come; returns whether others wait.
  bool WriteDue();

  // Writes all summaries; what repeats is new from now on.
  void Flush();

 private:
  using Source = std::pair<LogLevel, std::string>;  // And the component.

  // Holds mutex_.
  void WriteLines(const Source& source, const std::vector<std::string>& texts);
  bool Pending() const;

  const Clock& clock_;
  const Write write_;
  std::atomic<LogLevel> level_ = LogLevel::kWarning;
  std::atomic<LogFormat> format_ = LogFormat::kText;
  std::atomic<bool> for_journal_ = false;
  std::mutex mutex_;
  std::map<Source, RepeatedLines> lines_;  // Guarded by mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_BASE_LOGGER_H_
