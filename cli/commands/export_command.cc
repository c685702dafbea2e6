// wavetune kernels export.
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/process_signals.h"
#include "base/status_macros.h"
#include "cli/child_process.h"
#include "cli/commands/commands.h"
#include "cli/lookup.h"
#include "formats/kernel_folder.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

namespace fs = std::filesystem;

struct ExportCommandOptions {
  std::string kernel;
  std::string out;
  std::string architecture;
  std::string table;
  std::string digest;
  std::string device;
  std::string fingerprint;
  std::string specialisation;
  bool force = false;
  bool ignore_fingerprint = false;
};

// A file of ours until its owner goes.
class TemporaryFile {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryFile>> Create(
      absl::string_view content) {
    std::error_code error;
    fs::path folder = fs::temp_directory_path(error);
    if (error) folder = ".";
    std::string path = (folder / "wavetune-table.XXXXXX").string();
    const int file = mkstemp(path.data());
    if (file < 0) return Fault(path);
    auto result = std::unique_ptr<TemporaryFile>(new TemporaryFile(path));
    // One call: a payload is small, and only a full disk cuts it.
    const ssize_t written = ::write(file, content.data(), content.size());
    const bool closed = ::close(file) == 0;
    if (written != static_cast<ssize_t>(content.size()) || !closed)
      return Fault(path);
    return result;
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}

  static absl::Status Fault(const std::string& path) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot write ", path, ": ", std::strerror(errno),
                     "; give TMPDIR a folder with space"));
  }

  std::string path_;
};

// Returns the serving table's payload in a file.
absl::StatusOr<std::unique_ptr<TemporaryFile>> FetchTable(
    const CommandContext& context, const ExportCommandOptions& options,
    const std::string& folder) {
  TableQuestion question{.table = options.digest,
                         .device = options.device,
                         .fingerprint = options.fingerprint};
  if (question.table.empty()) {
    ASSIGN_OR_RETURN(const KernelFolder kernel, LoadKernelFolder(folder));
    question.table = kernel.spec.name;
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Daemon> daemon, context.Connect());
  absl::StatusOr<v1::GetTableResponse> table = FindTable(*daemon, question);
  if (absl::IsNotFound(table.status())) {
    return absl::NotFoundError(absl::StrCat(
        "there is no table to export the portfolio of (",
        table.status().message(), "); `wavetune reprofile --kernel ",
        question.table, " --wait` makes one, --table reads one from a file"));
  }
  RETURN_IF_ERROR(table.status());
  return TemporaryFile::Create(table->payload());
}

std::vector<std::string> AgentArguments(const CommandContext& context,
                                        const ExportCommandOptions& options,
                                        const std::string& folder,
                                        const std::string& table) {
  std::vector<std::string> arguments = {FindProgram("wavetune-agent"),
                                        kEndWithStdin,
                                        "export",
                                        "--kernel-dir",
                                        folder,
                                        "--table",
                                        table,
                                        "--out",
                                        options.out};
  if (!options.architecture.empty())
    arguments.insert(arguments.end(), {"--arch", options.architecture});
  if (!options.specialisation.empty())
    arguments.insert(arguments.end(),
                     {"--specialisation", options.specialisation});
  if (options.force) arguments.emplace_back("--force");
  if (options.ignore_fingerprint)
    arguments.emplace_back("--ignore-fingerprint");
  if (context.json) arguments.emplace_back("--json");
  return arguments;
}

// The agent compiles: backends are its business.
absl::Status RunKernelsExport(CommandContext& context,
                              const ExportCommandOptions& options) {
  ASSIGN_OR_RETURN(const std::string folder,
                   FindKernelFolder(context, options.kernel));
  std::string table = options.table;
  std::unique_ptr<TemporaryFile> fetched;
  if (table.empty()) {
    ASSIGN_OR_RETURN(fetched, FetchTable(context, options, folder));
    table = fetched->path();
  }
  context.out->Flush();
  ASSIGN_OR_RETURN(
      std::unique_ptr<ChildProcess> child,
      ChildProcess::Start(AgentArguments(context, options, folder, table),
                          {.ends_with_us = true}));
  ASSIGN_OR_RETURN(int code, child->Wait());
  if (code == 0) return absl::OkStatus();
  if (code == 2)
    return absl::InvalidArgumentError(
        "nothing was exported: wavetune-agent refused the kernel, the table or "
        "the arguments");
  if (code == 3)
    return absl::UnavailableError(
        "nothing was exported: wavetune-agent has no compiler for this; its "
        "message above says why");
  return absl::AbortedError(absl::StrCat(
      "nothing was exported: wavetune-agent ended with exit code ", code));
}

}  // namespace

void AddKernelsExportCommand(CommandRegistry& registry, CLI::App* kernels) {
  auto options = std::make_shared<ExportCommandOptions>();
  CLI::App* exporting = registry.Add(
      kernels, "export",
      "Writes the machine code of every configuration that the serving table "
      "can choose, and how to launch them (docs/export.md). Needs NVRTC, and "
      "no GPU.",
      {"wavetune kernels export gemm_bf16 --out gemm_bf16.export",
       "wavetune kernels export kernels/gemm_bf16 --table gemm.table --arch "
       "sm_90a --out out --force"},
      [options](CommandContext& context) {
        return RunKernelsExport(context, *options);
      });
  exporting
      ->add_option("KERNEL", options->kernel,
                   "Kernel folder, or the name of one that the daemon has")
      ->required();
  exporting
      ->add_option("--out", options->out,
                   "Folder to write; appears as a whole or not at all")
      ->required();
  exporting->add_option("--arch", options->architecture,
                        "GPU architecture like sm_90a; default: the table's");
  CLI::Option* table = exporting->add_option(
      "--table", options->table,
      "File with a table's payload; default: the table that serves");
  exporting
      ->add_option("--digest", options->digest,
                   "Digest (or the first digits of a serving one's) of the "
                   "table")
      ->excludes(table);
  exporting
      ->add_option("--device", options->device,
                   "Device UUID, where several classes have tables")
      ->excludes(table);
  exporting
      ->add_option("--fingerprint", options->fingerprint,
                   "Fingerprint or prefix, where several versions serve")
      ->excludes(table);
  exporting->add_option("--specialisation", options->specialisation,
                        "Only this one; default: all that the table has");
  exporting->add_flag("--force", options->force,
                      "Replace an export that is there");
  exporting->add_flag("--ignore-fingerprint", options->ignore_fingerprint,
                      "Export although sources or compiler are not those that "
                      "the table was measured with");
}

}  // namespace wavetune::cli
