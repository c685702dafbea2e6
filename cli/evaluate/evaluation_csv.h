// Fitted samples and decisions, as comma-separated values. Other selectors are
// fitted to the very same samples and judged at the very same problems
// (research/baselines). docs/traces.md has the columns.
//
//   specialisation,m,n,k,BLOCK_M,BLOCK_N,latency_us,...   (samples)
//   specialisation,m,n,k,BLOCK_M,BLOCK_N,source,...       (decisions)
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_EVALUATE_EVALUATION_CSV_H_
#define WAVETUNE_CLI_EVALUATE_EVALUATION_CSV_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/evaluate/evaluation.h"
#include "model/kernel/sample.h"
#include "model/table/table.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {
struct KernelSpec;
}

namespace wavetune::cli {

// Returns a line per sample, in the order given: specialisation (where the
// kernel has any), extents, configuration, latencies in microseconds. A line
// spells out its candidate, so that it means something without the trace.
// Cannot fail.
std::string SamplesCsv(const KernelSpec& spec,
                       const std::vector<Sample>& samples);

// Returns a line per judged problem, sorted by problem, so that two evaluations
// can be compared line by line. It has the problem as above, the chosen
// configuration, the answer's source, its prediction and error bound. Then come
// three recorded latencies: of the choice, the best and the default (empty
// where the default has none). Cannot fail.
std::string DecisionsCsv(const KernelSpec& spec, const Evaluation& evaluation);

// Decisions of any selector, as comma-separated values: a problem and a
// configuration on each line, as `wavetune evaluate --write-decisions` and
// research/baselines write them (docs/report.md).
//
//   m,n,k,BLOCK_M,BLOCK_N,source,...
//   1,4096,4096,64,32,FITTED,...
struct DecisionLine {
  int64_t line = 0;  // In the text, from 1.
  Problem problem;
  Configuration configuration;
};

// Returns the decisions in the order of the text. The first line names the
// columns, case ignored: every dimension and parameter of `table`, and
// `specialisation` where it has any; others are ignored. A repeated dimension's
// cell holds its elements separated by spaces; empty lines are skipped.
//
// Errors: INVALID_ARGUMENT with line and column: a missing column or cell, a
// cell that is no whole number, an unknown specialisation, a problem that is
// decided twice; no decision at all. Whether a configuration exists, and where
// it may run, is not checked.
absl::StatusOr<std::vector<DecisionLine>> ParseDecisions(const Table& table,
                                                         absl::string_view csv);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EVALUATE_EVALUATION_CSV_H_
