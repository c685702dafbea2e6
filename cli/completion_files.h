// What deploy/completion has, as texts.
#ifndef WAVETUNE_CLI_COMPLETION_FILES_H_
#define WAVETUNE_CLI_COMPLETION_FILES_H_

#include "absl/strings/string_view.h"

namespace wavetune::cli::completion_files {

extern const absl::string_view kBash;
extern const absl::string_view kFish;
extern const absl::string_view kZsh;

}  // namespace wavetune::cli::completion_files

#endif  // WAVETUNE_CLI_COMPLETION_FILES_H_
