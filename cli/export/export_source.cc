#include "cli/export/export_source.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/lookup.h"
#include "formats/kernel_folder.h"
#include "model/table/kernel_match.h"
#include "model/table/table_codec.h"

namespace wavetune::cli {
namespace {

bool IsFolder(const std::string& kernel) {
  std::error_code error;
  return std::filesystem::is_directory(kernel, error) ||
         kernel.find('/') != std::string::npos;
}

absl::StatusOr<ExportedTable> ReadTable(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string payload,
                   ReadTextFile(path, kMaxPayloadBytes));
  absl::StatusOr<std::unique_ptr<const CompiledTable>> compiled =
      CompiledTable::Create(payload);
  if (!compiled.ok()) {
    return absl::Status(
        compiled.status().code(),
        absl::StrCat(path, " is no table: ", compiled.status().message()));
  }
  return ExportedTable{.compiled = *std::move(compiled)};
}

}  // namespace

absl::StatusOr<ExportSource> ExportSource::Open(const CommandContext& context,
                                                const ExportOptions& options) {
  ExportSource source(context, options);
  if (IsFolder(options.kernel)) {
    ASSIGN_OR_RETURN(KernelFolder folder, LoadKernelFolder(options.kernel));
    source.kernel_ = folder.spec.name;
    source.spec_ = std::move(folder.spec);
  }
  return source;
}

absl::StatusOr<KernelSpec> ExportSource::Spec() const {
  if (spec_.has_value()) return *spec_;
  ASSIGN_OR_RETURN(DaemonConnection daemon, context_.Connect());
  absl::StatusOr<KnownKernel> known = FindKernel(*daemon.status, kernel_);
  if (known.ok()) return std::move(known->spec);
  return absl::Status(
      known.status().code(),
      absl::StrCat(known.status().message(),
                   ". Without a daemon give the kernel's folder: its manifest "
                   "says which engines launch it"));
}

absl::StatusOr<ExportedTable> ExportSource::Fetch() const {
  ASSIGN_OR_RETURN(DaemonConnection daemon, context_.Connect());
  absl::StatusOr<v1::GetTableResponse> found =
      FindTable(*daemon.tables,
                {.table = options_.digest.empty() ? kernel_ : options_.digest,
                 .device = options_.device,
                 .fingerprint = options_.fingerprint});
  if (absl::IsNotFound(found.status())) {
    return absl::NotFoundError(
        absl::StrCat("there is no table to export (", found.status().message(),
                     "); `wavetune reprofile --kernel ", kernel_,
                     " --wait` makes one, --table reads one from a file"));
  }
  RETURN_IF_ERROR(found.status());
  const v1::TableInfo& info = found->info();
  if (!info.withdrawn().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the table was withdrawn: ", info.withdrawn(),
                     "; profile the kernel again"));
  }
  if (info.stale()) WarnOfStale(info.stale_reason());
  ASSIGN_OR_RETURN(auto compiled, CompiledTable::Create(found->payload()));
  return ExportedTable{
      .compiled = std::move(compiled),
      .source = {.device = info.device_label(), .stale = info.stale()},
      .compiler = info.compiler()};
}

void ExportSource::WarnOfStale(const std::string& reason) const {
  *context_.err << "wavetune: the table is stale ("
                << (reason.empty() ? "the daemon does not say why" : reason)
                << "); its decisions are exported as they are\n";
}

absl::StatusOr<ExportedTable> ExportSource::Table() const {
  absl::StatusOr<ExportedTable> table =
      options_.table.empty() ? Fetch() : ReadTable(options_.table);
  if (table.ok() && table->table().kernel != kernel_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the table is of kernel \"", table->table().kernel,
                     "\", not of \"", kernel_, "\""));
  }
  if (table.ok() && spec_.has_value())
    RETURN_IF_ERROR(CheckChoices(*spec_, table->table()));
  return table;
}

}  // namespace wavetune::cli
