#include "base/tls_files.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/input_file.h"
#include "base/private_key.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

// A bundle of all public authorities has some 250 KiB.
constexpr size_t kMostPemBytes = size_t{1} << 20;

absl::Status IsCut(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      " is cut in the middle of a PEM block: put a whole file there, by "
      "renaming one"));
}

// Whether each block of a PEM file has its end. OpenSSL takes a file for ended
// where the beginning of a block is cut.
bool HasWholeBlocks(absl::string_view pem) {
  std::string open;  // What the block that is open ends with.
  for (absl::string_view line : absl::StrSplit(pem, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (!absl::StartsWith(line, "-")) continue;
    if (!absl::StartsWith(line, "-----") || !absl::EndsWith(line, "-----")) {
      return false;
    }
    if (!open.empty()) {
      if (line != open) return false;
      open.clear();
    } else if (absl::ConsumePrefix(&line, "-----BEGIN ")) {
      open = absl::StrCat("-----END ", line);
    } else {
      return false;
    }
  }
  return open.empty();
}

// Returns all certificates of a file, one at least.
absl::StatusOr<std::vector<CertificatePtr>> Certificates(
    const std::string& path, const std::string& pem) {
  std::vector<CertificatePtr> certificates = CertificatesIn(pem);
  const unsigned long last = ERR_peek_last_error();  // NOLINT: OpenSSL's.
  const bool ended = ERR_GET_LIB(last) == ERR_LIB_PEM &&
                     ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!ended || !HasWholeBlocks(pem)) return IsCut(path);
  if (!certificates.empty()) return certificates;
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   " holds no certificate: a PEM file with a block -----BEGIN "
                   "CERTIFICATE----- is expected"));
}

// Each certificate is signed by the one after it: a link that is missing is
// found by peers only, and they say nothing that helps.
absl::Status CheckChain(const std::string& path,
                        const std::vector<CertificatePtr>& chain) {
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    X509* const above = chain[i + 1].get();
    const bool issued =
        X509_check_issued(above, chain[i].get()) == X509_V_OK &&
        X509_verify(chain[i].get(), X509_get0_pubkey(above)) == 1;
    ERR_clear_error();
    if (issued) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": certificate ", i + 2, " (", SubjectOf(chain[i + 1].get()),
        ") has not signed the one before it (", SubjectOf(chain[i].get()),
        "): put the certificate first, then each one's authority"));
  }
  return absl::OkStatus();
}

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

}  // namespace

std::vector<CertificatePtr> CertificatesIn(const std::string& pem) {
  const BioPtr reads(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<CertificatePtr> certificates;
  while (X509* const next =
             PEM_read_bio_X509(reads.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next);
  }
  return certificates;
}

std::string SubjectOf(X509* certificate) {
  const BioPtr writes(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(writes.get(), X509_get_subject_name(certificate), 0,
                     XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(writes.get(), &text);  // NOLINT: as above.
  return std::string(text, static_cast<size_t>(size));
}

absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFiles& files) {
  TlsMaterial material;
  ASSIGN_OR_RETURN(PrivateKey key, ReadPrivateKey(files.key));
  material.key = std::move(key.pem);
  ASSIGN_OR_RETURN(material.cert, ReadOwnInputFile(files.cert, kMostPemBytes));
  ASSIGN_OR_RETURN(material.ca, ReadOwnInputFile(files.ca, kMostPemBytes));
  ASSIGN_OR_RETURN(const std::vector<CertificatePtr> chain,
                   Certificates(files.cert, material.cert));
  RETURN_IF_ERROR(Certificates(files.ca, material.ca).status());
  RETURN_IF_ERROR(CheckChain(files.cert, chain));
  const bool fits = X509_check_private_key(chain[0].get(), key.key.get()) == 1;
  ERR_clear_error();
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.key, " is not the key of the certificate in ",
                     files.cert, ": put a pair there that belongs together"));
  }
  material.valid_from = absl::InfinitePast();
  material.valid_until = absl::InfiniteFuture();
  for (const CertificatePtr& link : chain) {
    material.valid_from =
        std::max(material.valid_from, ToTime(X509_get0_notBefore(link.get())));
    material.valid_until =
        std::min(material.valid_until, ToTime(X509_get0_notAfter(link.get())));
  }
  return material;
}

absl::Status CheckValid(const TlsMaterial& material, const std::string& path,
                        absl::Time now) {
  const bool early = now < material.valid_from;
  if (!early && now < material.valid_until) return absl::OkStatus();
  const absl::Time time = early ? material.valid_from : material.valid_until;
  return absl::FailedPreconditionError(absl::StrCat(
      "the certificate in ", path,
      early ? " is not valid before " : " has expired at ",
      absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone()),
      early ? ": see whether this machine's clock is right" : ""));
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
