// Choices judged against the best of what was measured, and against baselines.
//
// `evaluate` refuses a recording in which a choice is missing; a store holds
// what happened to be measured, so here such problems are left out and counted.
//
// Thread safety: pure function.
#ifndef WAVETUNE_CLIENT_CLI_REPORT_JUDGED_PROBLEMS_H_
#define WAVETUNE_CLIENT_CLI_REPORT_JUDGED_PROBLEMS_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/report/report_input.h"
#include "model/decision.h"
#include "model/problem.h"
#include "model/table.h"

namespace wavetune::cli {

struct JudgedChoice {
  Problem problem;
  Decision decision;
  double chosen_us = 0;
  Configuration best;
  double best_us = 0;
  double default_us = 0;  // 0: not measured here.
  double single_us = 0;   // Of the best single configuration; 0: there is none.
  int measured = 0;       // Candidates.
};

// best latency / latency over the problems that have it.
struct BaselineFigures {
  std::string name;
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
  std::vector<BaselineFigures> figures;  // Chosen, best single, default.
  // Problems left out: fewer than half of their legal candidates measured, or
  // the choice not among them.
  int too_few = 0;
  int choice_missing = 0;
};

// Judges the decisions of one sub-table at the problems of input.judged, none
// of which may have been fitted (such are left out silently). Cannot fail.
JudgedProblems JudgeProblems(const ReportInput& input, const SubTable& sub);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLIENT_CLI_REPORT_JUDGED_PROBLEMS_H_
