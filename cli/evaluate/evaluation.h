// Evaluation: a table judged on recorded exhaustive measurements.
#ifndef WAVETUNE_CLI_EVALUATE_EVALUATION_H_
#define WAVETUNE_CLI_EVALUATE_EVALUATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/sample.h"
#include "wavetune/configuration.h"
#include "wavetune/decision.h"
#include "wavetune/problem.h"

namespace wavetune::cli {

// One problem, judged.
struct JudgedProblem {
  Problem problem;
  Decision decision;
  double chosen_us = 0;
  Configuration best;
  double best_us = 0;
  double default_us = 0;  // 0 where the default was not recorded.

  double Fraction() const { return best_us / chosen_us; }
};

// Figures over problems.
struct EvaluationFigures {
  std::string specialisation;  // Empty over all.
  int problems = 0;
  double fraction_geomean = 0;
  double fraction_p5 = 0;
  double fraction_min = 0;
  double default_fraction_geomean = 0;  // Among those with the default
                                        // recorded.
  double within_bound = 0;  // Share of chosen latencies inside their bounds.
  double bound_median = 0;  // Half-width, relative.
  int extrapolated = 0;     // Decisions beyond the measured range.
};

struct Evaluation {
  std::vector<JudgedProblem> problems;  // Worst first.
  EvaluationFigures overall;
  // One per specialisation, where there are several.
  std::vector<EvaluationFigures> by_specialisation;
};

// Judges `table` at every problem of `exhaustive`; the oracle is the least
// latency recorded there. Errors: FAILED_PRECONDITION listing the problems at
// which the chosen configuration was not recorded, because the comparison would
// leave out what may be the worst; INVALID_ARGUMENT for no samples.
absl::StatusOr<Evaluation> Evaluate(const CompiledTable& table,
                                    const std::vector<Sample>& exhaustive);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EVALUATE_EVALUATION_H_
