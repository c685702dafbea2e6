// Decisions of any selector, as comma-separated values: a problem and a
// configuration on each line, as `wavetune evaluate --write-decisions` and
// research/baselines write them (docs/report.md).
//
//   m,n,k,BLOCK_M,BLOCK_N,source,...
//   1,4096,4096,64,32,FITTED,...
//
// Thread safety: pure function.
#ifndef WAVETUNE_CLI_EVALUATE_DECISIONS_CSV_H_
#define WAVETUNE_CLI_EVALUATE_DECISIONS_CSV_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/table/table.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune::cli {

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

#endif  // WAVETUNE_CLI_EVALUATE_DECISIONS_CSV_H_
