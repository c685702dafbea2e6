#include "client/src/client_settings.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/environment_variable.h"
#include "base/socket_paths.h"
#include "base/status_macros.h"
#include "client/src/endpoint.h"

namespace wavetune {
namespace {

// A setting and where it comes from.
struct Given {
  std::string value;
  std::string by;  // "WAVETUNE_MODE", or "the option mode".
};

Given Choose(const std::string& option, const char* option_name,
             const char* variable, const Environment& environment) {
  if (!option.empty())
    return {option, absl::StrCat("the option ", option_name)};
  return {environment(variable), variable};
}

absl::Status Illegal(const Given& given, absl::string_view value,
                     absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrCat(given.by, " is \"", value, "\"; legal is ", legal));
}

absl::StatusOr<ClientMode> ModeOf(const ClientOptions& options,
                                  const Environment& environment) {
  if (options.mode) return *options.mode;
  const Given given{environment("WAVETUNE_MODE"), "WAVETUNE_MODE"};
  if (given.value.empty()) return ClientMode::kAuto;
  for (const ClientMode mode :
       {ClientMode::kAuto, ClientMode::kOffline, ClientMode::kOff}) {
    if (ToString(mode) == absl::string_view(given.value)) return mode;
  }
  return Illegal(given, given.value, "auto, offline or off");
}

// A program that says no means it; where it says nothing or yes, a user may
// still say no.
absl::StatusOr<bool> UsageFeedbackOf(const ClientOptions& options,
                                     const Environment& environment) {
  const Given given{environment("WAVETUNE_USAGE"), "WAVETUNE_USAGE"};
  const std::string word = absl::AsciiStrToLower(given.value);
  if (word == "off" || word == "0" || word == "false" || word == "no")
    return false;
  if (word.empty() || word == "on" || word == "1" || word == "true" ||
      word == "yes") {
    return options.usage_feedback;
  }
  return Illegal(given, given.value,
                 "off (or 0, false, no) or on (or 1, true, yes)");
}

absl::StatusOr<std::vector<std::string>> EndpointsOf(
    const ClientOptions& options, const Environment& environment) {
  const Given given =
      Choose(options.endpoint, "endpoint", "WAVETUNE_ENDPOINT", environment);
  if (given.value.empty()) return std::vector<std::string>{ReaderEndpoint()};
  std::vector<std::string> endpoints;
  for (absl::string_view entry : absl::StrSplit(given.value, ',')) {
    endpoints.push_back(entry.empty() ? "" : ReaderEndpoint(entry));
    if (!IsEndpoint(endpoints.back())) {
      return Illegal(
          given, given.value,
          absl::StrCat(kLegalEndpoints, ", several with commas between"));
    }
  }
  return endpoints;
}

absl::Status ReadPin(const ClientOptions& options,
                     const Environment& environment, ClientSettings* settings) {
  const Given given = Choose(options.pin, "pin", "WAVETUNE_PIN", environment);
  if (given.value.empty()) return absl::OkStatus();
  if (IsSha256Hex(given.value)) {
    settings->pinned_set_digest = given.value;
    return absl::OkStatus();
  }
  absl::StatusOr<TableSet> set = TableSet::Parse(given.value);
  if (!set.ok()) {
    return Illegal(given, given.value,
                   absl::StrCat("the digest of a table set (64 lower-case "
                                "hexadecimal digits), or the set itself, "
                                "kernel=digest,kernel=digest: ",
                                set.status().message()));
  }
  settings->pinned_set = *std::move(set);
  return absl::OkStatus();
}

absl::Status ReadTableFile(const ClientOptions& options,
                           const Environment& environment,
                           ClientSettings* settings) {
  const Given given = Choose(options.table_file, "table_file",
                             "WAVETUNE_TABLE_FILE", environment);
  std::error_code error;
  if (!given.value.empty() && !std::filesystem::exists(given.value, error)) {
    return Illegal(given, given.value,
                   "a table's payload, or a folder of *.table files; there is "
                   "nothing at this path");
  }
  settings->table_file = given.value;
  settings->table_file_given_as = given.by;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ClientSettings> ResolveSettings(const ClientOptions& options,
                                               const Environment& environment) {
  ClientSettings settings{.cache_dir = options.cache_dir,
                          .timeout_s = options.timeout_s,
                          .watch = options.watch,
                          .usage_interval_s = options.usage_interval_s};
  if (!(settings.timeout_s > 0 && settings.timeout_s <= 3600)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the option timeout_s is ", settings.timeout_s,
                     "; legal is seconds above 0, at most 3600"));
  }
  if (!(settings.usage_interval_s > 0 && settings.usage_interval_s <= 86400)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the option usage_interval_s is ", settings.usage_interval_s,
        "; legal is seconds above 0, at most 86400"));
  }
  if (settings.cache_dir == "auto") {
    CacheDir cache = DefaultCacheDir();
    settings.cache_dir = std::move(cache.path);
    settings.cache_problem = std::move(cache.problem);
  }
  ASSIGN_OR_RETURN(settings.mode, ModeOf(options, environment));
  ASSIGN_OR_RETURN(const bool usage_feedback,
                   UsageFeedbackOf(options, environment));
  settings.usage_feedback =
      usage_feedback && settings.mode == ClientMode::kAuto;
  ASSIGN_OR_RETURN(settings.endpoints, EndpointsOf(options, environment));
  RETURN_IF_ERROR(ReadPin(options, environment, &settings));
  RETURN_IF_ERROR(ReadTableFile(options, environment, &settings));
  return settings;
}

absl::string_view ToString(ClientMode mode) {
  switch (mode) {
    case ClientMode::kAuto:
      return "auto";
    case ClientMode::kOffline:
      return "offline";
    case ClientMode::kOff:
      return "off";
  }
  return "unknown";
}

}  // namespace wavetune
