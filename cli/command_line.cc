#include "cli/command_line.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/standard_output.h"
#include "base/suggestion.h"
#include "cli/command_registry.h"
#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/json.h"

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
    "(--fail-stale),\n130 interrupted (Ctrl-C).\n"
    "Every command explains itself: wavetune bench --help";

// The parser with all commands.
class Parser {
 public:
  explicit Parser(CommandContext* context)
      : app_(kDescription, "wavetune"), registry_(&app_, context) {
    app_.footer(kFooter);
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "wavetune " WAVETUNE_VERSION);
    registry_.Add(
        &app_, "version", "Prints the version, as --version",
        {"wavetune version"},
        [](CommandContext& of) {
          if (of.json) {
            PrintJson(*of.out, Json{{"version", WAVETUNE_VERSION}});
          } else {
            *of.out << "wavetune " WAVETUNE_VERSION "\n";
          }
          return absl::OkStatus();
        },
        /*needs_daemon=*/false);
    AddUpCommands(registry_);
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
    // "help tables list" is "tables list --help".
    if (!arguments.empty() && arguments.front() == "help") {
      std::rotate(arguments.begin(), arguments.begin() + 1, arguments.end());
      arguments.back() = "--help";
    }
    std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants it.
    try {
      app_.parse(arguments);
    } catch (const CLI::ParseError& error) {
      const std::string unknown =
          error.get_exit_code() == 0 ? "" : UnknownWord();
      if (!unknown.empty())
        return End(absl::InvalidArgumentError(unknown), context);
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
    if (!status.message().empty())
      *context.err << "wavetune: " << Lines(status.message(), "  ") << "\n";
    if (!status.ok() && InterruptRequested()) return InterruptExitCode();
    return ExitCode(status);
  }

  const CommandRegistry& registry() const { return registry_; }

 private:
  // Says which word was not understood, and what it may have meant; empty where
  // all were. The parser itself says what is missing, too, first.
  std::string UnknownWord() const {
    const std::vector<std::string> words = app_.remaining(/*recurse=*/true);
    if (words.empty()) return "";
    const CLI::App* command = &app_;
    std::string name = app_.get_name();
    while (!command->get_subcommands().empty()) {
      command = command->get_subcommands().front();
      absl::StrAppend(&name, " ", command->get_name());
    }
    const std::string& word = words.front();
    std::vector<std::string> known;
    const bool is_option = absl::StartsWith(word, "-");
    if (is_option) {
      for (const CLI::Option* option : command->get_options()) {
        for (const std::string& one : option->get_lnames())
          known.push_back(absl::StrCat("--", one));
      }
    } else {
      for (const CLI::App* one :
           command->get_subcommands([](const CLI::App*) { return true; }))
        known.push_back(one->get_name());
    }
    return absl::StrCat(
        "unknown ",
        is_option       ? "option"
        : known.empty() ? "argument"
                        : "command",
        " \"", word, "\"", Suggestion(word.substr(0, word.find('=')), known),
        "\nwavetune help", name.substr(app_.get_name().size()), " says more");
  }

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
