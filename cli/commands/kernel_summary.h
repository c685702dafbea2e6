// What `kernels check` says of a valid kernel.
#ifndef WAVETUNE_CLI_COMMANDS_KERNEL_SUMMARY_H_
#define WAVETUNE_CLI_COMMANDS_KERNEL_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/compile_cost.h"
#include "cli/json.h"
#include "cli/output.h"
#include "model/kernel/constraint_counts.h"
#include "model/kernel/mapping.h"
#include "model/kernel/specialisation_spaces.h"
#include "wavetune/coordinates.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

// The space of some specialisations: they have one each where constraints name
// their constants.
struct SpaceSummary {
  std::vector<std::string> specialisations;  // One empty name where none.
  int64_t configurations = 0;
  int64_t macro_configurations = 0;
  std::vector<std::string> constraint_texts;
  ConstraintCounts constraints;      // In the same order.
  std::vector<std::string> remarks;  // On constraints that are odd.
};

// How full tiles are at the manifest's problems, where the mapping counts them
// as whole. A fit of a kernel that skips absent elements chooses badly there.
struct PoorTileFill {
  std::string what;    // "how full tiles are along columns".
  double mean = 1;     // Mean of the representative problems, by weight.
  std::string advice;  // What to do where part tiles take less.
};

struct KernelSummary {
  std::string name;
  std::vector<std::string> dimensions;
  std::vector<std::string> specialisations;  // One empty name where none.
  std::vector<std::string> backends;
  std::vector<std::string> macro_parameters;
  std::vector<std::string> micro_parameters;
  std::vector<SpaceSummary> spaces;
  int64_t configurations = 0;  // Distinct ones of all spaces.
  // What profiling costs: candidates are compiled all, and measured sparsely.
  int64_t candidates = 0;
  int64_t samples = 0;  // At most.
  std::vector<CompileCost> compiling;
  std::vector<PoorTileFill> tile_fills;
  std::vector<std::string> round_extents;  // Remarks: extents that are never
                                           // timed.
  std::string default_configuration;
  std::string sample_problem;
  Coordinates sample_coordinates;  // The default's at the sample problem.
  // Where results are checked: by the manifest, and at the edges of the
  // default's tiles. Every candidate is checked at those of its own.
  std::vector<std::string> declared_problems;
  std::vector<std::string> edge_problems;
};

// `spec` is valid, `spaces` are its own. The sample problem is the first
// representative one, else extents of 1024 as far as ranges allow. Cannot fail.
KernelSummary Summarise(const KernelSpec& spec,
                        const std::vector<SpecialisationSpace>& spaces);

Json ToJson(const KernelSummary& summary);
void PrintSummary(Output& out, const std::string& path,
                  const KernelSummary& summary);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_KERNEL_SUMMARY_H_
