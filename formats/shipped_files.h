// Tables that lie beside a kernel: `tables/*.table` in its folder, as
// `wavetune tables export` writes them.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_SHIPPED_FILES_H_
#define WAVETUNE_FORMATS_SHIPPED_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "formats/kernel_folder.h"
#include "model/decide/compiled_table.h"

namespace wavetune {

// Most tables that a kernel may ship: one for each kind of device and compiler.
inline constexpr size_t kMaxShippedTables = 64;

struct ShippedTable {
  std::string file;  // "tables/h200.table".
  std::string payload;
  std::shared_ptr<const CompiledTable> table;
};

struct ShippedFiles {
  std::vector<ShippedTable> tables;  // By name of their files.
  // What is wrong with each of the others: path, reason, what to do.
  std::vector<std::string> problems;
};

// Reads what a kernel ships. Left out is a file that is no table, or not of the
// kernel as its manifest is (CheckChoices). `kind` as for LoadKernelFolder.
// Cannot fail: a folder without tables is usual. Cost: reads and compiles each.
ShippedFiles ReadShippedTables(const KernelFolder& kernel,
                               InputKind kind = InputKind::kFile);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_SHIPPED_FILES_H_
