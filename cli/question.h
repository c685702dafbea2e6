// What `resolve` and `explain` share: arguments, the tuner, the problem.
#ifndef WAVETUNE_CLI_QUESTION_H_
#define WAVETUNE_CLI_QUESTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command_context.h"
#include "cli/command_registry.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/problem_arguments.h"
#include "wavetune/tuner.h"

namespace wavetune::cli {

struct ProblemOptions {
  std::string kernel;
  std::vector<std::string> problem;
  std::string specialisation;
  std::string device;
  std::string fingerprint;
  std::string digest;
  bool fail_stale = false;
};

// Adds them to a command.
void AddProblemOptions(CLI::App* command, ProblemOptions& options);

// A tuner with its problem.
struct Question {
  Tuner tuner;
  ParsedProblem parsed;
  std::string no_table;  // Why it has none, where it has none.
};

// Gets the tuner through the client library and matches the arguments with its
// dimensions. Errors: as Client::GetTuner and SplitProblemArguments; faults of
// the problem are in the answer.
absl::StatusOr<Question> AskTuner(const CommandContext& context,
                                  const ProblemOptions& options);

// Returns an error that ends as kExitStale where the options ask for it and the
// tuner's table is stale; call it after the answer was printed.
absl::Status CheckStale(const ProblemOptions& options, const Tuner& tuner);

// Returns "from the daemon", "from the local cache: the daemon cannot be
// reached", ... Cannot fail.
std::string OriginText(TableOrigin origin);

// Returns a decision as JSON.
Json DecisionJson(const Question& question, const Decision& decision);

// Returns a decision on one line: configuration, prediction, source, table.
std::string DecisionText(const Question& question, const Decision& decision);

// Prints a decision, a line for each part.
void PrintDecision(Output& out, const Question& question,
                   const Decision& decision);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_QUESTION_H_
