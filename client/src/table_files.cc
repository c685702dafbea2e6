#include "client/src/table_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/verified_table.h"
#include "model/table/table_codec.h"

namespace wavetune {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<std::string>> PathsAt(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> paths;
  for (fs::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".table")
      paths.push_back(it->path().string());
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read the folder ", path, ": ", error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

absl::StatusOr<std::string> ReadTableFile(const std::string& path,
                                          InputKind kind) {
  absl::StatusOr<std::string> content =
      ReadInputFile(path, kMaxPayloadBytes, kind);
  if (!absl::IsResourceExhausted(content.status())) return content;
  return absl::DataLossError(absl::StrCat(path, " is larger than any table"));
}

absl::StatusOr<TableFiles> TableFiles::Read(const std::string& path) {
  TableFiles files;
  files.path_ = path;
  absl::StatusOr<std::vector<std::string>> paths = PathsAt(path);
  if (!paths.ok()) return paths.status();
  for (const std::string& file : *paths) {
    absl::StatusOr<std::string> payload = ReadTableFile(file);
    absl::StatusOr<FetchedTable> table =
        payload.ok() ? FromPayload(*std::move(payload)) : payload.status();
    if (!table.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, " is no table: ", table.status().message()));
    }
    files.tables_.push_back(*std::move(table));
  }
  return files;
}

}  // namespace wavetune
