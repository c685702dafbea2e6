// SHA-256, as the identity of payloads, fingerprints and table sets.
//
//   std::string digest = Sha256Hex(payload);
//   uint64_t prefix = DigestPrefix(digest);  // What a Decision carries.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_BASE_DIGEST_H_
#define WAVETUNE_BASE_DIGEST_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace wavetune {

// Returns the SHA-256 of `bytes` as 64 lower-case hexadecimal digits. Cannot
// fail.
std::string Sha256Hex(absl::string_view bytes);

// Returns whether `text` is 64 lower-case hexadecimal digits. Cannot fail.
bool IsSha256Hex(absl::string_view text);

// Returns the first 16 digits of a hex digest: how people are told of a table,
// and the bytes that a Decision carries. Cannot fail.
std::string ShortDigest(absl::string_view hex_digest);

// Returns the first 8 bytes of a hex digest as a big-endian number; 0 for
// anything that is not a hex digest.
uint64_t DigestPrefix(absl::string_view hex_digest);

// Returns the digest of a table set {kernel name -> table digest}: SHA-256 over
// "name digest\n" lines in name order. Cannot fail.
std::string TableSetDigest(
    const std::map<std::string, std::string>& kernel_to_digest);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_DIGEST_H_
