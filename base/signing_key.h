// SigningKey: signs texts with Ed25519 (RFC 8032), as OpenSSL has it.
//
//   ASSIGN_OR_RETURN(SigningKey key, SigningKey::Read("/etc/…/node.key"));
//   std::string signature = key.Sign(text);
//   RETURN_IF_ERROR(CheckSignature(key.public_key(), text, signature));
//
// A key is made with: openssl genpkey -algorithm ed25519 -out node.key
//
// Thread safety: immutable.
#ifndef WAVETUNE_BASE_SIGNING_KEY_H_
#define WAVETUNE_BASE_SIGNING_KEY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/openssl_pointers.h"

namespace wavetune {

class SigningKey {
 public:
  // Errors: as ReadPrivateKey; INVALID_ARGUMENT for a key of another kind.
  static absl::StatusOr<SigningKey> Read(const std::string& path);

  // Makes the key whose secret is these 32 bytes. Errors: INVALID_ARGUMENT for
  // another number of bytes.
  static absl::StatusOr<SigningKey> FromSecret(absl::string_view secret);

  // Returns 64 lower-case hexadecimal digits.
  const std::string& public_key() const { return public_key_; }

  // Returns 64 bytes. Cannot fail but where OpenSSL has no memory.
  std::string Sign(absl::string_view text) const;

 private:
  // Errors: INVALID_ARGUMENT for a key of another kind than Ed25519.
  static absl::StatusOr<SigningKey> Of(KeyPtr key);
  SigningKey(KeyPtr key, std::string public_key);

  KeyPtr key_;
  std::string public_key_;
};

// Errors: INVALID_ARGUMENT for text that is no public key; PERMISSION_DENIED
// where the signature is not one of that key over that text.
absl::Status CheckSignature(absl::string_view public_key,
                            absl::string_view text,
                            absl::string_view signature);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_SIGNING_KEY_H_
