// Exports that are for no engine in particular: a list for @triton.autotune,
// and decisions as JSON.
#ifndef WAVETUNE_CLI_EXPORT_PLAIN_EXPORTS_H_
#define WAVETUNE_CLI_EXPORT_PLAIN_EXPORTS_H_

#include "absl/status/status.h"
#include "cli/command_context.h"
#include "cli/export/export_options.h"

namespace wavetune::cli {

// Both write to options.out, or print. Errors: as ExportSource and WriteExport;
// NOT_FOUND for a specialisation that the table lacks.

// Writes what a table can choose. Errors: also as TritonConfigsText.
absl::Status ExportTritonConfigs(CommandContext& context,
                                 const ExportOptions& options);

// Writes decisions for the problems that are named, or for expert layers at the
// token counts of an engine's file. Errors: also INVALID_ARGUMENT where neither
// is named, or both; as GridProblems; as ExpertProducts, ExpertLayersOf and
// WarnOfGaps.
absl::Status ExportJson(CommandContext& context, const ExportOptions& options);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_PLAIN_EXPORTS_H_
