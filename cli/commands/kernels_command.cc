// wavetune kernels list|compile; new, check and export have files of
// their own.
#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/option_checks.h"
#include "base/process_signals.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/commands/commands.h"
#include "cli/commands/job_text.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/lookup.h"
#include "cli/text_table.h"

namespace wavetune::cli {
namespace {

struct KernelsOptions {
  std::string kernel;
  std::string device;
  std::string architecture;
  int sample = 8;
  bool all = false;
  bool guard_pages = false;
};

// "2", or "2, 1 stale".
std::string TablesText(const v1::KernelStatus& kernel) {
  const auto stale =
      std::count_if(kernel.tables().begin(), kernel.tables().end(),
                    [](const v1::TableInfo& info) { return info.stale(); });
  return stale == 0 ? absl::StrCat(kernel.tables_size())
                    : absl::StrCat(kernel.tables_size(), ", ", stale, " stale");
}

// What makes each stale table differ from what is there now.
void PrintStaleTables(Output& out, const v1::ListKernelsResponse& kernels) {
  for (const v1::KernelStatus& kernel : kernels.kernels()) {
    for (const v1::TableInfo& info : kernel.tables()) {
      if (!info.stale()) continue;
      out << "table of " << kernel.spec().name() << " on "
          << info.device_label() << ": " << StaleText(info) << "\n";
    }
  }
}

absl::Status RunKernelsList(CommandContext& context) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  ASSIGN_OR_RETURN(
      v1::ListKernelsResponse kernels,
      daemon->Ask<v1::ListKernelsResponse>(v1::ListKernelsRequest()));
  if (context.json) {
    PrintJson(*context.out, ToJson(kernels));
    return absl::OkStatus();
  }
  TextTable table({"KERNEL", "CONFIGURATIONS", "TABLES", "STATE", "PATH"});
  for (const v1::KernelStatus& kernel : kernels.kernels()) {
    const std::string& problem = kernel.problem();
    table.AddRow(
        {kernel.spec().name(), absl::StrCat(kernel.configurations()),
         TablesText(kernel),
         problem.empty()
             ? "valid"
             : absl::StrCat("refused: ", problem.substr(0, problem.find('\n'))),
         kernel.path()});
  }
  if (kernels.kernels_size() > 0 || kernels.problems().empty())
    table.Print(*context.out, "no kernels: see wavetuned --kernels-dir");
  for (const std::string& problem : kernels.problems())
    *context.out << problem << "\n";
  PrintStaleTables(*context.out, kernels);
  PrintKernelFaults(*context.out, kernels);
  return absl::OkStatus();
}

// The agent compiles: backends are its business.
absl::Status RunCompile(CommandContext& context,
                        const KernelsOptions& options) {
  ASSIGN_OR_RETURN(std::string folder,
                   FindKernelFolder(context, options.kernel));
  std::vector<std::string> arguments = {FindProgram("wavetune-agent"),
                                        kEndWithStdin, "compile",
                                        "--kernel-dir", folder};
  if (!options.device.empty())
    arguments.insert(arguments.end(), {"--device", options.device});
  if (!options.architecture.empty())
    arguments.insert(arguments.end(), {"--arch", options.architecture});
  if (options.all) {
    arguments.push_back("--all");
  } else {
    arguments.insert(arguments.end(),
                     {"--sample", absl::StrCat(options.sample)});
  }
  if (options.guard_pages) arguments.push_back("--guard-pages");
  if (context.json) arguments.push_back("--json");
  context.out->Flush();
  ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> child,
                   ChildProcess::Start(arguments, {.ends_with_us = true}));
  ASSIGN_OR_RETURN(int code, child->Wait());
  if (code == 0) return absl::OkStatus();
  if (code == 2)
    return absl::InvalidArgumentError(
        "wavetune-agent refused the kernel or the arguments");
  if (code == 3)
    return absl::UnavailableError(
        "wavetune-agent found no usable device, or compiler, for the kernel; "
        "its messages above say why");
  return absl::AbortedError(
      absl::StrCat("not every candidate compiled and was correct: "
                   "wavetune-agent ended with exit code ",
                   code));
}

}  // namespace

void AddKernelsCommands(CommandRegistry& registry) {
  auto options = std::make_shared<KernelsOptions>();
  CLI::App* kernels =
      registry.AddGroup("kernels", "Lists, checks and compiles kernels.");
  registry.Add(kernels, "list", "Lists the kernels that the daemon found.",
               {"wavetune kernels list"}, RunKernelsList);
  AddKernelsNewCommand(registry, kernels);
  AddKernelsCheckCommand(registry, kernels);
  CLI::App* compile = registry.Add(
      kernels, "compile",
      "Compiles candidates on a device of this machine and compares their "
      "results with the reference; or only compiles them for a GPU that is "
      "not there.",
      {"wavetune kernels compile kernels/gemm_f32 --sample 16",
       "wavetune kernels compile gemm_f32 --device GPU-1 --all",
       "wavetune kernels compile kernels/gemm_f32 --guard-pages --all",
       "wavetune kernels compile kernels/gemm_bf16 --arch sm_90a --all"},
      [options](CommandContext& context) {
        return RunCompile(context, *options);
      });
  compile
      ->add_option("KERNEL", options->kernel,
                   "Kernel folder, or the name of one that the daemon has")
      ->required();
  CLI::Option* device = compile->add_option(
      "--device", options->device, "Device UUID; default: the machine's first");
  CLI::Option* guard_pages = compile->add_flag(
      "--guard-pages", options->guard_pages,
      "Check on this machine's CPU (OpenCL kernels), with arguments that end, "
      "and in a second pass begin, at a page that nobody may touch: a stray "
      "access crashes its candidate");
  compile
      ->add_option("--arch", options->architecture,
                   "Only compile, for a GPU architecture like sm_90a; CUDA "
                   "kernels, needs no GPU")
      ->excludes(device)
      ->excludes(guard_pages);
  CLI::Option* sample =
      compile
          ->add_option("--sample", options->sample,
                       "Candidates to compile, spread over the space")
          ->check(NumberIn(1, 1e6))
          ->capture_default_str();
  compile->add_flag("--all", options->all, "Compile every candidate")
      ->excludes(sample);
  AddKernelsExportCommand(registry, kernels);
}

}  // namespace wavetune::cli
