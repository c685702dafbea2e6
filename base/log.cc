#include "base/log.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/environment_variable.h"
#include "base/logger.h"

namespace wavetune {
namespace {

constexpr std::array<std::pair<absl::string_view, LogLevel>, 4> kLevels = {
    {{"debug", LogLevel::kDebug},
     {"info", LogLevel::kInfo},
     {"warning", LogLevel::kWarning},
     {"error", LogLevel::kError}}};
// Ends a line that is not repeated, so that a process knows it among those that
// it relays.
constexpr char kOnce[] = " (said once)";
constexpr std::chrono::seconds kSummaryInterval(1);

void WriteToStandardError(absl::string_view line) {
  // A log that cannot be written is nobody's error to handle.
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, line.data(), line.size());
}

// Whether a descriptor leads to systemd's journal: $JOURNAL_STREAM has its
// device and inode (systemd.exec(5)). A process whose output somebody else
// reads inherits the variable, not the descriptor.
bool IsTheJournal(int fd) {
  const std::string stream = EnvironmentVariable("JOURNAL_STREAM");
  struct stat facts {};
  return !stream.empty() && ::fstat(fd, &facts) == 0 &&
         stream == absl::StrCat(static_cast<uint64_t>(facts.st_dev), ":",
                                static_cast<uint64_t>(facts.st_ino));
}

// Never destroyed: whatever logs may do so until the very end.
class ProcessLog {
 public:
  static ProcessLog& Get() {
    static ProcessLog* const log = new ProcessLog;
    return *log;
  }

  Logger& logger() { return logger_; }

  void Log(LogLevel level, absl::string_view component, absl::string_view kind,
           absl::string_view text) {
    if (logger_.Log(level, component, kind, text)) SumUpSoon();
  }

  // Returns whether a line of this text is new for ever.
  bool TakeOnce(absl::string_view text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Beyond so many texts they are said again, and summed up like any other.
    if (said_.size() >= kMaxSaid) return said_.count(std::string(text)) == 0;
    return said_.emplace(text).second;
  }

 private:
  static constexpr size_t kMaxSaid = 1024;

  ProcessLog() : logger_(SystemClock(), WriteToStandardError) {
    logger_.SetForJournal(IsTheJournal(STDERR_FILENO));
  }

  // Most processes never repeat themselves: the thread comes with the first
  // repeat.
  void SumUpSoon() {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_ = true;
    changed_.notify_all();
    if (std::exchange(summing_up_, true)) return;
    std::atexit(FlushLog);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // Signals are not for it.
    try {
      std::thread([this] { SumUp(); }).detach();
    } catch (const std::system_error&) {  // The limit on processes.
      // Summaries come with later lines.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void SumUp() {
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return pending_; });
        pending_ = false;
      }
      do {
        SystemClock().Sleep(kSummaryInterval);
      } while (logger_.WriteDue());
    }
  }

  Logger logger_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::set<std::string> said_;
  bool pending_ = false;
  bool summing_up_ = false;
};

// Takes "warning: " from the beginning of `line`, and returns its level.
std::optional<LogLevel> ConsumeLevel(absl::string_view* line) {
  for (const auto& [name, level] : kLevels) {
    if (absl::ConsumePrefix(line, absl::StrCat(name, ": "))) return level;
  }
  return std::nullopt;
}

}  // namespace

void SetLogLevel(LogLevel level) { ProcessLog::Get().logger().SetLevel(level); }

void SetLogFormat(LogFormat format) {
  ProcessLog::Get().logger().SetFormat(format);
}

absl::string_view LogLevelName(LogLevel level) {
  return kLevels.at(static_cast<size_t>(level)).first;
}

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view name) {
  for (const auto& [known, level] : kLevels) {
    if (name == known) return level;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "log level \"", name, "\" is none of: debug, info, warning, error"));
}

absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view name) {
  if (name == "text") return LogFormat::kText;
  if (name == "json") return LogFormat::kJson;
  return absl::InvalidArgumentError(
      absl::StrCat("log format \"", name, "\" is none of: text, json"));
}

void Log(LogLevel level, absl::string_view component, absl::string_view text) {
  ProcessLog::Get().Log(level, component, "", text);
}

void LogOfKind(LogLevel level, absl::string_view component,
               absl::string_view kind, absl::string_view text) {
  ProcessLog::Get().Log(level, component, kind, text);
}

void LogOnce(LogLevel level, absl::string_view component,
             absl::string_view text) {
  if (!ProcessLog::Get().TakeOnce(text)) return;
  Log(level, component, absl::StrCat(text, kOnce));
}

void RelayLog(absl::string_view component, absl::string_view name,
              absl::string_view line) {
  const LogLevel level = ConsumeLevel(&line).value_or(LogLevel::kInfo);
  absl::string_view text = line;
  if (absl::ConsumeSuffix(&text, kOnce) && !ProcessLog::Get().TakeOnce(text)) {
    return;
  }
  // Several processes say the same.
  LogOfKind(level, component, absl::StrCat("relayed ", line),
            absl::StrCat(name, ": ", line));
}

void FlushLog() { ProcessLog::Get().logger().Flush(); }

}  // namespace wavetune
