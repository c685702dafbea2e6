#include "client/whole_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "proto/convert/input_file.h"

namespace wavetune {

absl::Status PublishWholeFile(const std::string& path,
                              const std::string& content) {
  static std::atomic<int> counter{0};
  const std::string temporary =
      absl::StrCat(path, ".", getpid(), ".", counter.fetch_add(1));
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.flush();
    if (!file.good()) {
      const std::string why = std::strerror(errno);
      std::remove(temporary.c_str());
      return absl::UnavailableError(
          absl::StrCat("cannot write ", path, ": ", why));
    }
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
                                          size_t max_bytes) {
  absl::StatusOr<std::string> content = ReadInputFile(path, max_bytes);
  if (!absl::IsResourceExhausted(content.status())) return content;
  return absl::DataLossError(absl::StrCat(path, " is larger than any table"));
}

}  // namespace wavetune
