// Files that `wavetune export` writes: whole, and never over another one by
// mistake.
#ifndef WAVETUNE_CLI_EXPORT_WRITE_EXPORT_H_
#define WAVETUNE_CLI_EXPORT_WRITE_EXPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune::cli {

// Writes a file, and makes the folder that it is in. Errors: ALREADY_EXISTS
// where it is there, unless `replace`; as StagedFile.
absl::Status WriteExport(const std::string& path, absl::string_view text,
                         bool replace);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_WRITE_EXPORT_H_
