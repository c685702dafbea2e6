// A table fitted from a recorded kernel, with neither daemon nor device.
//
//   ASSIGN_OR_RETURN(const TraceFolder trace, LoadTraceFolder(path));
//   ASSIGN_OR_RETURN(const TraceFit fit,
//                    FitTrace(trace, {.from = TraceSamples::kPlanned}));
//   fit.table->Resolve(...);
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_EVALUATE_TRACE_FIT_H_
#define WAVETUNE_CLI_EVALUATE_TRACE_FIT_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/progress.h"
#include "fit/build/fit_table.h"
#include "fit/profile.h"
#include "formats/trace_folder.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/sample.h"

namespace wavetune::cli {

// Which of the recorded samples are fitted. The exhaustive ones never are.
enum class TraceSamples {
  kAnchors,
  kAnchorsAndRepresentative,
  // What profiling would measure of those, planned step by step: it is looked
  // up instead of measured.
  kPlanned,
};

struct TraceFitOptions {
  TraceSamples from = TraceSamples::kPlanned;
  ProfileOptions profile;
  Progress* progress = nullptr;  // For kPlanned; nullptr: it is not shown.
};

struct TraceFit {
  std::shared_ptr<const CompiledTable> table;  // Never nullptr.
  FitReport report;  // With a note on planned samples that were not recorded.
  std::vector<Sample> samples;  // That the table was fitted from.
  size_t candidates = 0;        // Usable ones.

  double SamplesPerCandidate() const;
};

// Returns the samples of `trace` that a fit may use; kPlanned chooses among
// them. Cannot fail.
std::vector<Sample> FittableSamples(const TraceFolder& trace,
                                    TraceSamples from);

// Fits a table. Errors: NOT_FOUND where the trace has no anchors; CANCELLED
// after an interrupt; as FitTable, with the note. Cost: a second or two for
// 25,000 samples; with kPlanned up to about a second for each step of the
// planner.
absl::StatusOr<TraceFit> FitTrace(const TraceFolder& trace,
                                  const TraceFitOptions& options);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EVALUATE_TRACE_FIT_H_
