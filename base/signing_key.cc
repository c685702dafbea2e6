#include "base/signing_key.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/input_file.h"
#include "base/private_key.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

using ContextPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;

constexpr size_t kKeyBytes = 32;
constexpr size_t kSignatureBytes = 64;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

SigningKey::SigningKey(KeyPtr key, std::string public_key)
    : key_(std::move(key)), public_key_(std::move(public_key)) {}

absl::StatusOr<SigningKey> SigningKey::Of(KeyPtr key) {
  std::array<unsigned char, kKeyBytes> bytes{};
  size_t size = bytes.size();
  const bool fits =
      key != nullptr && EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519 &&
      EVP_PKEY_get_raw_public_key(key.get(), bytes.data(), &size) == 1;
  ERR_clear_error();
  if (!fits) {
    return absl::InvalidArgumentError(
        "it is no Ed25519 key: make one with openssl genpkey -algorithm "
        "ed25519 -out FILE");
  }
  return SigningKey(std::move(key),
                    absl::BytesToHexString(absl::string_view(
                        reinterpret_cast<const char*>(bytes.data()), size)));
}

absl::StatusOr<SigningKey> SigningKey::Read(const std::string& path) {
  ASSIGN_OR_RETURN(PrivateKey file, ReadPrivateKey(path));
  auto key = Of(std::move(file.key));
  if (!key.ok()) return AtPath(key.status(), path);
  return key;
}

absl::StatusOr<SigningKey> SigningKey::FromSecret(absl::string_view secret) {
  return Of(KeyPtr(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                                Bytes(secret), secret.size())));
}

std::string SigningKey::Sign(absl::string_view text) const {
  const ContextPtr context(EVP_MD_CTX_new());
  std::string signature(kSignatureBytes, '\0');
  size_t size = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr,
                         key_.get()) != 1 ||
      EVP_DigestSign(context.get(),
                     reinterpret_cast<unsigned char*>(signature.data()), &size,
                     Bytes(text), text.size()) != 1) {
    std::abort();  // No memory.
  }
  return signature;
}

absl::Status CheckSignature(absl::string_view public_key,
                            absl::string_view text,
                            absl::string_view signature) {
  // As many digits as a digest.
  if (!IsSha256Hex(public_key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", public_key,
                     "' is no public key of 64 lower-case hexadecimal digits"));
  }
  const std::string raw = absl::HexStringToBytes(public_key);
  const KeyPtr key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr,
                                               Bytes(raw), raw.size()));
  const ContextPtr context(EVP_MD_CTX_new());
  const bool good =
      key != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr,
                           key.get()) == 1 &&
      EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                       Bytes(text), text.size()) == 1;
  ERR_clear_error();
  if (good) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "the signature is not one of key ", public_key.substr(0, 16)));
}

}  // namespace wavetune
