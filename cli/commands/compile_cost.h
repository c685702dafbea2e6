// CompileCost: how long profiling compiles: what an author asks before a space
// grows.
#ifndef WAVETUNE_CLI_COMMANDS_COMPILE_COST_H_
#define WAVETUNE_CLI_COMMANDS_COMPILE_COST_H_

#include <cstdint>
#include <string>
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
  double seconds = 0;      // Of wall time, on this machine.
  std::string basis;       // What that rests on.
};

// Returns an estimate for each backend that compiles: what one candidate of our
// own kernels takes, times the candidates, over this machine's cores. Cannot
// fail.
std::vector<CompileCost> EstimateCompileCosts(const KernelSpec& spec);

// Returns what follows for all candidates from the report of `wavetune-agent
// compile --json` on some of them: of each specialisation the first one's time,
// as the reference comes before it, and the others' mean for the rest. Errors:
// INVALID_ARGUMENT where the report has not two candidates of each.
absl::StatusOr<CompileCost> CostFromReport(const Json& report,
                                           int64_t configurations);

// Compiles and checks some candidates in a scratch folder, so that nothing is
// compiled already, and extrapolates. Takes seconds. Errors: UNAVAILABLE where
// no device of this machine runs the kernel; NOT_FOUND without wavetune-agent;
// as CostFromReport.
absl::StatusOr<CompileCost> MeasureCompileCost(const std::string& folder,
                                               int64_t configurations);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_COMPILE_COST_H_
