#include "base/logger.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/printable_text.h"

namespace wavetune {
namespace {

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20; }

// Returns `text`, which is UTF-8, as a string of JSON.
std::string JsonString(absl::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json.push_back('\\');
      json.push_back(c);
    } else if (c == '\n') {
      json.append("\\n");
    } else if (IsControl(c)) {
      absl::StrAppendFormat(&json, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      json.push_back(c);
    }
  }
  json.push_back('"');
  return json;
}

// Returns `name` as wide as the widest one, in capitals.
absl::string_view Column(LogLevel level) {
  constexpr std::array<absl::string_view, 4> kColumns = {"DEBUG", "INFO ",
                                                         "WARN ", "ERROR"};
  return kColumns.at(static_cast<size_t>(level));
}

// As the journal reads it from the beginning of a line.
absl::string_view Priority(LogLevel level) {
  constexpr std::array<absl::string_view, 4> kPriorities = {"<7>", "<6>", "<4>",
                                                            "<3>"};
  return kPriorities.at(static_cast<size_t>(level));
}

std::string Line(LogFormat format, int64_t now_us, LogLevel level,
                 absl::string_view component, absl::string_view text) {
  const std::string time =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMicros(now_us),
                       absl::UTCTimeZone());
  switch (format) {
    case LogFormat::kText:
      return absl::StrCat(time, " ", Column(level), " ", component, ": ", text);
    case LogFormat::kJson:
      return absl::StrCat("{\"time\":\"", time, "\",\"level\":\"",
                          LogLevelName(level),
                          "\",\"component\":", JsonString(component),
                          ",\"message\":", JsonString(text), "}");
    case LogFormat::kPlain:
      return absl::StrCat(LogLevelName(level), ": ", text);
  }
  return "";
}

// Equal texts are repeats: of any length, so a kind is not the text itself.
std::string KindOf(absl::string_view text) {
  const std::hash<std::string_view> hash;
  return absl::StrCat("text ", text.size(), " ",
                      hash({text.data(), text.size()}));
}

}  // namespace

Logger::Logger(const Clock& clock, Write write)
    : clock_(clock), write_(std::move(write)) {}

bool Logger::Log(LogLevel level, absl::string_view component,
                 absl::string_view kind, absl::string_view text) {
  if (level < level_.load(std::memory_order_relaxed)) return false;
  const std::string bounded = BoundedText(text, kMaxTextBytes);
  const Source source(level, component);
  const std::lock_guard<std::mutex> lock(mutex_);
  WriteLines(source, lines_[source].Admit(
                         kind.empty() ? KindOf(bounded) : std::string(kind),
                         bounded, clock_.SteadyNow().count()));
  return Pending();
}

bool Logger::WriteDue() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t now_us = clock_.SteadyNow().count();
  for (auto& [source, lines] : lines_) WriteLines(source, lines.Due(now_us));
  return Pending();
}

void Logger::Flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t now_us = clock_.SteadyNow().count();
  for (auto& [source, lines] : lines_) WriteLines(source, lines.Rest(now_us));
}

void Logger::WriteLines(const Source& source,
                        const std::vector<std::string>& texts) {
  const LogFormat format = format_.load();
  for (const std::string& text : texts) {
    std::string line =
        Line(format, clock_.NowUs(), source.first, source.second, text);
    std::replace_if(line.begin(), line.end(), IsControl, ' ');
    line.push_back('\n');
    if (for_journal_.load()) line = absl::StrCat(Priority(source.first), line);
    write_(line);
  }
}

bool Logger::Pending() const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [](const auto& entry) { return entry.second.pending(); });
}

}  // namespace wavetune
