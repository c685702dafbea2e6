// wavetune export: the Python package's module of that name, which has the
// options, and the layers, routing and rules of engines that their plugins
// have.
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/commands/commands.h"
#include "cli/exit_code.h"

namespace wavetune::cli {
namespace {

// One process: whether the package is there shows when it is imported.
constexpr char kRunModule[] = R"(import sys
try:
    from wavetune.export import main
except ImportError as error:
    sys.exit(f"wavetune: {sys.executable} has no package wavetune with exports "
             f"({error}): install it there (python3 -m pip install ./client/python, "
             "or a wheel: docs/python.md), or name an interpreter that has it "
             "with --python or WAVETUNE_PYTHON")
sys.exit(main(sys.argv[1:]))
)";

constexpr char kPythonHelp[] = R"(
of the program:
  --python PYTHON       Python interpreter with the package wavetune; default:
                        WAVETUNE_PYTHON, else python3
)";

absl::Status RunExport(const CommandContext& context, const std::string& python,
                       const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {python, "-c", kRunModule};
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (context.json) command.emplace_back("--json");
  if (!context.endpoint.empty())
    command.insert(command.end(), {"--endpoint", context.endpoint});
  absl::StatusOr<std::unique_ptr<ChildProcess>> child =
      ChildProcess::Start(command, {});
  if (!child.ok()) {
    return absl::Status(
        child.status().code(),
        absl::StrCat(child.status().message(),
                     ". Exports are the Python package's: name an interpreter "
                     "that has it with --python or WAVETUNE_PYTHON"));
  }
  ASSIGN_OR_RETURN(const int code, (*child)->Wait());
  // It has said what is wrong.
  switch (code) {
    case kExitOk:
      return absl::OkStatus();
    case kExitUsage:
      return absl::InvalidArgumentError("");
    case kExitUnreachable:
      return absl::UnavailableError("");
    default:
      return absl::UnknownError("");
  }
}

}  // namespace

void AddExportCommand(CommandRegistry& registry) {
  auto python = std::make_shared<std::string>("python3");
  auto command = std::make_shared<CLI::App*>();
  *command = registry.Add(
      registry.root(), "export",
      "Writes decisions as files that serving engines read (vllm-moe, "
      "sglang-moe), as a list for @triton.autotune, or as JSON "
      "(docs/engines.md). Other options than these are the Python package's.",
      {"wavetune export triton_fused_moe --format vllm-moe "
       "--config config.json --tp 2 --out moe"},
      [python, command](CommandContext& context) {
        const std::vector<std::string> arguments = (*command)->remaining();
        const absl::Status status = RunExport(context, *python, arguments);
        if (!absl::c_linear_search(arguments, "--help")) return status;
        // The module's has all options but this one.
        if (status.ok()) {
          *context.out << kPythonHelp;
        } else {
          *context.out << Lines((*command)->help());
        }
        return absl::OkStatus();
      });
  (*command)->set_help_flag();  // The module has one, too.
  (*command)->allow_extras();
  (*command)
      ->add_option("--python", *python,
                   "Python interpreter with the package wavetune")
      ->envname("WAVETUNE_PYTHON");
}

}  // namespace wavetune::cli
