#include "cli/command_line.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/standard_output.h"
#include "base/suggestion.h"
#include "cli/advice.h"
#include "cli/command_registry.h"
#include "cli/commands/commands.h"
#include "cli/completion.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
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
    "be\nreached, or there is no device to compile on, 4 a table is stale "
    "(--fail-stale),\n130 interrupted (Ctrl-C).\n"
    "Every command explains itself: wavetune bench --help";

// The parser with all commands.
class Parser {
 public:
  explicit Parser(CommandContext* context)
      : app_(kDescription, "wavetune"), registry_(&app_, context) {
    app_.formatter(std::make_shared<HelpFormatter>(context->width));
    app_.footer(kFooter);
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "wavetune " WAVETUNE_VERSION);
    registry_.Section("Start");
    AddDemoCommand(registry_);
    registry_.Section("Node");
    AddUpCommands(registry_);
    AddStatusCommands(registry_);
    AddDoctorCommand(registry_);
    AddEventsCommand(registry_);
    AddStoreCommands(registry_);
    registry_.Section("Kernels");
    AddKernelsCommands(registry_);
    AddWorkloadCommands(registry_);
    registry_.Section("Profile");
    AddReprofileCommand(registry_);
    AddJobsCommands(registry_);
    AddBenchCommand(registry_);
    AddEvaluateCommand(registry_);
    AddReportCommand(registry_);
    registry_.Section("Tables");
    AddTablesCommands(registry_);
    registry_.Section("Decide");
    AddResolveCommand(registry_);
    AddExplainCommand(registry_);
    AddExportCommand(registry_);
    registry_.Section("Fleet");
    AddFleetCommands(registry_);
    registry_.Section("This program");
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
    AddCompletionCommand(registry_);
  }

  // Returns an exit code; 0 also where only help was wanted (then there is no
  // action).
  int Parse(std::vector<std::string> arguments, CommandContext& context) {
    // "help tables list" is "tables list --help".
    while (!arguments.empty() && arguments.front() == "help") {
      std::rotate(arguments.begin(), arguments.begin() + 1, arguments.end());
      arguments.back() = "--help";
    }
    // How an error is said must be known before all is.
    context.json = std::find(arguments.begin(), arguments.end(), "--json") !=
                   arguments.end();
    std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants it.
    try {
      app_.parse(arguments);
    } catch (const CLI::ParseError& error) {  // They end here.
      // Help of what is no command would be that of another.
      if (error.get_exit_code() != 0 || !app_.remaining(true).empty())
        return End(WrongUsage(error), context);
      app_.exit(error, context.out->stream(), context.err->stream());
      return End(absl::OkStatus(), context);  // Help, or the version.
    }
    return kExitOk;
  }

  // Prints what the last of `words` may become, a word and what it means a
  // line; what cannot be found out is left out.
  void PrintCompletion(std::vector<std::string> words,
                       CommandContext& context) const {
    const Completion completion = Complete(app_, std::move(words));
    for (const Completion::Candidate& candidate : completion.candidates)
      *context.out << candidate.word << "\t" << candidate.meaning << "\n";
    if (!completion.kernel) return;
    const absl::StatusOr<std::shared_ptr<Daemon>> daemon = context.Connect();
    if (!daemon.ok()) return;
    const auto kernels =
        (*daemon)->Ask<v1::ListKernelsResponse>(v1::ListKernelsRequest());
    if (!kernels.ok()) return;
    for (const v1::KernelStatus& kernel : kernels->kernels()) {
      if (absl::StartsWith(kernel.spec().name(), completion.typed))
        *context.out << kernel.spec().name() << "\t"
                     << kernel.spec().description() << "\n";
    }
  }

  // Returns the exit code for `status` and prints what went wrong, which may be
  // that the results could not be written.
  static int End(absl::Status status, CommandContext& context) {
    status.Update(FinishOutput(context.out->stream()));
    const int code = !status.ok() && InterruptRequested() ? InterruptExitCode()
                                                          : ExitCode(status);
    if (status.message().empty()) return code;  // Or another program said it.
    if (context.json) {
      *context.err << Lines(JsonText(ErrorJson(status, code), -1));
    } else {
      const std::string advice = AdviceOf(status);
      *context.err << "wavetune: " << Lines(status.message(), "  ")
                   << (advice.empty() ? "" : "\n  ") << Lines(advice, "  ")
                   << "\n";
    }
    return code;
  }

  const CommandRegistry& registry() const { return registry_; }

 private:
  static Json ErrorJson(const absl::Status& status, int exit_code) {
    Json error = {{"code", absl::StatusCodeToString(status.code())},
                  {"message", std::string(status.message())}};
    if (const std::string advice = AdviceOf(status); !advice.empty())
      error["advice"] = advice;
    error["exit_code"] = exit_code;
    return {{"error", std::move(error)}};
  }

  // Says which word was not understood, and what it may have meant. The parser
  // itself says what is missing, too, first.
  absl::Status WrongUsage(const CLI::ParseError& error) const {
    const CLI::App* command = &app_;
    std::string name;
    while (!command->get_subcommands().empty()) {
      command = command->get_subcommands().front();
      absl::StrAppend(&name, " ", command->get_name());
    }
    const std::vector<std::string> words = app_.remaining(/*recurse=*/true);
    return WithAdvice(absl::InvalidArgumentError(
                          words.empty() ? std::string(error.what())
                                        : UnknownWord(*command, words.front())),
                      absl::StrCat("wavetune help", name, " says more"));
  }

  static std::string UnknownWord(const CLI::App& command,
                                 const std::string& word) {
    std::vector<std::string> known;
    const bool is_option = absl::StartsWith(word, "-");
    if (is_option) {
      for (const CLI::Option* option : command.get_options()) {
        for (const std::string& one : option->get_lnames())
          known.push_back(absl::StrCat("--", one));
      }
    } else {
      for (const CLI::App* one :
           command.get_subcommands([](const CLI::App*) { return true; }))
        known.push_back(one->get_name());
    }
    return absl::StrCat("unknown ",
                        is_option       ? "option"
                        : known.empty() ? "argument"
                                        : "command",
                        " \"", word, "\"",
                        Suggestion(word.substr(0, word.find('=')), known));
  }

  CLI::App app_;
  CommandRegistry registry_;
};

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments,
                   CommandContext& context) {
  Parser parser(&context);
  if (!arguments.empty() && arguments.front() == kCompleteWord) {
    parser.PrintCompletion({arguments.begin() + 1, arguments.end()}, context);
    return kExitOk;
  }
  const int parsed = parser.Parse(arguments, context);
  if (parsed != kExitOk || !parser.registry().chosen()) return parsed;
  Output* const err = context.err;
  std::ostream nowhere(nullptr);
  Output silent(&nowhere);
  if (context.quiet) context.err = &silent;
  const absl::Status status = parser.registry().chosen()(context);
  context.err = err;
  return Parser::End(status, context);
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
