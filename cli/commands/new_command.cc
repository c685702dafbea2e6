// wavetune kernels new.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/atomic_file.h"
#include "base/status_macros.h"
#include "cli/commands/commands.h"
#include "cli/commands/kernel_template.h"
#include "cli/json.h"

namespace wavetune::cli {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string name;
  std::string like;
  std::string backend = "opencl";
  std::string from;
  std::string python = "python3";
  std::string folder = ".";
};

absl::Status RunNew(CommandContext& context, const NewOptions& options) {
  if (options.like.empty() == options.from.empty()) {
    return absl::InvalidArgumentError(
        "say what to begin with: --like TEMPLATE, or --from MODULE:FUNCTION");
  }
  std::string remarks;
  ASSIGN_OR_RETURN(
      const auto files,
      options.from.empty()
          ? KernelFromTemplate(options.name, options.like, options.backend)
          : KernelFromTriton(options.name, options.from, options.python,
                             &remarks));
  if (!remarks.empty()) *context.err << Lines(remarks) << "\n";
  const std::string path =
      (fs::path(options.folder) / options.name).lexically_normal().string();
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the folder ", options.folder, " cannot be made: ", error.message()));
  }
  // Nothing that is there is touched, not even an empty folder.
  RETURN_IF_ERROR(CheckNewFolder(path, "give another name or --dir"));
  RETURN_IF_ERROR(WriteFolderAtomically(path, files, /*replace=*/false));
  std::vector<std::string> names;
  for (const auto& [name, content] : files) names.push_back(name);
  if (context.json) {
    PrintJson(*context.out, Json{{"path", path}, {"files", names}});
  } else {
    *context.out << "wrote " << path << ": " << absl::StrJoin(names, ", ")
                 << "\nnext: wavetune kernels check " << path << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddKernelsNewCommand(CommandRegistry& registry, CLI::App* kernels) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* command = registry.Add(
      kernels, "new",
      "Writes the folder of a new kernel: manifest, source, reference, "
      "problems "
      "to judge it on and a README. It profiles as it is with --like; with "
      "--from, of a Triton function, the manifest names what is to be filled "
      "in.",
      {"wavetune kernels new softmax --like row",
       "wavetune kernels new my_gemm --like gemm --backend cuda --dir kernels",
       "wavetune kernels new my_gemm --from my_module:matmul_kernel"},
      [options](CommandContext& context) { return RunNew(context, *options); },
      /*needs_daemon=*/false);
  command
      ->add_option("NAME", options->name,
                   "Name of kernel and folder: lower-case letters, digits and "
                   "underscores")
      ->required();
  command->add_option("--like", options->like,
                      absl::StrCat("What it resembles: ",
                                   absl::StrJoin(TemplateNames(), ", ")));
  command
      ->add_option("--backend", options->backend,
                   absl::StrCat("With --like: what it is written for: ",
                                absl::StrJoin(TemplateBackends(""), ", "),
                                " (opencl: for devices that are CPUs)"))
      ->capture_default_str();
  command->add_option(
      "--from", options->from,
      "A Triton function, as MODULE:FUNCTION or FILE.py:FUNCTION: its "
      "arguments, and the parameters of its @triton.autotune");
  command
      ->add_option("--python", options->python,
                   "Python interpreter with Triton, which imports it")
      ->envname("WAVETUNE_PYTHON")
      ->capture_default_str();
  command
      ->add_option("--dir", options->folder,
                   "Folder to write it into; made where there is none")
      ->capture_default_str();
}

}  // namespace wavetune::cli
