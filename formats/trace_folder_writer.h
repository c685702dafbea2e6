// TraceFolderWriter: puts a trace into place as a whole.
//
//   ASSIGN_OR_RETURN(auto writer, TraceFolderWriter::Open(dir, replace));
//   ... minutes of measuring ...
//   RETURN_IF_ERROR(writer->Commit(trace));
//
// Everything is written into a folder beside `dir` that takes its place at the
// end (base/atomic_file.h). A README.md is kept.
//
// Thread safety: none.
#ifndef WAVETUNE_FORMATS_TRACE_FOLDER_WRITER_H_
#define WAVETUNE_FORMATS_TRACE_FOLDER_WRITER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/atomic_file.h"
#include "formats/trace_folder.h"

namespace wavetune {

class TraceFolderWriter {
 public:
  // Checks that a trace can be written to `dir` and makes the folder beside it,
  // so that nobody measures for minutes first. Errors: INVALID_ARGUMENT for a
  // file in its place or a folder with other files. ALREADY_EXISTS for a trace
  // unless `replace`. PERMISSION_DENIED, NOT_FOUND or FAILED_PRECONDITION where
  // the folder around it cannot be written to.
  static absl::StatusOr<std::unique_ptr<TraceFolderWriter>> Open(
      const std::string& dir, bool replace);
  // Writes `trace`; at most once. Errors: INTERNAL or RESOURCE_EXHAUSTED (full
  // disk) naming the file; `dir` is then as it was.
  absl::Status Commit(const TraceFolder& trace);

 private:
  TraceFolderWriter(std::string dir, bool replace,
                    std::unique_ptr<StagedFolder> staged)
      : dir_(std::move(dir)), replace_(replace), staged_(std::move(staged)) {}

  absl::Status WriteFiles(const TraceFolder& trace) const;

  const std::string dir_;
  const bool replace_;
  const std::unique_ptr<StagedFolder> staged_;  // Removed if not committed.
};

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_TRACE_FOLDER_WRITER_H_
