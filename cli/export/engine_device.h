// The device whose name an engine's file has, and whether a table is of it.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_EXPORT_ENGINE_DEVICE_H_
#define WAVETUNE_CLI_EXPORT_ENGINE_DEVICE_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/export/export_options.h"
#include "cli/export/export_source.h"

namespace wavetune::cli {

// Returns --device-name, or the label of the device that was profiled. Errors:
// INVALID_ARGUMENT where there is neither; FAILED_PRECONDITION for a table of
// another device, by label or, where it has none, by memory (unless
// --other-device).
absl::StatusOr<std::string> EngineDeviceName(const ExportOptions& options,
                                             const ExportedTable& table);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_ENGINE_DEVICE_H_
