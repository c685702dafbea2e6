// wavetune completion.
#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "cli/commands/commands.h"
#include "cli/completion_files.h"
#include "cli/json.h"

namespace wavetune::cli {

void AddCompletionCommand(CommandRegistry& registry) {
  const std::map<std::string, absl::string_view> scripts = {
      {"bash", completion_files::kBash},
      {"fish", completion_files::kFish},
      {"zsh", completion_files::kZsh}};
  auto shell = std::make_shared<std::string>();
  CLI::App* command = registry.Add(
      registry.root(), "completion",
      "Prints what lets a shell complete commands, options and names of "
      "kernels. In bash and zsh: source <(wavetune completion bash), in fish: "
      "wavetune completion fish | source. Packages install it.",
      {"wavetune completion bash", "wavetune completion zsh"},
      [shell, scripts](CommandContext& context) {
        const std::string script(scripts.at(*shell));
        if (context.json) {
          PrintJson(*context.out, Json{{"script", script}});
        } else {
          context.out->stream() << script;
        }
        return absl::OkStatus();
      },
      /*needs_daemon=*/false);
  command->add_option("SHELL", *shell, "bash, fish or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "fish", "zsh"}));
}

}  // namespace wavetune::cli
