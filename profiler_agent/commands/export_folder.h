// The folder of an export: what it may replace.
//
//   RETURN_IF_ERROR(CheckExportFolder("out", /*replace=*/false));
//   ... minutes of compiling ...
//   RETURN_IF_ERROR(WriteExportFolder("out", files, /*replace=*/false));
//
// Thread safety: pure functions over the file system.
#ifndef WAVETUNE_PROFILER_AGENT_COMMANDS_EXPORT_FOLDER_H_
#define WAVETUNE_PROFILER_AGENT_COMMANDS_EXPORT_FOLDER_H_

#include <map>
#include <string>

#include "absl/status/status.h"

namespace wavetune {

// Returns OK where WriteExportFolder can put a folder at `path` and the folder
// around it exists. The place is empty, or with `replace` holds an export,
// which has a launch.json (another folder is somebody's work). Errors:
// ALREADY_EXISTS; FAILED_PRECONDITION for what `replace` does not replace;
// NOT_FOUND.
absl::Status CheckExportFolder(const std::string& path, bool replace);

// Writes `files` (name to content) as folder `path`, all of it or nothing.
// Errors: as CheckExportFolder and WriteFolderAtomically.
absl::Status WriteExportFolder(const std::string& path,
                               const std::map<std::string, std::string>& files,
                               bool replace);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_COMMANDS_EXPORT_FOLDER_H_
