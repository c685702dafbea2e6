#include "base/csv_text.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace wavetune {
namespace {

// Returns where the first cell of `text` ends.
size_t EndOfCell(absl::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin != absl::string_view::npos && text[begin] == '"') {
    const size_t quote = text.find('"', begin + 1);
    if (quote != absl::string_view::npos) {
      return std::min(text.find(',', quote), text.size());
    }
  }
  return std::min(text.find(','), text.size());
}

absl::string_view WithoutQuotes(absl::string_view cell) {
  cell = absl::StripAsciiWhitespace(cell);
  if (cell.size() < 2 || cell.front() != '"' || cell.back() != '"') return cell;
  return absl::StripAsciiWhitespace(cell.substr(1, cell.size() - 2));
}

}  // namespace

absl::string_view WithoutByteOrderMark(absl::string_view text) {
  return absl::StripPrefix(text, "\xef\xbb\xbf");
}

void SplitCells(absl::string_view line, std::vector<absl::string_view>& cells) {
  cells.clear();
  while (true) {
    const size_t end = EndOfCell(line);
    cells.push_back(WithoutQuotes(line.substr(0, end)));
    if (end == line.size()) return;
    line.remove_prefix(end + 1);
  }
}

absl::Status CheckColumnNames(const std::vector<absl::string_view>& names) {
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const auto [first, is_new] =
        seen.emplace(absl::AsciiStrToLower(names[i]), i);
    if (is_new) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("columns ", first->second + 1, " and ", i + 1,
                     " are both named '", names[i], "'; rename or drop one"));
  }
  return absl::OkStatus();
}

std::vector<absl::string_view> SplitExtents(absl::string_view text) {
  std::vector<absl::string_view> elements;
  if (absl::StripAsciiWhitespace(text).empty()) return elements;
  for (const absl::string_view part :
       absl::StrSplit(text, absl::ByAnyChar(",;"))) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(part, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.empty()) elements.push_back({});
    elements.insert(elements.end(), words.begin(), words.end());
  }
  return elements;
}

void TellFirstFaults(std::vector<std::string>& faults) {
  if (faults.size() <= kMaxFaultsTold) return;
  const size_t more = faults.size() - kMaxFaultsTold;
  faults.resize(kMaxFaultsTold);
  faults.push_back(absl::StrCat("and ", more, " more"));
}

std::string JoinFaults(std::vector<std::string> faults,
                       absl::string_view separator) {
  TellFirstFaults(faults);
  return absl::StrJoin(faults, separator);
}

}  // namespace wavetune
