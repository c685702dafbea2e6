#include "cli/command_registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace wavetune::cli {
namespace {

constexpr char kEndpointHelp[] =
    "Reader socket of the daemon, unix:/path/reader.sock, or host:port with "
    "WAVETUNE_TLS_CERT, WAVETUNE_TLS_KEY and WAVETUNE_TLS_CA; default: "
    "WAVETUNE_ENDPOINT, else the default socket";

}  // namespace

CommandRegistry::CommandRegistry(CLI::App* root, CommandContext* context)
    : root_(root), context_(context) {
  AddOutputOptions(root_);
  root_->add_option("--endpoint", context_->endpoint, kEndpointHelp);
}

void CommandRegistry::AddOutputOptions(CLI::App* command) {
  command->add_flag("--json", context_->json,
                    "Print the result, or what is wrong, as JSON");
  command->add_flag("-q,--quiet", context_->quiet,
                    "Print results and errors alone: no progress, no remarks");
}

CLI::App* CommandRegistry::AddGroup(const std::string& name,
                                    const std::string& description) {
  CLI::App* group = root_->add_subcommand(name, description)->group(section_);
  group->require_subcommand(1);
  return group;
}

CLI::App* CommandRegistry::Add(CLI::App* parent, const std::string& name,
                               const std::string& description,
                               const std::vector<std::string>& examples,
                               Action action, bool needs_daemon) {
  CLI::App* command = parent->add_subcommand(name, description);
  command->group(parent == root_ ? section_ : "Commands");
  AddOutputOptions(command);
  if (needs_daemon)
    command->add_option("--endpoint", context_->endpoint, kEndpointHelp);
  command->footer(
      absl::StrCat(examples.size() == 1 ? "Example:\n  " : "Examples:\n  ",
                   absl::StrJoin(examples, "\n  ")));
  command->callback([this, action = std::move(action)] { chosen_ = action; });
  examples_.insert(examples_.end(), examples.begin(), examples.end());
  return command;
}

}  // namespace wavetune::cli
