#include "base/config_file.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/input_file.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "base/suggestion.h"

namespace wavetune {
namespace {

constexpr size_t kMostConfigBytes = size_t{1} << 20;
constexpr size_t kMostFaults = 10;
constexpr size_t kMostShownBytes = 80;

std::string ShownWord(absl::string_view word) {
  return absl::CHexEscape(ShortenedText(word, kMostShownBytes));
}

// Returns the line without its comment and the space around it.
absl::string_view Meaning(absl::string_view line) {
  for (size_t at = line.find('#'); at != absl::string_view::npos;
       at = line.find('#', at + 1)) {
    if (at == 0 || absl::ascii_isspace(line[at - 1])) {
      line = line.substr(0, at);
      break;
    }
  }
  return absl::StripAsciiWhitespace(line);
}

class ConfigParser {
 public:
  explicit ConfigParser(const std::vector<std::string>& sections)
      : sections_(sections) {}

  void Take(absl::string_view line) {
    ++line_;
    line = Meaning(line);
    if (line.empty()) return;
    if (line.front() == '[') {
      TakeSection(line);
    } else {
      TakeEntry(line);
    }
  }

  absl::StatusOr<ConfigFile> Result() && {
    if (faults_.empty()) return std::move(file_);
    const size_t more = faults_.size() - std::min(faults_.size(), kMostFaults);
    faults_.resize(faults_.size() - more);
    if (more > 0) faults_.push_back(absl::StrCat("and ", more, " more"));
    return absl::InvalidArgumentError(absl::StrJoin(faults_, "\n"));
  }

 private:
  void TakeSection(absl::string_view line) {
    const std::string name = line.size() > 1 && line.back() == ']'
                                 ? std::string(absl::StripAsciiWhitespace(
                                       line.substr(1, line.size() - 2)))
                                 : "";
    in_section_ = true;
    if (std::find(sections_.begin(), sections_.end(), name) !=
        sections_.end()) {
      entries_ = &file_.sections[name];
      return;
    }
    entries_ = nullptr;  // What it holds is told of once.
    Fault(absl::StrCat(ShownWord(line), " is no section",
                       Suggestion(name, sections_)));
  }

  void TakeEntry(absl::string_view line) {
    const size_t equals = line.find('=');
    const auto key = absl::StripAsciiWhitespace(line.substr(0, equals));
    if (equals == absl::string_view::npos || key.empty()) {
      return Fault(absl::StrCat("\"", ShownWord(line),
                                "\" is neither a [section] nor key = value"));
    }
    if (!in_section_) {
      return Fault(
          absl::StrCat(ShownWord(key), " stands before any section: put [",
                       absl::StrJoin(sections_, "] or ["), "] above it"));
    }
    const auto value = absl::StripAsciiWhitespace(line.substr(equals + 1));
    if (entries_ == nullptr || value.empty()) return;
    entries_->push_back({std::string(key), std::string(value), line_});
  }

  void Fault(absl::string_view text) {
    faults_.push_back(absl::StrCat("line ", line_, ": ", text));
  }

  const std::vector<std::string>& sections_;
  ConfigFile file_;
  std::vector<std::string> faults_;
  std::vector<ConfigEntry>* entries_ = nullptr;  // Of the section.
  bool in_section_ = false;
  int line_ = 0;
};

}  // namespace

absl::StatusOr<ConfigFile> ParseConfig(
    absl::string_view text, const std::vector<std::string>& sections) {
  ConfigParser parser(sections);
  for (absl::string_view line : absl::StrSplit(text, '\n')) parser.Take(line);
  return std::move(parser).Result();
}

absl::StatusOr<ConfigFile> ReadConfigFile(
    const std::string& path, const std::vector<std::string>& sections) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadOwnInputFile(path, kMostConfigBytes));
  absl::StatusOr<ConfigFile> file = ParseConfig(text, sections);
  if (!file.ok()) return AtPath(file.status(), path);
  return file;
}

}  // namespace wavetune
