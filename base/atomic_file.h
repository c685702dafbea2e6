// Files and folders that appear as a whole: written beside their place and
// renamed, so that a reader sees the old one or the new one, never a part.
//
//   WriteFileAtomically("cache/1f.table", payload);
//
//   ASSIGN_OR_RETURN(auto file, StagedFile::Open("report.html"));
//   ... minutes of work ...
//   RETURN_IF_ERROR(file->Commit(text));
//
//   ASSIGN_OR_RETURN(auto folder, StagedFolder::Open("traces/gemm"));
//   RETURN_IF_ERROR(folder->Write("manifest.textproto", text));
//   RETURN_IF_ERROR(folder->Publish(/*replace=*/true));
//
// A failure leaves the earlier content and removes the new bytes. A crash
// leaves at most what stands beside the place under a hidden name
// (`.NAME.XXXXXXXX`), which may be deleted. Who may read is up to the umask.
//
// Errors of all: PERMISSION_DENIED, NOT_FOUND and FAILED_PRECONDITION (a path
// through a file) where nothing can be made beside the place;
// RESOURCE_EXHAUSTED on a full disk; else INTERNAL. They name the path, the
// reason and what to do.
//
// Thread safety: functions are thread-safe, objects are not.
#ifndef WAVETUNE_BASE_ATOMIC_FILE_H_
#define WAVETUNE_BASE_ATOMIC_FILE_H_

#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_descriptor.h"

namespace wavetune {

// Writes a file that can be made again, such as a cache's: it is not synced, so
// that a crash of the machine may leave an empty one. Takes the place of a link
// or a pipe instead of going through it. Only this user may write to it.
// Returns why it could not.
std::error_code WriteFileAtomically(const std::string& path,
                                    absl::string_view content);

// A file that somebody has named. It is on the disk before it appears.
class StagedFile {
 public:
  // Makes the file beside `path` (beside what a link leads to), so that nobody
  // works for a path that cannot be written. Errors: also INVALID_ARGUMENT for
  // an empty path or one to something other than a regular file.
  static absl::StatusOr<std::unique_ptr<StagedFile>> Open(
      const std::string& path);
  // Removes an uncommitted file.
  ~StagedFile();

  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  // Writes `content` and takes the place of the file at the path; at most once.
  absl::Status Commit(absl::string_view content);

 private:
  StagedFile(std::string path, std::string staging, int descriptor)
      : path_(std::move(path)),
        staging_(std::move(staging)),
        file_(descriptor) {}

  const std::string path_;
  std::string staging_;  // Empty: committed.
  FileDescriptor file_;
};

// A folder of files. All of it is on the disk before it appears.
class StagedFolder {
 public:
  // Makes the folder beside `path`.
  static absl::StatusOr<std::unique_ptr<StagedFolder>> Open(
      const std::string& path);
  // Removes an unpublished folder, and the one that a published one has
  // replaced.
  ~StagedFolder();

  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  // Where the folder is until it is published. Files may also be written there
  // by other means than Write.
  const std::string& path() const { return staging_; }

  // Writes a new file.
  absl::Status Write(const std::string& name, absl::string_view content);

  // Takes the place of nothing, of an empty folder, or with `replace` of any
  // folder, in one step where the file system can; at most once. Whether that
  // may be replaced is for the caller to judge. Errors: also ALREADY_EXISTS.
  absl::Status Publish(bool replace);

 private:
  StagedFolder(std::string path, std::string staging)
      : path_(std::move(path)), staging_(std::move(staging)) {}

  const std::string path_;
  const std::string staging_;
};

// Returns OK if a folder can be made at `path`, before work is done for it. A
// slash at its end does not count, a link that leads nowhere does. Errors:
// NOT_FOUND where there is no folder to make it in; ALREADY_EXISTS with what to
// do instead (`otherwise`: "name another").
absl::Status CheckNewFolder(const std::string& path,
                            absl::string_view otherwise);

// Writes `files` (name to content) as folder `path`. SIGINT, SIGTERM and SIGHUP
// wait meanwhile, as they would leave files. Errors: as StagedFolder's.
absl::Status WriteFolderAtomically(
    const std::string& path, const std::map<std::string, std::string>& files,
    bool replace);

// Returns the status of a call that failed with `error` (errno): "<what>
// <path>: <reason>; <what to do>".
absl::Status FileError(absl::string_view what, absl::string_view path,
                       int error);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_ATOMIC_FILE_H_
