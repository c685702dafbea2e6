// FolderWriter: a folder of files that appears as a whole.
//
//   RETURN_IF_ERROR(CheckFolderTarget("out", /*replace=*/false));
//   ... minutes of work ...
//   RETURN_IF_ERROR(WriteFolder("out", files, "launch.json", false));
//
// Written beside its place and renamed, so that a reader sees all of it or
// nothing, and a failure leaves what was there.
//
// Thread safety: pure functions over the file system.
#ifndef WAVETUNE_PROFILER_AGENT_COMMANDS_FOLDER_WRITER_H_
#define WAVETUNE_PROFILER_AGENT_COMMANDS_FOLDER_WRITER_H_

#include <map>
#include <string>

#include "absl/status/status.h"

namespace wavetune {

// Returns OK where WriteFolder can put a folder at `path`: nothing is there, or
// with `replace` a folder that has the file `marker` (what else is there is
// somebody's work), and the folder around it exists. Errors: ALREADY_EXISTS;
// FAILED_PRECONDITION for what `replace` does not replace; NOT_FOUND.
absl::Status CheckFolderTarget(const std::string& path,
                               const std::string& marker, bool replace);

// Writes `files` (name to content) as folder `path`. Errors: as
// CheckFolderTarget; RESOURCE_EXHAUSTED on a full disk, PERMISSION_DENIED,
// INTERNAL; `path` is then as it was, and nothing is left beside it.
absl::Status WriteFolder(const std::string& path,
                         const std::map<std::string, std::string>& files,
                         const std::string& marker, bool replace);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_COMMANDS_FOLDER_WRITER_H_
