// OutputFile: a file that appears as a whole.
//
//   ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open("report.html"));
//   ... minutes of work ...
//   RETURN_IF_ERROR(file.Commit(text));
//
// Written beside its place and renamed, so that a reader sees the old file or
// the new one, and a failure leaves the old one.
//
// Thread safety: none.
#ifndef WAVETUNE_CLI_REPORT_OUTPUT_FILE_H_
#define WAVETUNE_CLI_REPORT_OUTPUT_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune::cli {

class OutputFile {
 public:
  // Makes the file beside `path` (beside what a link leads to), so that nobody
  // works for a path that cannot be written. Errors: INVALID_ARGUMENT for an
  // empty path or what is there and no regular file; PERMISSION_DENIED,
  // NOT_FOUND or INTERNAL naming the path and why.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Open(
      const std::string& path);
  // Removes what was not committed.
  ~OutputFile();

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Writes `content` and takes the place of what is at the path; at most once.
  // Errors: RESOURCE_EXHAUSTED on a full disk, else INTERNAL; the path is then
  // as it was.
  absl::Status Commit(absl::string_view content);

 private:
  OutputFile(std::string path, std::string staging, int descriptor);

  const std::string path_;
  std::string staging_;  // Empty: committed.
  int descriptor_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_REPORT_OUTPUT_FILE_H_
