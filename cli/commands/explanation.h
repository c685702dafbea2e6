// Why a row won, in a sentence.
#ifndef WAVETUNE_CLI_COMMANDS_EXPLANATION_H_
#define WAVETUNE_CLI_COMMANDS_EXPLANATION_H_

#include <string>
#include <vector>

#include "model/decide/compiled_table.h"
#include "wavetune/decision.h"
#include "wavetune/tuner.h"

namespace wavetune::cli {

// Returns the predicates that `configuration` breaks at `problem`, for example
// "k % VECTOR == 0"; empty where it breaks none. Cannot fail.
std::string BrokenPredicates(const Table& table, const ProblemView& problem,
                             const Configuration& configuration);

// Returns why the decision is what it is. `rows` as Tuner::Explain gives them.
// Cannot fail.
std::string WhyItWon(const Tuner& tuner, const Decision& decision,
                     const std::vector<ExplainedGroup>& rows);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_EXPLANATION_H_
