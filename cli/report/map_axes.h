// The axes of a configuration map (configuration_map.h).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_REPORT_MAP_AXES_H_
#define WAVETUNE_CLI_REPORT_MAP_AXES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/report/configuration_map.h"
#include "wavetune/dimension.h"
#include "wavetune/problem.h"

namespace wavetune::cli {

// Returns the dimensions of the axes, y -1 where the kernel has one only.
// Errors: as ConfigurationMaps.
absl::StatusOr<std::pair<int, int>> ChooseAxes(
    const std::vector<Dimension>& dimensions,
    const std::vector<Problem>& typical, const MapOptions& options);

// Returns an axis over the typical extents of a dimension with at most `most`
// extents; `dimension` -1 gives the single extent 1. `typical` is not empty.
MapAxis MakeAxis(const std::vector<Dimension>& dimensions,
                 const std::vector<Problem>& typical, int dimension, int most);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_MAP_AXES_H_
