// Columns of problems and configurations in comma-separated values (traces,
// decisions): a dimension or a parameter each; the elements of a repeated
// dimension are separated by spaces.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_KERNEL_COLUMNS_H_
#define WAVETUNE_FORMATS_KERNEL_COLUMNS_H_

#include <vector>

#include "absl/status/status.h"
#include "base/csv_text.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Reads the values of all parameters, whose columns are in their order. Errors:
// INVALID_ARGUMENT naming line and column; a configuration outside of the
// space.
absl::Status ReadConfiguration(const CsvReader& csv, const KernelSpec& spec,
                               const std::vector<int>& columns,
                               Configuration& configuration);

// Write the names of the columns.
void AddDimensionNames(const KernelSpec& spec, CsvWriter& csv);
void AddParameterNames(const KernelSpec& spec, CsvWriter& csv);

// Writes a problem's extents. Configurations are
// `csv.AddAll(configuration.values())`.
void AddExtents(const KernelSpec& spec, const Problem& problem, CsvWriter& csv);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_KERNEL_COLUMNS_H_
