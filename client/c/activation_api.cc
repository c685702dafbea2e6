// wavetune.h: when a new table takes over, and which tables decide.
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/c/api_error.h"
#include "client/c/handles.h"
#include "client/c/output_buffer.h"
#include "wavetune/activation.h"
#include "wavetune/wavetune.h"

namespace {

using wavetune::ActivationPolicy;
using wavetune::Configuration;
using wavetune::StagedTable;
using wavetune::c_api::Guarded;
using wavetune::c_api::IsNull;
using wavetune::c_api::ReadConfigurations;
using wavetune::c_api::WriteConfigurations;
using wavetune::c_api::WriteDigest;

absl::Status SetPrepared(wavetune_tuner* tuner, const int64_t* values,
                         size_t count) {
  if (tuner == nullptr) return IsNull("tuner");
  ASSIGN_OR_RETURN(const std::vector<Configuration> prepared,
                   ReadConfigurations("values", values, count,
                                      tuner->tuner.parameters().size()));
  tuner->tuner.SetPrepared(prepared);
  return absl::OkStatus();
}

absl::Status StagedDigest(const wavetune_tuner* tuner, char* digest,
                          size_t size) {
  if (tuner == nullptr) return IsNull("tuner");
  const std::optional<StagedTable> staged = tuner->tuner.staged();
  return WriteDigest(staged.has_value() ? staged->digest : "", digest, size);
}

absl::Status StagedUnprepared(const wavetune_tuner* tuner, const char* digest,
                              int64_t* values, size_t capacity, size_t* count) {
  if (tuner == nullptr) return IsNull("tuner");
  if (digest == nullptr) return IsNull("digest");
  const std::optional<StagedTable> staged = tuner->tuner.staged();
  if (!staged.has_value() || staged->digest != digest) {
    return absl::NotFoundError(
        absl::StrCat("table ", digest, " is not staged; ",
                     staged.has_value() ? absl::StrCat(staged->digest, " is")
                                        : "nothing is"));
  }
  return WriteConfigurations(staged->unprepared, values, capacity, count);
}

absl::Status Activate(wavetune_tuner* tuner, const char* digest) {
  if (tuner == nullptr) return IsNull("tuner");
  if (digest == nullptr) return IsNull("digest");
  return tuner->tuner.Activate(digest);
}

absl::Status TableSetDigest(const wavetune_client* client, char* digest,
                            size_t size) {
  if (client == nullptr) return IsNull("client");
  ASSIGN_OR_RETURN(const std::string text, client->client->TableSetDigest());
  return WriteDigest(text, digest, size);
}

absl::Status PublishTableSet(wavetune_client* client, char* digest,
                             size_t size) {
  if (client == nullptr) return IsNull("client");
  // Before there is something to take back.
  RETURN_IF_ERROR(wavetune::c_api::CheckDigestBuffer(digest, size));
  ASSIGN_OR_RETURN(const std::string text, client->client->PublishTableSet());
  return WriteDigest(text, digest, size);
}

absl::Status StageTableSet(wavetune_client* client, const char* digest) {
  if (client == nullptr) return IsNull("client");
  if (digest == nullptr) return IsNull("digest");
  return client->client->StageTableSet(digest);
}

absl::Status ActivateTableSet(wavetune_client* client, const char* digest) {
  if (client == nullptr) return IsNull("client");
  if (digest == nullptr) return IsNull("digest");
  return client->client->ActivateTableSet(digest);
}

// Returns what `function` returns; `otherwise` for what it throws.
template <typename Function>
int NumberOr(int otherwise, Function&& function) noexcept {
  int result = otherwise;
  (void)Guarded([&]() -> absl::Status {
    result = function();
    return absl::OkStatus();
  });
  return result;
}

}  // namespace

wavetune_status wavetune_tuner_set_prepared(wavetune_tuner* tuner,
                                            const int64_t* values,
                                            size_t count) {
  return Guarded([&] { return SetPrepared(tuner, values, count); });
}

wavetune_status wavetune_tuner_staged_digest(const wavetune_tuner* tuner,
                                             char* digest, size_t size) {
  return Guarded([&] { return StagedDigest(tuner, digest, size); });
}

wavetune_status wavetune_tuner_staged_unprepared(const wavetune_tuner* tuner,
                                                 const char* digest,
                                                 int64_t* values,
                                                 size_t capacity,
                                                 size_t* count) {
  return Guarded(
      [&] { return StagedUnprepared(tuner, digest, values, capacity, count); });
}

wavetune_status wavetune_tuner_activate(wavetune_tuner* tuner,
                                        const char* digest) {
  return Guarded([&] { return Activate(tuner, digest); });
}

int wavetune_tuner_step_boundary(wavetune_tuner* tuner) {
  if (tuner == nullptr) return 0;
  return NumberOr(0, [&] { return tuner->tuner.StepBoundary() ? 1 : 0; });
}

int wavetune_client_step_boundary(wavetune_client* client) {
  if (client == nullptr) return 0;
  return NumberOr(0, [&] { return client->client->StepBoundary(); });
}

wavetune_status wavetune_client_table_set_digest(const wavetune_client* client,
                                                 char* digest, size_t size) {
  return Guarded([&] { return TableSetDigest(client, digest, size); });
}

wavetune_status wavetune_client_publish_table_set(wavetune_client* client,
                                                  char* digest, size_t size) {
  return Guarded([&] { return PublishTableSet(client, digest, size); });
}

wavetune_status wavetune_client_stage_table_set(wavetune_client* client,
                                                const char* digest) {
  return Guarded([&] { return StageTableSet(client, digest); });
}

wavetune_status wavetune_client_activate_table_set(wavetune_client* client,
                                                   const char* digest) {
  return Guarded([&] { return ActivateTableSet(client, digest); });
}
