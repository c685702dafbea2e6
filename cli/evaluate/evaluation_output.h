// What `wavetune evaluate` prints.
//
// Thread safety: pure functions of what they print.
#ifndef WAVETUNE_CLI_EVALUATE_EVALUATION_OUTPUT_H_
#define WAVETUNE_CLI_EVALUATE_EVALUATION_OUTPUT_H_

#include "cli/evaluate/evaluation.h"
#include "cli/evaluate/trace_fit.h"
#include "cli/output.h"

namespace wavetune::cli {

// Prints figures, notes and the worst problems, for people.
void PrintEvaluation(Output& out, const TraceFit& fit,
                     const Evaluation& evaluation);

// Prints the same for programs (docs/traces.md).
void PrintEvaluationJson(Output& out, const TraceFit& fit,
                         const Evaluation& evaluation);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EVALUATE_EVALUATION_OUTPUT_H_
