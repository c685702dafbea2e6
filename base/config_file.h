// ConfigFile: the configuration file of daemon and agent: sections of
// "key = value" lines.
//
//   # What stands after a '#' at a line's beginning, or after a space, is a
//   # comment.
//   [daemon]
//   budget = 60
//   kernels-dir = /usr/share/wavetune/kernels
//   kernels-dir = /srv/kernels   # may stand again
//
// It names paths that programs run from and groups that are let in, so only
// root and the process's user may be able to change it. Which keys there are
// says whoever takes them (base/option_sources.h). Needs neither protobuf nor
// gRPC.
//
// Thread safety: a plain value and pure functions.
#ifndef WAVETUNE_BASE_CONFIG_FILE_H_
#define WAVETUNE_BASE_CONFIG_FILE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

struct ConfigEntry {
  std::string key;
  std::string value;  // Not empty.
  int line = 0;       // From 1.
};

struct ConfigFile {
  // The entries of each section, in their order. An entry without a value
  // counts as none, as an empty variable of the environment does.
  std::map<std::string, std::vector<ConfigEntry>> sections;
};

// Returns what `text` says. Errors: INVALID_ARGUMENT with the number of each
// faulty line ("line 3: ..."), the first ten of them. Faulty is a section that
// is not one of `sections`, a line that is neither section nor entry, and an
// entry outside of sections.
absl::StatusOr<ConfigFile> ParseConfig(
    absl::string_view text, const std::vector<std::string>& sections);

// The same of a file. Errors: also as ReadOwnInputFile; all with the path.
absl::StatusOr<ConfigFile> ReadConfigFile(
    const std::string& path, const std::vector<std::string>& sections);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_CONFIG_FILE_H_
