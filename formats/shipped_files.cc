#include "formats/shipped_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/own_files.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "model/table/kernel_match.h"
#include "model/table/table_codec.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "tables";
constexpr char kEnding[] = ".table";

// Returns the files that should be tables, sorted. Errors: in `error`.
std::vector<std::string> TableFiles(const std::string& folder,
                                    std::error_code& error) {
  std::vector<std::string> files;
  for (fs::directory_iterator it(fs::path(folder) / kFolder, error), end;
       !error && it != end; it.increment(error)) {
    const fs::path name = it->path().filename();
    if (name.extension() == kEnding) {
      files.push_back(absl::StrCat(kFolder, "/", name.string()));
    }
  }
  // Most kernels ship none.
  if (error == std::errc::no_such_file_or_directory) error.clear();
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<ShippedTable> ReadTable(const KernelFolder& kernel,
                                       const std::string& file,
                                       InputKind kind) {
  ShippedTable shipped{.file = PrintableText(file)};
  ASSIGN_OR_RETURN(const std::string path,
                   kind == InputKind::kOwnFile
                       ? OwnPathWithin(kernel.path, file)
                       : PathWithin(kernel.path, file));
  ASSIGN_OR_RETURN(shipped.payload,
                   ReadInputFile(path, kMaxPayloadBytes, kind));
  absl::StatusOr<std::unique_ptr<const CompiledTable>> table =
      CompiledTable::Create(shipped.payload);
  if (!table.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is no table: ", table.status().message(),
                     ". wavetune tables export writes one"));
  }
  shipped.table = *std::move(table);
  if (shipped.table->table().kernel != kernel.spec.name) {
    return absl::InvalidArgumentError(
        absl::StrCat("is a table of kernel ", shipped.table->table().kernel));
  }
  RETURN_IF_ERROR(CheckChoices(kernel.spec, shipped.table->table()));
  return shipped;
}

}  // namespace

ShippedFiles ReadShippedTables(const KernelFolder& kernel, InputKind kind) {
  ShippedFiles found;
  std::error_code error;
  std::vector<std::string> files = TableFiles(kernel.path, error);
  const auto say = [&](const std::string& file, absl::string_view why) {
    found.problems.push_back(absl::StrCat(
        PrintableText(absl::StrCat(kernel.path, "/", file)), ": ", why));
  };
  if (error) say(kFolder, error.message());
  if (files.size() > kMaxShippedTables) {
    say(kFolder,
        absl::StrCat("more than ", kMaxShippedTables, " tables: those after ",
                     PrintableText(files[kMaxShippedTables - 1]),
                     " are left out"));
    files.resize(kMaxShippedTables);
  }
  for (const std::string& file : files) {
    absl::StatusOr<ShippedTable> table = ReadTable(kernel, file, kind);
    if (table.ok()) {
      found.tables.push_back(*std::move(table));
    } else {
      say(file, table.status().message());
    }
  }
  return found;
}

}  // namespace wavetune
