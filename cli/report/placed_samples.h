// Samples with their place on the wave structure, and with the row of the table
// that answers for them.
//
// Thread safety: pure functions; a PlacedSample points into the input.
#ifndef WAVETUNE_CLI_REPORT_PLACED_SAMPLES_H_
#define WAVETUNE_CLI_REPORT_PLACED_SAMPLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/report/report_input.h"
#include "model/kernel/mapping.h"
#include "model/table/table.h"

namespace wavetune::cli {

// What a sample was measured for.
enum class SampleUse {
  kAnchor,          // Fitted; placed along the wave structure.
  kRepresentative,  // Fitted; at a problem that clients ask for.
  kHeldOut,         // Never fitted.
  kJudged,          // Never fitted; at a problem meant for judging.
};

struct PlacedSample {
  const Sample* sample = nullptr;
  SampleUse use = SampleUse::kAnchor;
  int candidate = 0;   // Index into SampleGrid::candidates.
  int group = -1;      // The sub-table's; -1: not in the portfolio.
  Coordinates at;      // Under the sample's configuration.
  int row_regime = 0;  // The sub-table's.
  // measured / predicted - 1, where the table predicts this very configuration
  // at this problem.
  std::optional<double> residual;

  bool fitted() const {
    return use == SampleUse::kAnchor || use == SampleUse::kRepresentative;
  }
};

// The samples of one specialisation.
struct SampleGrid {
  std::vector<Candidate> candidates;  // The portfolio, in its order, first.
  std::vector<PlacedSample> samples;
  int dropped = 0;  // Other kernel versions', or unknown candidates'.
};

// Returns the samples of `sub`'s specialisation: all fitted ones; of the others
// those of the portfolio, which are what the table predicts. Cannot fail.
// Cost: one explanation (CompiledTable::Explain) for each sample of the
// portfolio.
SampleGrid PlaceSamples(const ReportInput& input, const SubTable& sub);

// Returns the group that can choose a portfolio member; -1 where none can.
// Cannot fail.
int GroupOf(const SubTable& sub, int candidate);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_PLACED_SAMPLES_H_
