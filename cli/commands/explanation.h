// Why a row won, in a sentence.
#ifndef WAVETUNE_CLI_COMMANDS_EXPLANATION_H_
#define WAVETUNE_CLI_COMMANDS_EXPLANATION_H_

#include <string>
#include <vector>

#include "model/decide/compiled_table.h"
#include "wavetune/decision.h"
#include "wavetune/tuner.h"

namespace wavetune::cli {

// Returns why the decision is what it is. `rows` as Tuner::Explain gives them.
// Cannot fail.
std::string WhyItWon(const Tuner& tuner, const Decision& decision,
                     const std::vector<ExplainedGroup>& rows);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_EXPLANATION_H_
