// wavetune.h: versions, clients, and how tuners are made.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/c/api_error.h"
#include "client/c/handles.h"
#include "client/c/output_buffer.h"
#include "wavetune/activation.h"
#include "wavetune/client_options.h"
#include "wavetune/wavetune.h"

namespace {

using wavetune::ActivationPolicy;
using wavetune::ClientMode;
using wavetune::c_api::Guarded;
using wavetune::c_api::IsNull;
using wavetune::c_api::ReadConfigurations;

// The sizes of version 1.0, for ever: an older caller's options stay valid.
constexpr size_t kFirstClientOptions = 56;
constexpr size_t kFirstTunerOptions = 56;
static_assert(sizeof(void*) == 8 && sizeof(size_t) == 8);
static_assert(sizeof(wavetune_client_options) >= kFirstClientOptions);
static_assert(offsetof(wavetune_client_options, endpoint) == 8);
static_assert(offsetof(wavetune_client_options, cache_dir) == 16);
static_assert(offsetof(wavetune_client_options, table_file) == 24);
static_assert(offsetof(wavetune_client_options, pin) == 32);
static_assert(offsetof(wavetune_client_options, timeout_s) == 40);
static_assert(offsetof(wavetune_client_options, mode) == 48);
static_assert(offsetof(wavetune_client_options, no_watch) == 52);
static_assert(offsetof(wavetune_client_options, no_usage_feedback) == 56);
static_assert(offsetof(wavetune_client_options, reserved) == 60);
static_assert(sizeof(wavetune_tuner_options) >= kFirstTunerOptions);
static_assert(offsetof(wavetune_tuner_options, device) == 8);
static_assert(offsetof(wavetune_tuner_options, fingerprint) == 16);
static_assert(offsetof(wavetune_tuner_options, specialisation) == 24);
static_assert(offsetof(wavetune_tuner_options, digest) == 32);
static_assert(offsetof(wavetune_tuner_options, manifest) == 40);
static_assert(offsetof(wavetune_tuner_options, activation) == 48);
static_assert(offsetof(wavetune_tuner_options, prepares_on_demand) == 52);
static_assert(offsetof(wavetune_tuner_options, prepared) == 56);
static_assert(offsetof(wavetune_tuner_options, prepared_count) == 64);
static_assert(offsetof(wavetune_tuner_options, prepared_parameters) == 72);

// Returns the options of a caller whose wavetune.h may be older or newer, as
// this library knows them: members that an older header lacks are zero, and
// NULL is all zero. `first_size` is the size in version 1.0 of the header.
// Errors: INVALID_ARGUMENT for a struct_size below that, and where a member
// that only a newer header knows is not zero: it would be ignored.
template <typename Options>
absl::StatusOr<Options> ReadOptions(const Options* caller, size_t first_size) {
  Options options = {};
  if (caller == nullptr) return options;
  const size_t size = caller->struct_size;
  if (size < first_size || size > 4096) {
    return absl::InvalidArgumentError(absl::StrCat(
        "struct_size is ", size,
        "; start from the WAVETUNE_..._OPTIONS_INIT macro, which sets it"));
  }
  const char* bytes = reinterpret_cast<const char*>(caller);
  if (size > sizeof(Options) &&
      std::any_of(bytes + sizeof(Options), bytes + size,
                  [](char byte) { return byte != 0; })) {
    return absl::InvalidArgumentError(absl::StrCat(
        "options of ", size, " bytes set what this library (", sizeof(Options),
        " bytes) does not know; install a newer libwavetune.so"));
  }
  std::memcpy(&options, bytes, std::min(size, sizeof(Options)));
  return options;
}

std::string OrEmpty(const char* text) { return text == nullptr ? "" : text; }

// Absent where the caller leaves the mode to the environment.
absl::StatusOr<std::optional<ClientMode>> ModeOf(int32_t number) {
  switch (number) {
    case WAVETUNE_MODE_UNSPECIFIED:
      return std::nullopt;
    case WAVETUNE_MODE_AUTO:
      return ClientMode::kAuto;
    case WAVETUNE_MODE_OFFLINE:
      return ClientMode::kOffline;
    case WAVETUNE_MODE_OFF:
      return ClientMode::kOff;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "mode is ", number, "; give one of WAVETUNE_MODE_... (0 to 3)"));
  }
}

absl::StatusOr<ActivationPolicy> ActivationOf(int32_t number) {
  switch (number) {
    case WAVETUNE_ACTIVATION_AUTOMATIC:
      return ActivationPolicy::kAutomatic;
    case WAVETUNE_ACTIVATION_STEP_BOUNDARY:
      return ActivationPolicy::kStepBoundary;
    case WAVETUNE_ACTIVATION_EXPLICIT:
      return ActivationPolicy::kExplicit;
    case WAVETUNE_ACTIVATION_PINNED:
      return ActivationPolicy::kPinned;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("activation is ", number,
                       "; give one of WAVETUNE_ACTIVATION_... (0 to 3)"));
  }
}

absl::Status Connect(const wavetune_client_options* caller,
                     wavetune_client** client) {
  if (client == nullptr) return IsNull("client");
  ASSIGN_OR_RETURN(const wavetune_client_options given,
                   ReadOptions(caller, kFirstClientOptions));
  if (given.reserved != 0) {
    return absl::InvalidArgumentError(
        "the member reserved of the client's options is not 0; start from "
        "WAVETUNE_CLIENT_OPTIONS_INIT");
  }
  wavetune::ClientOptions options;
  options.endpoint = OrEmpty(given.endpoint);
  if (given.cache_dir != nullptr) options.cache_dir = given.cache_dir;
  options.table_file = OrEmpty(given.table_file);
  options.pin = OrEmpty(given.pin);
  ASSIGN_OR_RETURN(options.mode, ModeOf(given.mode));
  options.watch = given.no_watch == 0;
  options.usage_feedback = given.no_usage_feedback == 0;
  if (given.timeout_s != 0) options.timeout_s = given.timeout_s;
  ASSIGN_OR_RETURN(std::unique_ptr<wavetune::Client> connected,
                   wavetune::Client::Connect(options));
  *client = new wavetune_client{std::move(connected)};
  return absl::OkStatus();
}

// Declares what the options say is prepared. After the tuner was made, which
// alone knows how many parameters the kernel has: a table that came meanwhile
// is staged, and takes over now.
absl::Status DeclarePrepared(const wavetune_tuner_options& given,
                             wavetune::Tuner& tuner) {
  if (given.prepared_count == 0) return absl::OkStatus();
  if (given.prepared_parameters != tuner.parameters().size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "prepared_parameters is ", given.prepared_parameters, "; kernel \"",
        tuner.kernel(), "\" has ", tuner.parameters().size(), " parameters"));
  }
  ASSIGN_OR_RETURN(
      const std::vector<wavetune::Configuration> prepared,
      ReadConfigurations("prepared", given.prepared, given.prepared_count,
                         given.prepared_parameters));
  tuner.SetPrepared(prepared);
  return absl::OkStatus();
}

absl::Status GetTuner(wavetune_client* client, const char* kernel,
                      const wavetune_tuner_options* caller,
                      wavetune_tuner** tuner) {
  if (client == nullptr) return IsNull("client");
  if (kernel == nullptr) return IsNull("kernel");
  if (tuner == nullptr) return IsNull("tuner");
  ASSIGN_OR_RETURN(const wavetune_tuner_options given,
                   ReadOptions(caller, kFirstTunerOptions));
  wavetune::TunerOptions options;
  options.device = OrEmpty(given.device);
  options.fingerprint = OrEmpty(given.fingerprint);
  options.specialisation = OrEmpty(given.specialisation);
  options.digest = OrEmpty(given.digest);
  options.manifest = OrEmpty(given.manifest);
  ASSIGN_OR_RETURN(options.activation, ActivationOf(given.activation));
  options.prepares_on_demand = given.prepares_on_demand != 0;
  ASSIGN_OR_RETURN(wavetune::Tuner made,
                   client->client->GetTuner(kernel, options));
  RETURN_IF_ERROR(DeclarePrepared(given, made));
  *tuner = new wavetune_tuner{std::move(made)};
  return absl::OkStatus();
}

}  // namespace

uint32_t wavetune_c_api_version(void) {
  return WAVETUNE_C_API_VERSION_MAJOR << 16 | WAVETUNE_C_API_VERSION_MINOR;
}

const char* wavetune_version(void) { return WAVETUNE_VERSION; }

wavetune_status wavetune_client_connect(const wavetune_client_options* options,
                                        wavetune_client** client) {
  return Guarded([&] { return Connect(options, client); });
}

void wavetune_client_close(wavetune_client* client) { delete client; }

wavetune_status wavetune_client_get_tuner(wavetune_client* client,
                                          const char* kernel,
                                          const wavetune_tuner_options* options,
                                          wavetune_tuner** tuner) {
  return Guarded([&] { return GetTuner(client, kernel, options, tuner); });
}

void wavetune_tuner_close(wavetune_tuner* tuner) { delete tuner; }
