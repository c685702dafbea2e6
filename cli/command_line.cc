#include "cli/command_line.h"

#include <algorithm>

#include "base/standard_output.h"
#include "cli/command_registry.h"
#include "cli/commands/commands.h"
#include "cli/exit_code.h"

#ifndef WAVETUNE_VERSION
#error "the build defines WAVETUNE_VERSION"
#endif

namespace wavetune::cli {
namespace {

constexpr char kDescription[] =
    "WaveTune: tuning decisions for GPU kernels. Talks to the daemon of this "
    "node.";
constexpr char kFooter[] =
    "Exit codes: 0 ok, 1 failed, 2 wrong usage or input, 3 the daemon cannot "
    "be reached,\nor there is no device to compile on, 4 a table is stale "
    "(--fail-stale).\n"
    "Every command explains itself: wavetune bench --help";

// The parser with all commands.
class Parser {
 public:
  explicit Parser(CommandContext* context)
      : app_(kDescription, "wavetune"), registry_(&app_, context) {
    app_.footer(kFooter);
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "wavetune " WAVETUNE_VERSION);
    AddStatusCommands(registry_);
    AddEventsCommand(registry_);
    AddFleetCommands(registry_);
    AddKernelsCommands(registry_);
    AddWorkloadCommands(registry_);
    AddReprofileCommand(registry_);
    AddJobsCommands(registry_);
    AddTablesCommands(registry_);
    AddStoreCommands(registry_);
    AddDoctorCommand(registry_);
    AddResolveCommand(registry_);
    AddExplainCommand(registry_);
    AddBenchCommand(registry_);
    AddEvaluateCommand(registry_);
    AddReportCommand(registry_);
    AddExportCommand(registry_);
  }

  // Returns an exit code; 0 also where only help was wanted (then there is no
  // action).
  int Parse(std::vector<std::string> arguments, CommandContext& context) {
    std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants it.
    try {
      app_.parse(arguments);
    } catch (const CLI::ParseError& error) {
      // CLI11 reports by exception; they end here.
      if (app_.exit(error, context.out->stream(), context.err->stream()) != 0)
        return kExitUsage;
      return End(absl::OkStatus(), context);  // Help, or the version.
    }
    return kExitOk;
  }

  // Returns the exit code for `status` and prints what went wrong, which may be
  // that the results could not be written.
  static int End(absl::Status status, CommandContext& context) {
    status.Update(FinishOutput(context.out->stream()));
    if (!status.ok())
      *context.err << "wavetune: " << Lines(status.message(), "  ") << "\n";
    return ExitCode(status);
  }

  const CommandRegistry& registry() const { return registry_; }

 private:
  CLI::App app_;
  CommandRegistry registry_;
};

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments,
                   CommandContext& context) {
  Parser parser(&context);
  const int parsed = parser.Parse(arguments, context);
  if (parsed != kExitOk || !parser.registry().chosen()) return parsed;
  return Parser::End(parser.registry().chosen()(context), context);
}

std::vector<std::string> CommandLineExamples() {
  CommandContext context;
  return Parser(&context).registry().examples();
}

int ParseCommandLine(const std::vector<std::string>& arguments,
                     CommandContext& context) {
  return Parser(&context).Parse(arguments, context);
}

}  // namespace wavetune::cli
