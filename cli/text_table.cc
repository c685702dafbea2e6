#include "cli/text_table.h"

#include <algorithm>
#include <utility>

#include "base/terminal_text.h"

namespace wavetune::cli {
namespace {

// Counts characters, not bytes: labels of devices may hold others than ASCII.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool LooksNumeric(const std::string& text) {
  return text.empty() || text == "-" ||
         (text.find_first_not_of("0123456789.+-%x ") == std::string::npos &&
          text.find_first_of("0123456789") != std::string::npos);
}

}  // namespace

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(rows_[0].size());
  for (std::string& cell : cells) cell = LineText(cell);
  rows_.push_back(std::move(cells));
}

void TextTable::Print(Output& out, const std::string& when_empty) const {
  if (rows_.size() == 1) {
    out << when_empty << "\n";
    return;
  }
  const size_t columns = rows_[0].size();
  std::vector<size_t> widths(columns, 0);
  std::vector<bool> right(columns, true);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], Width(rows_[r][c]));
      if (r > 0 && !LooksNumeric(rows_[r][c])) right[c] = false;
    }
  }
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      const std::string padding(widths[c] - Width(row[c]), ' ');
      if (c > 0) line += "  ";
      line += right[c] ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

}  // namespace wavetune::cli
