// Exports a table's portfolio: its cubins and how to launch them, without a
// daemon or a GPU (`wavetune kernels export`).
#ifndef WAVETUNE_PROFILER_AGENT_COMMANDS_EXPORT_COMMAND_H_
#define WAVETUNE_PROFILER_AGENT_COMMANDS_EXPORT_COMMAND_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace wavetune {

struct ExportCommandOptions {
  std::string kernel_dir;
  std::string table_path;  // A table's payload.
  std::string out_dir;
  std::string architecture;    // "sm_90a"; empty: the table's, in its own form.
  std::string specialisation;  // Empty: all that the table has.
  std::string cache_dir;       // For compiled programs.
  std::string python = "python3";  // As BackendOptions has it.
  int threads = 1;                 // That compile.
  bool force = false;              // Replaces an export at `out_dir`.
  // Exports although the sources or the compiler are others than those that
  // the table was measured with.
  bool ignore_fingerprint = false;
  bool json = false;
};

// Compiles every configuration that a decision from the table can answer, the
// default included, as the CUDA worker does, and writes `out_dir`: a cubin each
// and launch.json (docs/export.md). Prints the files. Writes all or nothing.
// Errors: INVALID_ARGUMENT for a kernel, table or option that is wrong.
// FAILED_PRECONDITION where they do not fit together. UNAVAILABLE where this
// build has no CUDA, NVRTC is missing or does not know the architecture. As
// WriteFolder.
absl::Status RunExportCommand(const ExportCommandOptions& options,
                              std::ostream& out);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_COMMANDS_EXPORT_COMMAND_H_
