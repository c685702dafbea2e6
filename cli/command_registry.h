// CommandRegistry: the commands and what they run.
//
//   CLI::App* show = registry.Add(
//       jobs, "show", "Shows one job.", "wavetune jobs show 12",
//       [options](CommandContext& context) { return Show(context, *options);
//       });
//   show->add_option("ID", options->id, "The job")->required();
//
// Parsing only chooses an action, so that a help text's examples can be parsed
// by a test without running them.
#ifndef WAVETUNE_CLI_COMMAND_REGISTRY_H_
#define WAVETUNE_CLI_COMMAND_REGISTRY_H_

#include <functional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/status/status.h"
#include "cli/command_context.h"

namespace wavetune::cli {

class CommandRegistry {
 public:
  using Action = std::function<absl::Status(CommandContext&)>;

  // `root` and `context` must outlive the registry.
  CommandRegistry(CLI::App* root, CommandContext* context);

  CLI::App* root() { return root_; }

  // The heading, in the help of the root, of the commands that are added to it
  // from now on.
  void Section(const std::string& heading) { section_ = heading; }

  // Adds a command that holds others.
  CLI::App* AddGroup(const std::string& name, const std::string& description);

  // Adds a command. `examples`: complete command lines. It gets --json and
  // --quiet, and --endpoint where it talks to a daemon.
  CLI::App* Add(CLI::App* parent, const std::string& name,
                const std::string& description,
                const std::vector<std::string>& examples, Action action,
                bool needs_daemon = true);

  // What the parsed command line asks for; empty before.
  const Action& chosen() const { return chosen_; }
  // All examples of all commands.
  const std::vector<std::string>& examples() const { return examples_; }

 private:
  // --json and --quiet, before the command or after it.
  void AddOutputOptions(CLI::App* command);

  CLI::App* root_;
  CommandContext* context_;
  std::string section_;
  Action chosen_;
  std::vector<std::string> examples_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMAND_REGISTRY_H_
