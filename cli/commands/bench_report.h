// What a measuring job found, and its summary.
#ifndef WAVETUNE_CLI_COMMANDS_BENCH_REPORT_H_
#define WAVETUNE_CLI_COMMANDS_BENCH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/output.h"
#include "cli/shapes_file.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "wavetune/configuration.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

// A vendor library at one shape.
struct VendorBaselineLatency {
  std::string library;
  double latency_us = 0;  // 0: failed.
  double relative_spread = 0;
  bool throttled = false;
  std::string failure;
};

// One shape with its measurements. A latency is 0 where nothing was
// measured.
struct BenchLine {
  Shape shape;
  Configuration chosen;
  v1::DecisionSource source = v1::DECISION_SOURCE_UNSPECIFIED;
  double predicted_us = 0;
  double relative_bound = 0;
  double chosen_us = 0;
  double default_us = 0;
  Configuration best;
  double best_us = 0;
  int candidates = 0;  // Measured at this shape.
  int remeasured = 0;  // Samples of these, again and interleaved.
  // Candidates that could not be measured here, and the first with its reason.
  int missing = 0;
  std::string first_missing;
  // As MeasuredProblem::held_out_fraction.
  double held_out_fraction = 0;
  std::vector<VendorBaselineLatency> vendor_baselines;
  // Lowest clock of the multiprocessors under the latencies above, in MHz; 0 if
  // unknown.
  int32_t sm_clock_mhz = 0;
  bool throttled = false;  // The device was, under any of them.

  // Best latency / chosen latency; 0 without either.
  double FractionOfBest() const;
  // Default latency / chosen latency; 0 without either.
  double SpeedUp() const;
};

// A vendor library over all lines where it ran: its latency / ours.
struct VendorBaselineSummary {
  std::string library;
  int lines = 0;
  int failed = 0;
  std::string failure;        // The first.
  double chosen_geomean = 0;  // Against what the table chose.
  double chosen_p10 = 0;
  double best_geomean = 0;  // Against the exhaustive best.
  double best_p10 = 0;
  double best_min = 0;
};

// Figures over all lines that have them; 0 where none has.
struct BenchSummary {
  int lines = 0;
  int compared_with_best = 0;
  int compared_with_default = 0;
  int predicted = 0;
  double fraction_geomean = 0;
  double fraction_p5 = 0;
  double fraction_min = 0;
  // The same, the best judged in rounds that did not pick it.
  int held_out = 0;
  double held_out_geomean = 0;
  double held_out_p5 = 0;
  double held_out_min = 0;
  // Compared with the default: shapes where the choice is more than 3 %
  // slower.
  int slower_than_default = 0;
  double speed_up_geomean = 0;
  double speed_up_min = 0;
  double default_fraction_geomean = 0;  // Best latency / default latency.
  double within_bound = 0;  // Share of chosen latencies inside their bounds.
  std::vector<VendorBaselineSummary> vendor_baselines;
  int throttled = 0;  // Lines measured on a throttled device.
  // Pairs of candidate and shape that could not be measured, the lines that
  // they are of, and the first.
  int missing = 0;
  int missing_lines = 0;
  std::string first_missing;
};

// Errors: INVALID_ARGUMENT where the result does not fit the kernel.
absl::StatusOr<BenchLine> ToBenchLine(const KernelSpec& spec,
                                      const std::vector<Shape>& shapes,
                                      const v1::MeasuredProblem& result);

BenchSummary Summarise(const std::vector<BenchLine>& lines);

// One sentence.
std::string SummaryLine(const BenchSummary& summary);

// What to do about a table that is slower than the default, as a whole or at
// most of the problems; empty where it is not.
std::string AdviceOnDefault(const BenchSummary& summary);

// One sentence a library.
std::string VendorBaselineLine(const VendorBaselineSummary& summary);

void PrintBench(Output& out, const KernelSpec& spec,
                const std::vector<BenchLine>& lines);
Json BenchJson(const KernelSpec& spec, const std::vector<BenchLine>& lines);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_BENCH_REPORT_H_
