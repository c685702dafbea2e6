// Shapes: the problems of a benchmark, as comma-separated values.
//
//   model,m,n,k
//   llama-3-8b,976,6144,4096
//
// Columns are matched with the kernel's dimensions case-insensitively, and no
// two have the same name. A repeated dimension's cell holds its elements
// separated by spaces (or by commas, in a quoted cell). A line's specialisation
// is its `specialisation` cell, else the first of the kernel's whose defines
// all match cells of the same name (`causal`: 1), as in recorded traces. Cells
// of other columns are the label.
#ifndef WAVETUNE_CLI_SHAPES_FILE_H_
#define WAVETUNE_CLI_SHAPES_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "wavetune/problem.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

struct Shape {
  std::string label;  // First other cell; empty where there is none.
  Problem problem;
};

// Returns distinct problems in the file's order (the first label stays).
// `specialisation`, where not empty, keeps only lines of that one, and is that
// of lines which name none. Errors: INVALID_ARGUMENT with the first faults and
// their number.
absl::StatusOr<std::vector<Shape>> ParseShapes(
    const KernelSpec& spec, absl::string_view csv,
    const std::string& specialisation = "");

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_SHAPES_FILE_H_
