// The command line, from arguments to exit code.
#ifndef WAVETUNE_CLI_COMMAND_LINE_H_
#define WAVETUNE_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "cli/command_context.h"

namespace wavetune::cli {

// Runs one command line (without the program's name) and returns its exit code
// (exit_code.h). Prints results to context.out, progress and errors to
// context.err.
int RunCommandLine(const std::vector<std::string>& arguments,
                   CommandContext& context);

// Returns the examples of all help texts, complete command lines.
std::vector<std::string> CommandLineExamples();

// Returns 0 where the arguments parse, without running anything, else the exit
// code; what the parser says goes to context.err.
int ParseCommandLine(const std::vector<std::string>& arguments,
                     CommandContext& context);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMAND_LINE_H_
