// Files that serving engines read: an expert layer's decisions, by the number
// of tokens that enter it. docs/engines.md describes them.
#ifndef WAVETUNE_CLI_EXPORT_ENGINE_FILES_H_
#define WAVETUNE_CLI_EXPORT_ENGINE_FILES_H_

#include "absl/status/status.h"
#include "cli/command_context.h"
#include "cli/export/export_options.h"

namespace wavetune::cli {

// Writes the files of each distinct expert layer below options.out, for the
// engine that options.format names, and says what was written. Errors: as
// ExportSource, EngineKernel, ExpertLayersOf, EngineDeviceName, WarnOfGaps and
// WriteExport; INVALID_ARGUMENT for options that are missing or do not go
// together. Nothing is written unless all can be decided.
absl::Status ExportEngineFiles(CommandContext& context,
                               const ExportOptions& options);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_ENGINE_FILES_H_
