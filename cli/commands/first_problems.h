// FirstProblems: what profiling a kernel would measure first, before there is
// any sample: `wavetune kernels check --plan`. The same planner as the
// daemon's.
#ifndef WAVETUNE_CLI_COMMANDS_FIRST_PROBLEMS_H_
#define WAVETUNE_CLI_COMMANDS_FIRST_PROBLEMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/output.h"
#include "model/kernel/specialisation_spaces.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

struct FirstProblem {
  std::string problem;
  int64_t candidates = 0;  // That are screened there.
};

struct FirstProblems {
  int64_t tiles_per_wave = 1;          // Assumed of every candidate.
  int64_t candidates = 0;              // In all specialisations.
  int64_t planned_for = 0;             // Some of these where there are many.
  int64_t samples = 0;                 // The whole profile's: an estimate.
  std::vector<FirstProblem> problems;  // Those with most candidates first.
};

// Plans the screening on a device with `tiles_per_wave` multiprocessors, each
// with one block: how many are resident is known only of compiled candidates.
// `spec` is valid, `spaces` are its own. Cannot fail. Cost: up to some seconds.
FirstProblems PlanFirstProblems(const KernelSpec& spec,
                                const std::vector<SpecialisationSpace>& spaces,
                                int64_t tiles_per_wave);

// Returns what to assume where nobody says: this machine's cores for a kernel
// that a CPU can run, else the 132 multiprocessors of an H100.
int64_t UsualTilesPerWave(const KernelSpec& spec);

Json ToJson(const FirstProblems& first);
void PrintFirstProblems(Output& out, const FirstProblems& first);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_FIRST_PROBLEMS_H_
