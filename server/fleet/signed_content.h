// SignedContent: bytes in the fleet's registry that a node signed.
//
//   registry.Commit({{.key = at, .value = SignContent("head", bytes, key)}});
//   ASSIGN_OR_RETURN(SignedContent read, ReadSignedContent("head", at, value));
//   RETURN_IF_ERROR(trust.Check({read.public_key, …}));
//
// Thread safety: pure functions.
#ifndef WAVETUNE_SERVER_FLEET_SIGNED_CONTENT_H_
#define WAVETUNE_SERVER_FLEET_SIGNED_CONTENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/signing_key.h"

namespace wavetune {

// What the holder of `public_key` wrote; whether that key may is another
// question (fleet_trust.h).
struct SignedContent {
  std::string content;
  std::string public_key;  // 64 hexadecimal digits.
};

// Returns the bytes to store. `purpose` separates domains: a signature for one
// purpose is invalid for another. Cannot fail.
std::string SignContent(absl::string_view purpose, absl::string_view content,
                        const SigningKey& key);

// Reads what stands at `key`. Errors: DATA_LOSS for bytes that are none;
// FAILED_PRECONDITION for a later format; PERMISSION_DENIED for a signature
// that is not of its key, or for another purpose.
absl::StatusOr<SignedContent> ReadSignedContent(absl::string_view purpose,
                                                absl::string_view key,
                                                absl::string_view bytes);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_SIGNED_CONTENT_H_
