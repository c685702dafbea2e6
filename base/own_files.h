// Whose files are: what others can write decides nothing here.
//
// Kernels run with the rights of daemon and agent, compiled programs with the
// agent's, and cached tables choose what a serving process launches. So such
// files are read only where nobody but root and this process's user can change
// them: they own file and folder, and neither group nor everybody may write.
//
//   RETURN_IF_ERROR(CheckOwnFolder(dir, StickyFolder::kRefused));
//   ASSIGN_OR_RETURN(auto text, ReadInputFile(path, most,
//   InputKind::kOwnFile));
//
// Needs neither protobuf nor gRPC. Thread safety: pure functions.
#ifndef WAVETUNE_BASE_OWN_FILES_H_
#define WAVETUNE_BASE_OWN_FILES_H_

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace wavetune {

// Whether a folder in which everybody may make files, but nobody may replace
// those of others (/tmp), will do.
enum class StickyFolder { kRefused, kAllowed };

// Returns OK where only root and this process's user may change what `info` is
// of. Errors: PERMISSION_DENIED with the path, and the chown or chmod that
// helps.
absl::Status CheckOwn(const std::string& path, const struct stat& info,
                      StickyFolder sticky = StickyFolder::kRefused);

// The same for a folder that somebody has named: a link to one is his choice.
// Errors: also NOT_FOUND where none is there, and INVALID_ARGUMENT for a path
// that is no folder.
absl::Status CheckOwnFolder(const std::string& path, StickyFolder sticky);

// The same for a folder that was found in another, in which everybody may be
// able to make links. Where it is one, only root or this process's user may
// have made it.
absl::Status CheckFoundFolder(const std::string& path);

// Makes a folder, and those above it; the last of them is for this user alone.
// One that is there has to be an own one. Errors: UNAVAILABLE where it cannot
// be made; as CheckOwnFolder.
absl::Status MakeOwnFolder(const std::string& path);

// Returns the path of the file `name` in `folder`, without links. Errors:
// NOT_FOUND; PERMISSION_DENIED for a link that leads out of the folder.
absl::StatusOr<std::string> PathWithin(const std::string& folder,
                                       const std::string& name);

// The same, and judges every folder from `folder` down to the file, those that
// links lead through included, and every link. Errors: as PathWithin and
// CheckFoundFolder.
absl::StatusOr<std::string> OwnPathWithin(const std::string& folder,
                                          const std::string& name);

// Judges the way to a file that somebody has named, from / on: each folder and
// each link on it, and the file. Who may write a folder may put another file in
// its place; sticky folders will do. Errors: NOT_FOUND; as CheckOwn.
absl::Status CheckOwnWay(const std::string& path);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_OWN_FILES_H_
