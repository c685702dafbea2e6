#include "server/fleet/fleet_profile.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/fleet_head.h"
#include "server/fleet/registry_bounds.h"

namespace wavetune {
namespace {

constexpr int32_t kProfileFormat = 1;
constexpr char kHolder[] = "/holder";
// Failures, and stages: both are few.
constexpr int kMostListed = 32;
// Of reasons and outcomes, in which a compiler may have its say.
constexpr size_t kMostReasonBytes = 1024;

std::string ClassAndKernel(const ProfileKey& key) {
  return absl::StrCat(FleetClass(key), "/", key.kernel);
}

#define WAVETUNE_FLEET_PROFILE_FIELDS                                         \
  id, node, by, asked_at_us, budget_s, samples_per_candidate, portfolio_size, \
      drift_probe, fresh, begun_by, done, done_by, digest

}  // namespace

bool FleetProfile::FailedOn(absl::string_view name) const {
  return std::any_of(failures.begin(), failures.end(),
                     [&](const Failure& f) { return f.node == name; });
}

std::string ProfilesPrefix(absl::string_view fleet_class) {
  return absl::StrCat("profiles/", fleet_class, "/");
}

std::string ProfilePlace(const ProfileKey& key) {
  return absl::StrCat("profiles/", ClassAndKernel(key));
}

std::string HolderPlace(const ProfileKey& key) {
  return absl::StrCat(ProfilePlace(key), kHolder);
}

std::string EncodeFleetProfile(const FleetProfile& profile) {
  v1::FleetProfile message;
  message.set_format(kProfileFormat);
  GIVE_FIELDS(profile, message, WAVETUNE_FLEET_PROFILE_FIELDS);
  GIVE_FIELDS(profile.key, message, kernel, fingerprint, silicon_key,
              environment_key);
  message.set_why(BoundedText(profile.why, kMostReasonBytes));
  for (const FleetProfile::Failure& failure : profile.failures) {
    v1::FleetProfileFailure* const added = message.add_failures();
    added->set_node(failure.node);
    added->set_why(BoundedText(failure.why, kMostReasonBytes));
  }
  for (const int32_t stage : profile.rollout.stages) message.add_stages(stage);
  message.set_hold_s(profile.rollout.hold_s);
  message.set_outcome(BoundedText(profile.outcome, kMostReasonBytes));
  return message.SerializeAsString();
}

absl::StatusOr<FleetProfile> DecodeFleetProfile(absl::string_view place,
                                                absl::string_view bytes) {
  v1::FleetProfile message;
  RETURN_IF_ERROR(ParseEntry(place, bytes, kMostParsedBytes, &message));
  if (!std::isfinite(message.budget_s()) || !std::isfinite(message.hold_s()) ||
      message.failures_size() > kMostListed ||
      message.stages_size() > kMostListed) {
    return absl::DataLossError(
        absl::StrCat("what is at ", place, " is no profile"));
  }
  if (message.format() > kProfileFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("the profile at ", place, " has format ", message.format(),
                     ", this program knows ", kProfileFormat,
                     ": upgrade this node's wavetuned"));
  }
  FleetProfile profile;
  TAKE_FIELDS(message, profile, WAVETUNE_FLEET_PROFILE_FIELDS, why, outcome);
  TAKE_FIELDS(message, profile.key, kernel, fingerprint, silicon_key,
              environment_key);
  profile.rollout = {{message.stages().begin(), message.stages().end()},
                     message.hold_s()};
  for (const v1::FleetProfileFailure& failure : message.failures())
    profile.failures.push_back({failure.node(), failure.why()});
  if (profile.id.empty() || ProfilePlace(profile.key) != place) {
    return absl::DataLossError(
        absl::StrCat("what is at ", place, " is no profile of that place"));
  }
  return profile;
}

std::string EncodeFleetHolder(const FleetHolder& holder) {
  v1::FleetHolder message;
  message.set_node(holder.node);
  message.set_profile(holder.profile);
  return message.SerializeAsString();
}

absl::StatusOr<FleetHolder> DecodeFleetHolder(absl::string_view bytes) {
  v1::FleetHolder message;
  RETURN_IF_ERROR(
      ParseEntry("a holder's place", bytes, kMostParsedBytes, &message));
  return FleetHolder{message.node(), message.profile()};
}

}  // namespace wavetune
