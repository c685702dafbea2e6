// TextTable: rows in aligned columns.
//
//   TextTable table({"ID", "KERNEL"});
//   table.AddRow({"1", "gemm_f32"});
//   table.Print(out);
#ifndef WAVETUNE_CLI_TEXT_TABLE_H_
#define WAVETUNE_CLI_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "cli/output.h"

namespace wavetune::cli {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header)
      : rows_{std::move(header)} {}

  // Missing cells are empty, superfluous ones are dropped. Cells are one line:
  // LineText.
  void AddRow(std::vector<std::string> cells);

  // Columns are two spaces apart; one that holds only numbers is right-aligned.
  // Prints `when_empty` where there are no rows.
  void Print(Output& out, const std::string& when_empty = "none") const;

 private:
  std::vector<std::vector<std::string>> rows_;  // The header first.
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_TEXT_TABLE_H_
