// Files that are read whole: only regular files are opened, so that nobody
// waits for a pipe that nobody writes to.
//
//   ASSIGN_OR_RETURN(std::string text, ReadInputFile(path, kMaxSourceBytes));
//
// Needs neither protobuf nor gRPC.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_BASE_INPUT_FILE_H_
#define WAVETUNE_BASE_INPUT_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

// What may be opened. Whoever names a file on a command line may name a pipe
// (`--shapes /dev/stdin`, `<(...)`) and waits for its writer. A thing found in
// a folder must be a file. What decides what runs here is a file of our own:
// one that only root and this process's user can change (own_files.h), and that
// is no link.
enum class InputKind { kFile, kFileOrPipe, kOwnFile };

// A file that is open for reading; closed with the object.
class InputFile {
 public:
  // Never waits where `kind` is not kFileOrPipe. Errors: NOT_FOUND,
  // PERMISSION_DENIED and UNAVAILABLE (no descriptors) with the path and the
  // reason. INVALID_ARGUMENT for one that is no file: a folder, a pipe, a
  // socket, a device.
  static absl::StatusOr<InputFile> Open(const std::string& path,
                                        InputKind kind = InputKind::kFile);

  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  int descriptor() const { return descriptor_; }
  // Hands the descriptor over: the caller closes it.
  int Release();

 private:
  explicit InputFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

// Returns a file's content. Errors: as InputFile::Open; RESOURCE_EXHAUSTED
// above `max_bytes`; UNAVAILABLE where reading fails.
absl::StatusOr<std::string> ReadInputFile(const std::string& path,
                                          size_t max_bytes,
                                          InputKind kind = InputKind::kFile);

// Returns the content of a file of our own that a command line names. A link to
// it is followed (secrets are mounted as links). Its target must be ours, and
// so must the folders and links on the way, or others could put another file
// there. Errors: as ReadInputFile and CheckOwnWay.
absl::StatusOr<std::string> ReadOwnInputFile(const std::string& path,
                                             size_t max_bytes);

// Returns a status with `path` before its message.
absl::Status AtPath(const absl::Status& status, absl::string_view path);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_INPUT_FILE_H_
