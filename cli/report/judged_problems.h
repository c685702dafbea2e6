// Choices judged against the best measured one, and against baselines.
//
// `evaluate` refuses a recording in which a choice is missing; a store holds
// what happened to be measured, so here such problems are left out and counted.
//
// Thread safety: pure function.
#ifndef WAVETUNE_CLI_REPORT_JUDGED_PROBLEMS_H_
#define WAVETUNE_CLI_REPORT_JUDGED_PROBLEMS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/report/report_input.h"
#include "model/table/table.h"
#include "wavetune/decision.h"
#include "wavetune/problem.h"

namespace wavetune::cli {

struct JudgedChoice {
  Problem problem;
  Decision decision;
  double chosen_us = 0;
  Configuration best;
  double best_us = 0;
  int measured = 0;  // Candidates.
};

// One way to choose, with best latency / latency over the problems where what
// it chooses was measured.
struct JudgedMethod {
  enum class Kind { kTable, kBestSingle, kDefault, kBaseline };

  Kind kind = Kind::kBaseline;
  std::string name;  // For people.
  // As JudgedProblems::choices, microseconds; 0: not measured there.
  std::vector<double> latencies_us;
  int problems = 0;
  double geomean = 0;
  double p5 = 0;
  double worst = 0;
};

struct JudgedProblems {
  std::vector<JudgedChoice> choices;  // Worst first.
  // The one with the best geometric mean over all problems, of those that were
  // measured at each; chosen with hindsight, as no single one can be beaten.
  std::optional<Configuration> best_single;
  // Those with any problem: the table, the best single configuration, the
  // default, the baselines given. Best geometric mean first.
  std::vector<JudgedMethod> methods;
  // Problems left out: fewer than half of their legal candidates measured, or
  // the choice not among them.
  int too_few = 0;
  int choice_missing = 0;
  // Those of input.known: measured, but fitted or representative.
  int known = 0;
};

// Judges the decisions of one sub-table, and the baselines, at the problems of
// input.judged, of which KeepApart has taken what the table knows. Errors: as
// BaselineLatencies (baselines.h); without baselines it cannot fail.
absl::StatusOr<JudgedProblems> JudgeProblems(const ReportInput& input,
                                             const SubTable& sub);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_JUDGED_PROBLEMS_H_
