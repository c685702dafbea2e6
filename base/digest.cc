#include "base/digest.h"

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdlib>

namespace wavetune {
namespace {

constexpr size_t kHexDigits = 64;

// Returns the value of a lower-case hexadecimal digit, or -1.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Sha256Hex(absl::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int size = 0;
  // Only fails where OpenSSL has no SHA-256 or no memory: no identity, no
  // service.
  if (EVP_Digest(bytes.data(), bytes.size(), hash.data(), &size, EVP_sha256(),
                 nullptr) != 1) {
    std::abort();
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(kHexDigits);
  for (unsigned int i = 0; i < size; ++i) {
    hex.push_back(kDigits[hash[i] >> 4]);
    hex.push_back(kDigits[hash[i] & 15]);
  }
  return hex;
}

bool IsSha256Hex(absl::string_view text) {
  if (text.size() != kHexDigits) return false;
  for (const char c : text) {
    if (HexValue(c) < 0) return false;
  }
  return true;
}

std::string ShortDigest(absl::string_view hex_digest) {
  return std::string(hex_digest.substr(0, 16));
}

uint64_t DigestPrefix(absl::string_view hex_digest) {
  if (!IsSha256Hex(hex_digest)) return 0;
  uint64_t prefix = 0;
  for (const char c : hex_digest.substr(0, 16)) {
    prefix = prefix << 4 | static_cast<uint64_t>(HexValue(c));
  }
  return prefix;
}

std::string TableSetDigest(
    const std::map<std::string, std::string>& kernel_to_digest) {
  std::string lines;
  for (const auto& [kernel, digest] : kernel_to_digest) {
    lines += kernel;
    lines += ' ';
    lines += digest;
    lines += '\n';
  }
  return Sha256Hex(lines);
}

}  // namespace wavetune
