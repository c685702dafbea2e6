// Problems as a grid on the command line: "m=1,16,64 n=4096 k=4096" are three.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_EXPORT_DECISION_GRID_H_
#define WAVETUNE_CLI_EXPORT_DECISION_GRID_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/table/table.h"
#include "wavetune/problem.h"

namespace wavetune::cli {

inline constexpr size_t kMostGridProblems = 100000;

// Returns the indices of the table's sub-tables of a specialisation, or of all
// (empty). Errors: NOT_FOUND for one that the table lacks.
absl::StatusOr<std::vector<int>> SubTablesOf(const Table& table,
                                             absl::string_view specialisation);

// Returns every combination of the extents, the last dimension changing first,
// for one specialisation or all of the table's (`specialisation` empty). A
// repeated dimension's list is one value. Errors: INVALID_ARGUMENT with every
// fault; RESOURCE_EXHAUSTED above kMostGridProblems; NOT_FOUND for a
// specialisation that the table lacks.
absl::StatusOr<std::vector<Problem>> GridProblems(
    const Table& table, const std::vector<std::string>& arguments,
    absl::string_view specialisation);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_DECISION_GRID_H_
