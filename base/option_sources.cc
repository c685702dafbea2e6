#include "base/option_sources.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/input_file.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "base/suggestion.h"

namespace wavetune {
namespace {

// Where comments begin in the text, for people.
constexpr size_t kSourceColumn = 48;
constexpr size_t kMostConfigBytes = size_t{1} << 20;
constexpr size_t kMostShownBytes = 80;

bool IsIn(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "refine-budget" becomes "WAVETUNE_REFINE_BUDGET".
std::string VariableOf(absl::string_view prefix, const std::string& name) {
  return absl::StrCat(
      prefix, absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}})));
}

// CLI11 writes a list's default as "[a,b]".
std::vector<std::string> DefaultsOf(const CLI::Option& option) {
  std::string text = option.get_default_str();
  if (!absl::StartsWith(text, "[") || !absl::EndsWith(text, "]")) {
    return {std::move(text)};
  }
  return absl::StrSplit(text.substr(1, text.size() - 2), ',');
}

std::vector<std::string> ValuesOf(const CLI::Option& option) {
  return option.count() == 0 ? DefaultsOf(option) : option.results();
}

std::string Line(const std::string& name, const std::string& value,
                 const std::string& source) {
  std::string line = absl::StrCat(name, " =", value.empty() ? "" : " ", value);
  const size_t spaces =
      line.size() < kSourceColumn - 1 ? kSourceColumn - line.size() : size_t{1};
  return absl::StrCat(line, std::string(spaces, ' '), "# ", source, "\n");
}

std::string Shown(absl::string_view word) {
  return absl::CHexEscape(ShortenedText(word, kMostShownBytes));
}

// Returns the line without its comment and the space around it. A '#' within a
// word, as in "/a#b", begins none.
absl::string_view WithoutComment(absl::string_view line) {
  size_t at = line.find('#');
  while (at != absl::string_view::npos && at > 0 &&
         !absl::ascii_isspace(line[at - 1]))
    at = line.find('#', at + 1);
  return absl::StripAsciiWhitespace(line.substr(0, at));
}

// Takes the name of a section from its line.
absl::StatusOr<std::string> SectionOf(absl::string_view line) {
  const absl::string_view inner =
      absl::StripSuffix(absl::StripPrefix(line, "["), "]");
  std::string name(absl::StripAsciiWhitespace(inner));
  if (absl::EndsWith(line, "]") && IsIn(ConfigSections(), name)) return name;
  return absl::InvalidArgumentError(absl::StrCat(
      Shown(line), " is no section", Suggestion(name, ConfigSections())));
}

// A list that is one value elsewhere has a delimiter.
bool TakesMany(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

}  // namespace

OptionSources::OptionSources(CLI::App& app, std::string section,
                             absl::string_view prefix,
                             const std::vector<std::string>& not_in_file)
    : app_(app), section_(std::move(section)) {
  const CLI::Option* const version = app.get_version_ptr();
  for (CLI::Option* option :
       app.get_options([](CLI::Option*) { return true; })) {
    if (option == app.get_help_ptr() || option == version ||
        option->get_lnames().empty()) {
      continue;
    }
    const std::string& name = option->get_lnames().front();
    if (IsIn(not_in_file, name)) continue;
    if (option->get_envname().empty()) {
      option->envname(VariableOf(prefix, name));
    }
    // CLI11 does not ask a flag's variable.
    if (option->get_items_expected_max() == 0 &&
        option->get_default_str().empty()) {
      option->default_str("false");
    }
    taken_.push_back({name, option, false});
  }
  app.add_option(
         "--config", path_,
         absl::StrCat("Configuration file, as ", kConfigPath, ": [", section_,
                      "] with lines \"option = value\"; command line "
                      "and environment win"))
      ->envname(VariableOf(prefix, "config"));
  app.add_flag("--print-config", print_,
               "Print each option's value and where it comes from, then end");
  app.add_flag("--check-config", check_,
               "Say whether the configuration can be used, then end");
}

absl::Status OptionSources::ApplyFile() {
  if (path_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text,
                   ReadOwnInputFile(path_, kMostConfigBytes));
  const absl::Status status = ApplyText(text);
  return status.ok() ? status : AtPath(status, path_);
}

OptionSources::Taken* OptionSources::Find(const std::string& key) {
  const auto found =
      std::find_if(taken_.begin(), taken_.end(),
                   [&key](const Taken& taken) { return taken.name == key; });
  return found == taken_.end() ? nullptr : &*found;
}

absl::Status OptionSources::ApplyText(absl::string_view text) {
  std::map<Taken*, std::vector<std::string>> values;
  std::string section;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::Status status = TakeLine(WithoutComment(line), section, values);
    if (!status.ok()) return AtPath(status, absl::StrCat("line ", number));
  }
  for (const auto& [taken, given] : values)
    RETURN_IF_ERROR(ApplyValues(*taken, given));
  return absl::OkStatus();
}

absl::Status OptionSources::TakeLine(
    absl::string_view line, std::string& section,
    std::map<Taken*, std::vector<std::string>>& values) {
  if (line.empty()) return absl::OkStatus();
  if (line.front() == '[') {
    ASSIGN_OR_RETURN(section, SectionOf(line));
    return absl::OkStatus();
  }
  const size_t equals = line.find('=');
  const std::string key(absl::StripAsciiWhitespace(line.substr(0, equals)));
  if (equals == absl::string_view::npos || key.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", Shown(line), "\" is neither a [section] nor key = value"));
  }
  if (section.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Shown(key), " stands before any section: put [",
                     absl::StrJoin(ConfigSections(), "] or ["), "] above it"));
  }
  const auto value = absl::StripAsciiWhitespace(line.substr(equals + 1));
  if (section != section_ || value.empty()) return absl::OkStatus();
  Taken* const taken = Find(key);
  if (taken == nullptr) {
    std::vector<std::string> known;
    for (const Taken& other : taken_) known.push_back(other.name);
    return absl::InvalidArgumentError(absl::StrCat(
        "[", section_, "] has no key ", Shown(key), Suggestion(key, known)));
  }
  values[taken].emplace_back(value);
  return absl::OkStatus();
}

absl::Status OptionSources::ApplyValues(
    Taken& taken, const std::vector<std::string>& values) {
  CLI::Option& option = *taken.option;
  if (values.size() > 1 && !TakesMany(option)) {
    return absl::InvalidArgumentError(
        absl::StrCat(taken.name, " stands twice: leave one"));
  }
  const bool given = option.count() > 0;
  const std::vector<std::string> before = option.results();
  const auto give = [&option](const std::vector<std::string>& results) {
    option.clear();
    for (const std::string& result : results) option.add_result(result);
    option.run_callback();
  };
  absl::Status status;
  try {
    give(values);
  } catch (const CLI::Error& error) {  // CLI11 has no other way.
    status = absl::InvalidArgumentError(error.what());
  }
  taken.from_file = !given;
  if (given) give(before);  // It was judged only.
  return status;
}

std::string OptionSources::SourceOf(const Taken& taken) const {
  if (taken.from_file) return path_;
  if (taken.option->count() == 0) return "default";
  const std::vector<CLI::Option*>& line = app_.parse_order();
  const bool on_line =
      std::find(line.begin(), line.end(), taken.option) != line.end();
  return on_line ? absl::StrCat("--", taken.name) : taken.option->get_envname();
}

std::string OptionSources::Text() const {
  std::string text = absl::StrCat("[", section_, "]\n");
  for (const Taken& taken : taken_) {
    for (const std::string& value : ValuesOf(*taken.option)) {
      absl::StrAppend(&text, Line(taken.name, value, SourceOf(taken)));
    }
  }
  return text;
}

std::map<std::string, std::string> OptionSources::Values() const {
  std::map<std::string, std::string> values;
  for (const Taken& taken : taken_) {
    values[taken.name] = absl::StrJoin(ValuesOf(*taken.option), "\n");
  }
  return values;
}

void DeclareLogOptions(CLI::App& app, std::string* level, std::string* format) {
  app.add_option("--log-level", *level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.add_option("--log-format", *format,
                 "text, or json: an object a line with time, level, component "
                 "and message")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

ConfigChange CompareConfig(const std::map<std::string, std::string>& before,
                           const std::map<std::string, std::string>& now,
                           const std::vector<std::string>& reloadable) {
  ConfigChange change;
  for (const auto& [name, value] : now) {
    const auto old = before.find(name);
    if (old != before.end() && old->second == value) continue;
    (IsIn(reloadable, name) ? change.taken : change.for_restart)
        .push_back(name);
  }
  return change;
}

std::string TextOf(const ConfigChange& change,
                   const std::map<std::string, std::string>& now) {
  std::vector<std::string> parts;
  for (const std::string& name : change.taken) {
    const std::string& value = now.at(name);
    parts.push_back(value.empty() ? absl::StrCat(name, " is not set any more")
                                  : absl::StrCat(name, " is now ", value));
  }
  if (!change.for_restart.empty()) {
    parts.push_back(absl::StrCat(
        absl::StrJoin(change.for_restart, ", "),
        change.for_restart.size() == 1 ? " takes" : " take", " a restart"));
  }
  return absl::StrJoin(parts, "; ");
}

}  // namespace wavetune
