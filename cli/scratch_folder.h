// ScratchFolder: a folder of our own that goes, with its content, when its
// owner does.
#ifndef WAVETUNE_CLI_SCRATCH_FOLDER_H_
#define WAVETUNE_CLI_SCRATCH_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace wavetune::cli {

class ScratchFolder {
 public:
  // Creates it below the folder for temporary files. Errors: INTERNAL naming
  // the folder that cannot be made.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Create();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_SCRATCH_FOLDER_H_
