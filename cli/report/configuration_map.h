// The configuration map: what a table chooses over two dimensions, the others
// fixed.
//
//   ASSIGN_OR_RETURN(auto maps, ConfigurationMaps(table, 0, typical,
//                                                 {.x = "m", .y = "n"}));
//
// Thread safety: pure function.
#ifndef WAVETUNE_CLI_REPORT_CONFIGURATION_MAP_H_
#define WAVETUNE_CLI_REPORT_CONFIGURATION_MAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/decide/compiled_table.h"
#include "wavetune/problem.h"

namespace wavetune::cli {

// Which maps are wanted. Empty: chosen from the typical problems.
struct MapOptions {
  std::string x;
  std::string y;
  std::map<std::string, std::string> fixed;  // Dimension to extent, as typed.
};

// One answer of the map.
struct MapCell {
  int candidate = -1;  // Portfolio index; -1: the default, as nothing fits.
  double latency_us = 0;
  bool extrapolated = false;
};

struct MapAxis {
  std::string dimension;         // Empty: the kernel has no second one.
  bool repeated = false;         // Every element has the extent.
  std::vector<int64_t> extents;  // Ascending, about evenly spaced in logarithm.
};

struct ConfigurationMap {
  MapAxis x;
  MapAxis y;
  Problem fixed;               // The others; the slots of x and y are 1.
  std::vector<MapCell> cells;  // [y][x]
};

// Maps at most: one for each combination of the other dimensions.
inline constexpr size_t kMaxMaps = 6;

// Returns the maps of one sub-table, for the combinations of the other
// dimensions that are most frequent among `typical`, ascending.
//
// Without x and y the two dimensions that span the largest factors are taken.
// Axes span the typical extents. Their values are multiples of the power of two
// (at most 64) that nine in ten of those are multiples of, since rare
// alignments are another map. A repeated dimension that is an axis has as many
// equal elements as the typical problem has.
//
// Errors: INVALID_ARGUMENT for a name that is no dimension, the same twice, an
// extent that is none; FAILED_PRECONDITION without typical problems where
// extents are missing. Cost: about 2,000 decisions a map.
absl::StatusOr<std::vector<ConfigurationMap>> ConfigurationMaps(
    const CompiledTable& table, int sub_table,
    const std::vector<Problem>& typical, const MapOptions& options);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_CONFIGURATION_MAP_H_
