#include "base/csv_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

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

void SplitCells(absl::string_view line, std::vector<absl::string_view>& cells) {
  cells.clear();
  while (true) {
    const size_t end = EndOfCell(line);
    cells.push_back(WithoutQuotes(line.substr(0, end)));
    if (end == line.size()) return;
    line.remove_prefix(end + 1);
  }
}

}  // namespace

CsvReader::CsvReader(absl::string_view csv, absl::string_view what,
                     bool has_comments)
    : left_(absl::StripPrefix(csv, "\xef\xbb\xbf")),
      what_(what),
      has_comments_(has_comments) {}

absl::Status CsvReader::ReadHeader() {
  if (!Next()) return Fault("there is no line with column names; give one");
  header_ = cells_;
  return CheckColumnNames();
}

absl::Status CsvReader::CheckColumnNames() const {
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < header_.size(); ++i) {
    if (header_[i].empty()) continue;
    const auto [first, is_new] =
        seen.emplace(absl::AsciiStrToLower(header_[i]), i);
    if (is_new) continue;
    return Fault(absl::StrCat("columns ", first->second + 1, " and ", i + 1,
                              " are both named '", header_[i],
                              "'; rename or drop one"));
  }
  return absl::OkStatus();
}

bool CsvReader::Next() {
  while (!left_.empty()) {
    const size_t end = std::min(left_.find('\n'), left_.size());
    const absl::string_view text =
        absl::StripAsciiWhitespace(left_.substr(0, end));
    left_.remove_prefix(std::min(end + 1, left_.size()));
    ++line_;
    if (text.empty() || (has_comments_ && text[0] == '#')) continue;
    SplitCells(text, cells_);
    return true;
  }
  return false;
}

int CsvReader::Find(absl::string_view name) const {
  for (size_t i = 0; i < header_.size(); ++i) {
    if (absl::EqualsIgnoreCase(header_[i], name)) return static_cast<int>(i);
  }
  return kAbsent;
}

absl::Status CsvReader::Require(absl::string_view name, int& column) const {
  column = Find(name);
  if (column != kAbsent) return absl::OkStatus();
  return Fault(absl::StrCat("column '", name, "' is missing; add it"));
}

std::string CsvReader::WidthFault() const {
  if (cells_.size() == header_.size()) return "";
  return absl::StrCat("has ", cells_.size(),
                      " cells where the first line names ", header_.size(),
                      " columns; give one cell a column");
}

absl::Status CsvReader::CheckWidth() const {
  const std::string fault = WidthFault();
  return fault.empty() ? absl::OkStatus() : Fault(fault);
}

absl::Status CsvReader::ReadInteger(int column, int64_t& value) const {
  if (absl::SimpleAtoi(cell(column), &value)) return absl::OkStatus();
  return CellFault(column, "is no whole number; correct it");
}

absl::Status CsvReader::ReadCount(int column, int64_t& value) const {
  value = 0;
  if (column == kAbsent) return absl::OkStatus();
  RETURN_IF_ERROR(ReadInteger(column, value));
  if (value >= 0 && value <= std::numeric_limits<int32_t>::max()) {
    return absl::OkStatus();
  }
  return CellFault(column, "is no count; give 0 to 2^31 - 1");
}

absl::Status CsvReader::ReadMicroseconds(int column, double& value) const {
  if (absl::SimpleAtod(cell(column), &value) && std::isfinite(value) &&
      value > 0) {
    return absl::OkStatus();
  }
  return CellFault(column, "is no latency; give microseconds above 0");
}

absl::Status CsvReader::ReadRatio(int column, double& value) const {
  if (absl::SimpleAtod(cell(column), &value) && std::isfinite(value) &&
      value >= 0) {
    return absl::OkStatus();
  }
  return CellFault(column, "is no ratio; give a number of at least 0");
}

absl::Status CsvReader::ReadFlag(int column, bool& value) const {
  if (cell(column) == "0" || cell(column) == "1") {
    value = cell(column) == "1";
    return absl::OkStatus();
  }
  return CellFault(column, "is neither 0 nor 1; give one of them");
}

absl::Status CsvReader::Fault(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(what_, " line ", std::max<int64_t>(line_, 1), ": ", what));
}

absl::Status CsvReader::CellFault(int column, absl::string_view what) const {
  return Fault(absl::StrCat("column '", header_[static_cast<size_t>(column)],
                            "': '", cell(column), "' ", what));
}

std::string CsvCell(absl::string_view text) {
  std::string cell(text);
  for (char& c : cell) {
    if (c == ',') c = ';';
    // Also what is left of a character that was cut.
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = ' ';
  }
  absl::RemoveExtraAsciiWhitespace(&cell);
  return cell;
}

void CsvWriter::AddCell(const absl::AlphaNum& cell) {
  absl::StrAppend(&text_, in_line_ ? "," : "", cell);
  in_line_ = true;
}

void CsvWriter::EndLine() {
  text_.push_back('\n');
  in_line_ = false;
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
