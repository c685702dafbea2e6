#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/input_file.h"

namespace wavetune {
namespace {

// Writes a file that was not there. Returns false, with errno, where that
// fails.
bool WriteNewFile(const std::string& path, const std::string& content) {
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
             S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  if (descriptor < 0) return false;
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t count =
        ::write(descriptor, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int why = errno;
      ::close(descriptor);
      errno = why;
      return false;
    }
    written += static_cast<size_t>(count);
  }
  return ::close(descriptor) == 0;
}

}  // namespace

absl::Status PublishWholeFile(const std::string& path,
                              const std::string& content) {
  static std::atomic<int> counter{0};
  const std::string temporary =
      absl::StrCat(path, ".", getpid(), ".", counter.fetch_add(1));
  // One of a process that had our id and died.
  std::remove(temporary.c_str());
  if (!WriteNewFile(temporary, content)) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    return absl::UnavailableError(
        absl::StrCat("cannot write ", path, ": ", why));
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    return absl::UnavailableError(
        absl::StrCat("cannot write ", path, ": ", why));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          size_t max_bytes, InputKind kind) {
  absl::StatusOr<std::string> content = ReadInputFile(path, max_bytes, kind);
  if (!absl::IsResourceExhausted(content.status())) return content;
  return absl::DataLossError(absl::StrCat(path, " is larger than any table"));
}

}  // namespace wavetune
