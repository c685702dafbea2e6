#include "base/tls_files.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/input_file.h"
#include "base/openssl_pointers.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

// A bundle of all public authorities has some 250 KiB.
constexpr size_t kMostPemBytes = size_t{1} << 20;

BioPtr ReadsFrom(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

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

// Returns the first certificate of a file.
absl::StatusOr<CertificatePtr> Certificate(const std::string& path,
                                           const std::string& pem) {
  CertificatePtr certificate(
      PEM_read_bio_X509(ReadsFrom(pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (certificate != nullptr) return certificate;
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   " holds no certificate: a PEM file with a block -----BEGIN "
                   "CERTIFICATE----- is expected"));
}

absl::StatusOr<KeyPtr> Key(const std::string& path, const std::string& pem) {
  KeyPtr key(PEM_read_bio_PrivateKey(ReadsFrom(pem).get(), nullptr, NoPassword,
                                     nullptr));
  ERR_clear_error();
  if (key != nullptr) return key;
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   " holds no private key without a password: a PEM file with "
                   "a block -----BEGIN PRIVATE KEY----- is expected"));
}

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFiles& files) {
  TlsMaterial material;
  RETURN_IF_ERROR(CheckSecret(files.key));
  ASSIGN_OR_RETURN(material.key, ReadOwnInputFile(files.key, kMostPemBytes));
  ASSIGN_OR_RETURN(material.cert, ReadOwnInputFile(files.cert, kMostPemBytes));
  ASSIGN_OR_RETURN(material.ca, ReadOwnInputFile(files.ca, kMostPemBytes));
  ASSIGN_OR_RETURN(const KeyPtr key, Key(files.key, material.key));
  ASSIGN_OR_RETURN(const CertificatePtr certificate,
                   Certificate(files.cert, material.cert));
  RETURN_IF_ERROR(Certificate(files.ca, material.ca).status());
  const bool fits = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.key, " is not the key of the certificate in ",
                     files.cert, ": put a pair there that belongs together"));
  }
  material.valid_from = ToTime(X509_get0_notBefore(certificate.get()));
  material.valid_until = ToTime(X509_get0_notAfter(certificate.get()));
  return material;
}

bool IsOverTcp(absl::string_view target) {
  return !absl::StartsWith(target, "unix:") &&
         !absl::StartsWith(target, "unix-abstract:");
}

absl::StatusOr<std::optional<TlsFiles>> TlsFilesFromEnvironment(
    const TlsEnvironment& environment) {
  TlsFiles files;
  const std::array<std::pair<const char*, std::string*>, 3> variables = {{
      {"WAVETUNE_TLS_CERT", &files.cert},
      {"WAVETUNE_TLS_KEY", &files.key},
      {"WAVETUNE_TLS_CA", &files.ca},
  }};
  std::vector<absl::string_view> missing;
  for (const auto& [name, path] : variables) {
    *path = environment(name);
    if (path->empty()) missing.emplace_back(name);
  }
  if (missing.size() == variables.size()) return std::nullopt;
  if (missing.empty()) return files;
  return absl::InvalidArgumentError(absl::StrCat(
      "for TLS all of WAVETUNE_TLS_CERT, WAVETUNE_TLS_KEY and WAVETUNE_TLS_CA "
      "are needed; missing: ",
      absl::StrJoin(missing, ", ")));
}

}  // namespace wavetune
