// Comma-separated values as people and spreadsheets write them: byte order
// marks, quoted cells, columns named twice, lists of extents, and bad lines by
// the thousand.
//
//   CsvReader csv(text, "trace");
//   RETURN_IF_ERROR(csv.ReadHeader());
//   const int latency = csv.Find("latency_us");
//   while (csv.Next()) RETURN_IF_ERROR(csv.ReadMicroseconds(latency, us));
//
//   CsvWriter csv;
//   csv.Add("m", "latency_us").EndLine();
//   csv.Add(128, 3.5).EndLine();
//
// Thread safety: objects none, functions pure. Views refer to the text given.
#ifndef WAVETUNE_BASE_CSV_TEXT_H_
#define WAVETUNE_BASE_CSV_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Reads lines of cells below a line that names the columns. White space around
// a line or a cell is taken off; empty lines are skipped, as is UTF-8's byte
// order mark. A cell in double quotes may hold commas; the quotes are taken
// off, nothing in them is rewritten.
class CsvReader {
 public:
  static constexpr int kAbsent = -1;

  // `what` is what faults call the text; it must live as long as the reader
  // does. `has_comments`: lines that begin with # are skipped.
  CsvReader(absl::string_view csv, absl::string_view what,
            bool has_comments = false);

  // Reads the first line. Errors: INVALID_ARGUMENT where there is none, or two
  // columns have the same name, case ignored; nameless ones do not count.
  absl::Status ReadHeader();

  // Goes on to the next line; false at the end.
  bool Next();

  // Number of the line at hand, from 1; 0 before the first.
  int64_t line() const { return line_; }
  // Names of the columns.
  const std::vector<absl::string_view>& header() const { return header_; }

  // Returns the index of a column, case ignored, or kAbsent.
  int Find(absl::string_view name) const;
  // As Find. Errors: the column is missing.
  absl::Status Require(absl::string_view name, int& column) const;

  // A cell of the line at hand. `column` is not kAbsent.
  absl::string_view cell(int column) const {
    return cells_[static_cast<size_t>(column)];
  }

  // Returns what is wrong with the number of cells of the line at hand; empty:
  // there is one for each column.
  std::string WidthFault() const;
  // The same as a status.
  absl::Status CheckWidth() const;

  // Read a cell of the line at hand; errors name line and column.
  absl::Status ReadInteger(int column, int64_t& value) const;
  // 0 to 2^31 - 1; 0 where the column is absent.
  absl::Status ReadCount(int column, int64_t& value) const;
  absl::Status ReadMicroseconds(int column, double& value) const;
  // Not negative.
  absl::Status ReadRatio(int column, double& value) const;
  // 0 or 1.
  absl::Status ReadFlag(int column, bool& value) const;

  // INVALID_ARGUMENT about the line at hand, or about a cell of it.
  absl::Status Fault(absl::string_view what) const;
  absl::Status CellFault(int column, absl::string_view what) const;

 private:
  absl::Status CheckColumnNames() const;

  absl::string_view left_;
  absl::string_view what_;
  bool has_comments_;
  int64_t line_ = 0;
  std::vector<absl::string_view> header_;
  std::vector<absl::string_view> cells_;
};

// Returns what people may have written as a cell: one line of printable
// characters, with semicolons for commas. Cannot fail.
std::string CsvCell(absl::string_view text);

// Writes lines of cells. Nothing is quoted.
class CsvWriter {
 public:
  // Adds numbers, or names without commas.
  template <typename... Cells>
  CsvWriter& Add(const Cells&... cells) {
    (AddCell(cells), ...);
    return *this;
  }
  template <typename Range>
  CsvWriter& AddAll(const Range& cells) {
    for (const auto& cell : cells) AddCell(cell);
    return *this;
  }
  void EndLine();

  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  void AddCell(const absl::AlphaNum& cell);

  std::string text_;
  bool in_line_ = false;
};

// Returns the elements of a repeated dimension: separated by spaces, or by one
// comma or semicolon. An element that is missing between two of these is empty;
// without any text there are none. Cannot fail.
std::vector<absl::string_view> SplitExtents(absl::string_view text);

// Most faults that people are told at a time; more would bury the first.
inline constexpr size_t kMaxFaultsTold = 10;

// Leaves the first ten faults, and how many more there were. Cannot fail.
void TellFirstFaults(std::vector<std::string>& faults);

// Returns those in one text. Cannot fail.
std::string JoinFaults(std::vector<std::string> faults,
                       absl::string_view separator);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_CSV_TEXT_H_
