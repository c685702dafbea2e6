#include "server/fleet/signed_content.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wavetune/v1/fleet.pb.h"
#include "server/fleet/registry_bounds.h"

namespace wavetune {
namespace {

constexpr int32_t kEnvelopeFormat = 1;
// Memory of an envelope beside its bytes.
constexpr size_t kMostEnvelopeCost = 1024;

std::string SignedText(absl::string_view purpose, absl::string_view content) {
  return absl::StrCat("wavetune fleet ", purpose, " ", kEnvelopeFormat, "\n",
                      content);
}

absl::Status IsNone(absl::string_view purpose, absl::string_view key) {
  return absl::DataLossError(
      absl::StrCat("what is at ", key, " is no ", purpose));
}

}  // namespace

std::string SignContent(absl::string_view purpose, absl::string_view content,
                        const SigningKey& key) {
  v1::FleetEnvelope message;
  message.set_format(kEnvelopeFormat);
  message.set_content(std::string(content));
  message.set_public_key(key.public_key());
  message.set_signature(key.Sign(SignedText(purpose, content)));
  return message.SerializeAsString();
}

absl::StatusOr<SignedContent> ReadSignedContent(absl::string_view purpose,
                                                absl::string_view key,
                                                absl::string_view bytes) {
  v1::FleetEnvelope message;
  // It holds three texts, one of them as long as all of it.
  const size_t most = bytes.size() + kMostEnvelopeCost;
  if (!ParseEntry(key, bytes, most, &message).ok()) return IsNone(purpose, key);
  if (message.format() > kEnvelopeFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("the ", purpose, " at ", key, " has format ",
                     message.format(), ", this program knows ", kEnvelopeFormat,
                     ": upgrade this node's wavetuned"));
  }
  RETURN_IF_ERROR(CheckSignature(message.public_key(),
                                 SignedText(purpose, message.content()),
                                 message.signature()));
  if (message.format() != kEnvelopeFormat) return IsNone(purpose, key);
  return SignedContent{message.content(), message.public_key()};
}

}  // namespace wavetune
