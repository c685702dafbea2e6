// Comma-separated values as people and spreadsheets write them: byte order
// marks, quoted cells, columns named twice, lists of extents, and bad lines by
// the thousand.
//
// Thread safety: pure functions. Views refer to the text given.
#ifndef WAVETUNE_BASE_CSV_TEXT_H_
#define WAVETUNE_BASE_CSV_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// Returns `text` without UTF-8's byte order mark at its beginning. Cannot fail.
absl::string_view WithoutByteOrderMark(absl::string_view text);

// Writes the cells of one line: separated by commas, white space around them
// taken off. A cell in double quotes may hold commas; the quotes are taken off,
// nothing in them is rewritten. Cannot fail.
void SplitCells(absl::string_view line, std::vector<absl::string_view>& cells);

// Returns OK if no two columns have the same name, case ignored; nameless ones
// do not count. Errors: INVALID_ARGUMENT with the name and both columns.
absl::Status CheckColumnNames(const std::vector<absl::string_view>& names);

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
