// CompileCost: how long profiling compiles: what an author asks before a space
// grows.
#ifndef WAVETUNE_CLI_COMMANDS_COMPILE_COST_H_
#define WAVETUNE_CLI_COMMANDS_COMPILE_COST_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/json.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

struct CompileCost {
  std::string backend;
  int64_t candidates = 0;  // Configurations, of each specialisation.
  double seconds = 0;      // Wall time on this machine.
  std::string basis;       // What that rests on.
};

// Configurations by specialisation, the empty name where there are none.
using ConfigurationCounts = std::map<std::string, int64_t>;

// Returns an estimate for each backend that compiles: what one candidate of our
// own kernels takes, times `candidates`, over this machine's cores. Cannot
// fail.
std::vector<CompileCost> EstimateCompileCosts(const KernelSpec& spec,
                                              int64_t candidates);

// Returns the cost of all candidates, by the report of `wavetune-agent compile
// --json` on some of them. It takes the first one's time of each
// specialisation, as the reference comes before it, and the others' mean for
// the rest. Errors: INVALID_ARGUMENT where the report has not two candidates of
// each, or one of a specialisation that is not in `configurations`.
absl::StatusOr<CompileCost> CostFromReport(
    const Json& report, const ConfigurationCounts& configurations);

// Compiles and checks some candidates in a scratch folder, so that nothing is
// compiled already, and extrapolates. Takes seconds. Errors: UNAVAILABLE where
// no device of this machine runs the kernel; NOT_FOUND without wavetune-agent;
// as CostFromReport.
absl::StatusOr<CompileCost> MeasureCompileCost(
    const std::string& folder, const ConfigurationCounts& configurations);

// Returns how many cores this machine has: 1 where the system does not say.
// Cannot fail.
inline int64_t CoresOfThisMachine() {
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_COMPILE_COST_H_
