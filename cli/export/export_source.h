// ExportSource: the kernel and the table that `wavetune export` reads, each
// from a file or from the daemon.
//
//   ASSIGN_OR_RETURN(const ExportSource source,
//                    ExportSource::Open(context, options));
//   ASSIGN_OR_RETURN(const ExportedTable table, source.Table());
//
// Thread safety: immutable, but `context` is written to.
#ifndef WAVETUNE_CLI_EXPORT_EXPORT_SOURCE_H_
#define WAVETUNE_CLI_EXPORT_EXPORT_SOURCE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/command_context.h"
#include "cli/export/export_options.h"
#include "cli/export/exported_text.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {

// A table, and what its daemon says of it.
struct ExportedTable {
  std::unique_ptr<const CompiledTable> compiled;
  TableSource source;
  std::string compiler;  // "Triton 3.6.0, ..."; empty: nobody says.

  const wavetune::Table& table() const { return compiled->table(); }
};

class ExportSource {
 public:
  // Reads the kernel's folder, where the kernel is one. `context` and `options`
  // outlive the source. Errors: as LoadKernelFolder.
  static absl::StatusOr<ExportSource> Open(const CommandContext& context,
                                           const ExportOptions& options);

  // Returns the manifest: a table does not say which layers its kernel
  // computes, and which engines launch it. Errors: as FindKernel, and that the
  // folder would do.
  absl::StatusOr<KernelSpec> Spec() const;

  // Returns the table, and warns of a stale one. Errors: as ReadTextFile and
  // FindTable; INVALID_ARGUMENT for bytes that are no table, for a table of
  // another kernel, and as CheckChoices where the kernel's folder is given;
  // FAILED_PRECONDITION for one that was withdrawn.
  absl::StatusOr<ExportedTable> Table() const;

 private:
  ExportSource(const CommandContext& context, const ExportOptions& options)
      : context_(context), options_(options), kernel_(options.kernel) {}

  absl::StatusOr<ExportedTable> Fetch() const;
  void WarnOfStale(const std::string& reason) const;

  const CommandContext& context_;
  const ExportOptions& options_;
  std::string kernel_;              // The name.
  std::optional<KernelSpec> spec_;  // Of a folder.
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_EXPORT_SOURCE_H_
