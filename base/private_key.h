// PrivateKey: a private key in a PEM file that only its owner may read.
//
// Thread safety: pure functions of files on disk.
#ifndef WAVETUNE_BASE_PRIVATE_KEY_H_
#define WAVETUNE_BASE_PRIVATE_KEY_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/openssl_pointers.h"

namespace wavetune {

// Returns a file's content that not everybody may read, as a password. Errors:
// as ReadOwnInputFile; PERMISSION_DENIED where everybody may read it.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

struct PrivateKey {
  std::string pem;
  KeyPtr key;
};

// Reads a key without a password. A link is followed: secrets are often mounted
// as links. Errors: as ReadOwnInputFile; PERMISSION_DENIED where everybody may
// read it; INVALID_ARGUMENT for what holds no such key.
absl::StatusOr<PrivateKey> ReadPrivateKey(const std::string& path);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_PRIVATE_KEY_H_
