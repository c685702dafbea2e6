#include "server/fleet/fleet_head.h"

#include <climits>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/fleet.pb.h"

namespace wavetune {
namespace {

constexpr int32_t kFormat = 1;
constexpr size_t kClassDigits = 16;
// So that a signature of something else is none of a head.
constexpr char kPurpose[] = "wavetune fleet head 1\n";

std::string SignedText(absl::string_view content) {
  return absl::StrCat(kPurpose, content);
}

v1::FleetHeadContent ToProto(const FleetHead& head) {
  v1::FleetHeadContent content;
  content.set_fleet(head.fleet);
  content.set_kernel(head.key.kernel);
  content.set_fingerprint(head.key.fingerprint);
  content.set_silicon_key(head.key.silicon_key);
  content.set_environment_key(head.key.environment_key);
  content.set_digest(head.digest);
  content.set_epoch(head.epoch);
  content.set_carried_from(head.carried_from);
  content.set_compiler(head.compiler);
  content.set_fit_residual(head.fit_residual);
  content.set_node(head.node);
  content.set_published_at_us(head.published_at_us);
  content.set_why(head.why);
  return content;
}

FleetHead FromProto(const v1::FleetHeadContent& content) {
  return {.fleet = content.fleet(),
          .key = {content.kernel(), content.fingerprint(),
                  content.silicon_key(), content.environment_key()},
          .digest = content.digest(),
          .epoch = content.epoch(),
          .carried_from = content.carried_from(),
          .compiler = content.compiler(),
          .fit_residual = content.fit_residual(),
          .node = content.node(),
          .published_at_us = content.published_at_us(),
          .why = content.why()};
}

template <typename Message>
bool Parses(absl::string_view bytes, Message* message) {
  return bytes.size() <= INT_MAX &&
         message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

std::string FleetClass(absl::string_view silicon_key,
                       absl::string_view environment_key) {
  // The length keeps two pairs from running into each other.
  return Sha256Hex(absl::StrCat(silicon_key.size(), " ", silicon_key,
                                environment_key))
      .substr(0, kClassDigits);
}

std::string HeadsPrefix(absl::string_view fleet_class) {
  return absl::StrCat("heads/", fleet_class, "/");
}

std::string HeadKey(const ProfileKey& key) {
  return absl::StrCat(
      HeadsPrefix(FleetClass(key.silicon_key, key.environment_key)),
      key.kernel);
}

std::string BlobKey(absl::string_view digest) {
  return absl::StrCat("blobs/", digest);
}

std::string SignHead(const FleetHead& head, const SigningKey& key) {
  v1::FleetHead message;
  message.set_format(kFormat);
  message.set_content(ToProto(head).SerializeAsString());
  message.set_public_key(key.public_key());
  message.set_signature(key.Sign(SignedText(message.content())));
  return message.SerializeAsString();
}

absl::StatusOr<SignedHead> ReadHead(absl::string_view key,
                                    absl::string_view bytes) {
  v1::FleetHead message;
  if (!Parses(bytes, &message))
    return absl::DataLossError(absl::StrCat("what is at ", key, " is no head"));
  if (message.format() > kFormat) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the head at ", key, " has format ", message.format(),
        ", this program knows ", kFormat, ": upgrade this node's wavetuned"));
  }
  RETURN_IF_ERROR(CheckSignature(message.public_key(),
                                 SignedText(message.content()),
                                 message.signature()));
  v1::FleetHeadContent content;
  if (message.format() != kFormat || !Parses(message.content(), &content) ||
      !IsSha256Hex(content.digest()) || content.epoch() == 0 ||
      content.epoch() > kMostFleetEpoch ||
      !std::isfinite(content.fit_residual())) {
    return absl::DataLossError(absl::StrCat("what is at ", key, " is no head"));
  }
  SignedHead head{FromProto(content), message.public_key()};
  // One of another class or kernel, put where it does not belong.
  if (HeadKey(head.head.key) != key) {
    return absl::DataLossError(absl::StrCat("the head at ", key, " belongs at ",
                                            HeadKey(head.head.key)));
  }
  return head;
}

}  // namespace wavetune
