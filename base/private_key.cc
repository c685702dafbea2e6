#include "base/private_key.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/input_file.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

constexpr size_t kMostKeyBytes = size_t{1} << 20;

// OpenSSL asks for a password on the terminal unless it is told that there is
// none.
int NoPassword(char*, int, int, void*) { return 0; }

absl::Status CheckSecret(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || (info.st_mode & S_IROTH) == 0) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrFormat(
      "%s can be read by everybody (mode %04o), who could then pass for its "
      "owner: chmod o-r %s",
      path, info.st_mode & 07777, path));
}

}  // namespace

absl::StatusOr<std::string> ReadSecretFile(const std::string& path) {
  RETURN_IF_ERROR(CheckSecret(path));
  return ReadOwnInputFile(path, kMostKeyBytes);
}

absl::StatusOr<PrivateKey> ReadPrivateKey(const std::string& path) {
  PrivateKey key;
  ASSIGN_OR_RETURN(key.pem, ReadSecretFile(path));
  const BioPtr reads(
      BIO_new_mem_buf(key.pem.data(), static_cast<int>(key.pem.size())));
  key.key.reset(
      PEM_read_bio_PrivateKey(reads.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (key.key != nullptr) return key;
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   " holds no private key without a password: a PEM file with "
                   "a block -----BEGIN PRIVATE KEY----- is expected"));
}

}  // namespace wavetune
