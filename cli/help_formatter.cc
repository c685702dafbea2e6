#include "cli/help_formatter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace wavetune::cli {
namespace {

// Where a line has less space than this, it is as wide as it needs.
constexpr size_t kNarrowest = 20;

// Returns `text` in lines that end before `width`; all begin at column
// `indent`, at which the first one is already.
std::string Wrap(absl::string_view text, size_t indent, size_t width) {
  const size_t room = std::max(width, indent + kNarrowest);
  const std::string next = absl::StrCat("\n", std::string(indent, ' '));
  std::string result;
  size_t column = indent;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!result.empty()) absl::StrAppend(&result, next);
    column = indent;
    for (const absl::string_view word :
         absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      if (column > indent && column + 1 + word.size() > room) {
        absl::StrAppend(&result, next);
        column = indent;
      }
      absl::StrAppend(&result, column > indent ? " " : "", word);
      column += (column > indent ? 1 : 0) + word.size();
    }
  }
  return result;
}

}  // namespace

std::string Brief(const std::string& description) {
  std::string brief = description.substr(
      0, std::min(description.find(". "), description.find("; ")));
  if (!brief.empty() && brief.back() == '.') brief.pop_back();
  return brief;
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return absl::StrCat(Wrap(app->get_description(), 0, width_), "\n");
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return Row(command->get_name(), Brief(command->get_description()));
}

std::string HelpFormatter::make_option(const CLI::Option* option,
                                       bool is_positional) const {
  return Row(absl::StrCat(make_option_name(option, is_positional),
                          make_option_opts(option)),
             make_option_desc(option));
}

std::string HelpFormatter::Row(const std::string& name,
                               const std::string& meaning) const {
  std::string row = absl::StrCat("  ", Wrap(name, 4, width_));
  if (meaning.empty()) return absl::StrCat(row, "\n");
  const size_t last = row.size() - (row.rfind('\n') + 1);  // npos + 1 is 0.
  if (last + 1 < column_width_) {
    absl::StrAppend(&row, std::string(column_width_ - last, ' '));
  } else {
    absl::StrAppend(&row, "\n", std::string(column_width_, ' '));
  }
  return absl::StrCat(row, Wrap(meaning, column_width_, width_), "\n");
}

}  // namespace wavetune::cli
