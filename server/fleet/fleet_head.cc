#include "server/fleet/fleet_head.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/digest.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/registry_bounds.h"
#include "server/fleet/signed_content.h"

namespace wavetune {
namespace {

constexpr size_t kClassDigits = 16;
constexpr char kHeadPurpose[] = "head";

}  // namespace

std::string FleetClass(absl::string_view silicon_key,
                       absl::string_view environment_key) {
  // The length keeps two pairs from running into each other.
  return Sha256Hex(absl::StrCat(silicon_key.size(), " ", silicon_key,
                                environment_key))
      .substr(0, kClassDigits);
}

std::string FleetClass(const ProfileKey& key) {
  return FleetClass(key.silicon_key, key.environment_key);
}

std::string FleetClass(const DeviceFacts& device) {
  return FleetClass(SiliconKey(device), EnvironmentKey(device));
}

std::string HeadsPrefix(absl::string_view fleet_class) {
  return absl::StrCat("heads/", fleet_class, "/");
}

std::string HeadKey(const ProfileKey& key) {
  return absl::StrCat(HeadsPrefix(FleetClass(key)), key.kernel);
}

std::string BlobsPrefix(const ProfileKey& key) {
  return absl::StrCat("blobs/",
                      FleetClass(key.silicon_key, key.environment_key), "/",
                      key.kernel, "/");
}

std::string BlobKey(const ProfileKey& key, absl::string_view digest) {
  return BlobsPrefix(key) + std::string(digest);
}

HeadPlace PlaceOf(absl::string_view head_key) {
  const size_t begin = head_key.find('/') + 1;
  const size_t end = head_key.find('/', begin);
  return {std::string(head_key.substr(begin, end - begin)),
          std::string(head_key.substr(end + 1))};
}

namespace {

#define WAVETUNE_FLEET_HEAD_FIELDS                                            \
  digest, epoch, carried_from, compiler, fit_residual, node, published_at_us, \
      why, rolled_back

// What a head shares with those before it is said once.
v1::FleetHeadContent BeforeToProto(const FleetHead& head) {
  v1::FleetHeadContent content;
  content.set_fingerprint(head.key.fingerprint);
  GIVE_FIELDS(head, content, WAVETUNE_FLEET_HEAD_FIELDS);
  return content;
}

}  // namespace

v1::FleetHeadContent HeadToProto(const FleetHead& head) {
  v1::FleetHeadContent content = BeforeToProto(head);
  content.set_fleet(head.fleet);
  GIVE_FIELDS(head.key, content, kernel, silicon_key, environment_key);
  for (const FleetHead& before : head.before)
    *content.add_before() = BeforeToProto(before);
  return content;
}

FleetHead HeadFromProto(const v1::FleetHeadContent& content) {
  FleetHead head{.fleet = content.fleet(),
                 .key = {content.kernel(), content.fingerprint(),
                         content.silicon_key(), content.environment_key()}};
  TAKE_FIELDS(content, head, WAVETUNE_FLEET_HEAD_FIELDS);
  for (const v1::FleetHeadContent& one : content.before()) {
    if (head.before.size() == kMostHeadsBefore) break;
    FleetHead before = HeadFromProto(one);
    before.before.clear();
    before.fleet = head.fleet;
    before.key = head.key;
    before.key.fingerprint = one.fingerprint();
    // What is no head is nothing to go back to.
    if (IsHead(before)) head.before.push_back(std::move(before));
  }
  return head;
}

bool IsHead(const FleetHead& head) {
  return IsSha256Hex(head.digest) && head.epoch > 0 &&
         head.epoch <= kMostFleetEpoch && std::isfinite(head.fit_residual);
}

std::vector<FleetHead> BeforeOf(const FleetHead& replaced,
                                absl::string_view digest) {
  std::vector<FleetHead> before = {replaced};
  before.front().before.clear();
  before.front().why =
      std::string(CutBetweenCharacters(replaced.why, kMostWhyBefore));
  before.insert(before.end(), replaced.before.begin(), replaced.before.end());
  std::erase_if(before,
                [&](const FleetHead& head) { return head.digest == digest; });
  if (before.size() > kMostHeadsBefore) before.resize(kMostHeadsBefore);
  return before;
}

std::string SignHead(const FleetHead& head, const SigningKey& key) {
  return SignContent(kHeadPurpose, HeadToProto(head).SerializeAsString(), key);
}

absl::StatusOr<SignedHead> ReadHead(absl::string_view key,
                                    absl::string_view bytes) {
  ASSIGN_OR_RETURN(const SignedContent read,
                   ReadSignedContent(kHeadPurpose, key, bytes));
  v1::FleetHeadContent content;
  const bool parsed =
      ParseEntry(key, read.content, kMostParsedBytes, &content).ok();
  SignedHead head{HeadFromProto(content), read.public_key};
  if (!parsed || !IsHead(head.head))
    return absl::DataLossError(absl::StrCat("what is at ", key, " is no head"));
  // One of another class or kernel, put where it does not belong.
  if (HeadKey(head.head.key) != key) {
    return absl::DataLossError(absl::StrCat("the head at ", key, " belongs at ",
                                            HeadKey(head.head.key)));
  }
  return head;
}

}  // namespace wavetune
