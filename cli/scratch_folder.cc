#include "cli/scratch_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace wavetune::cli {

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Create() {
  std::error_code error;
  const std::filesystem::path base =
      std::filesystem::temp_directory_path(error);
  std::string pattern =
      ((error ? std::filesystem::path("/tmp") : base) / "wavetune-local-XXXXXX")
          .string();
  if (mkdtemp(pattern.data()) == nullptr)
    return absl::InternalError(
        absl::StrCat("cannot create a scratch folder ", pattern));
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(pattern)));
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace wavetune::cli
