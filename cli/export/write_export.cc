#include "cli/export/write_export.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/status_macros.h"

namespace wavetune::cli {

absl::Status WriteExport(const std::string& path, absl::string_view text,
                         bool replace) {
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    return FileError("cannot make the folder", folder.string(), error.value());
  }
  if (std::filesystem::exists(path, error) && !replace) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " is there already; --force replaces it"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<StagedFile> staged,
                   StagedFile::Open(path));
  return staged->Commit(text);
}

}  // namespace wavetune::cli
