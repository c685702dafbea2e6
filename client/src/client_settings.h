// ClientSettings: ClientOptions with the environment and the defaults filled
// in, checked.
//
// Thread safety: a plain value; ResolveSettings reads the environment.
#ifndef WAVETUNE_CLIENT_SRC_CLIENT_SETTINGS_H_
#define WAVETUNE_CLIENT_SRC_CLIENT_SETTINGS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/environment_variable.h"
#include "wavetune/client_options.h"
#include "wavetune/table_set.h"

namespace wavetune {

struct ClientSettings {
  std::vector<std::string> endpoints;  // gRPC targets; the node's daemon first.
  std::string cache_dir;               // Empty: no cache.
  std::string cache_problem;           // Why it is not the usual one, or none.
  double timeout_s = 2;
  ClientMode mode = ClientMode::kAuto;
  std::string table_file;              // Empty: none.
  std::string table_file_given_as;     // "WAVETUNE_TABLE_FILE" or the option.
  std::optional<TableSet> pinned_set;  // At most one of these two is given.
  std::string pinned_set_digest;       // Hex, or empty.
  bool watch = true;
  bool usage_feedback = true;  // Never with kOffline and kOff.
  double usage_interval_s = 30;
};

// Returns a variable's value, empty where it is not set.
using Environment = std::function<std::string(const char* name)>;

// Returns what to work with. Errors: INVALID_ARGUMENT naming the variable or
// the option, its value and the legal ones.
absl::StatusOr<ClientSettings> ResolveSettings(
    const ClientOptions& options,
    const Environment& environment = EnvironmentVariable);

// Returns the word for WAVETUNE_MODE: "auto", "offline", "off". Cannot fail.
absl::string_view ToString(ClientMode mode);

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_CLIENT_SETTINGS_H_
