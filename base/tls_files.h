// TlsFiles: what one end of TLS connections shows of itself and trusts.
//
// Key, certificate and chain are validated together. A key of another
// certificate, a file cut in the middle of any of its blocks, or an
// incomplete chain is an error, and the caller keeps the previous
// files.
//
//   ASSIGN_OR_RETURN(const TlsMaterial material, ReadTlsFiles(files));
//
// Thread safety: plain values and pure functions of files on disk.
#ifndef WAVETUNE_BASE_TLS_FILES_H_
#define WAVETUNE_BASE_TLS_FILES_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/environment_variable.h"
#include "base/openssl_pointers.h"

namespace wavetune {

// Paths of PEM files.
struct TlsFiles {
  std::string cert;  // The certificate, and those between it and its authority.
  std::string key;   // Its private key, without a password.
  std::string ca;    // The authorities whose certificates are believed.
};

// Their contents.
struct TlsMaterial {
  std::string cert;
  std::string key;
  std::string ca;
  // While the certificate and those between it and its authority all are.
  absl::Time valid_from;
  absl::Time valid_until;

  friend bool operator==(const TlsMaterial&, const TlsMaterial&) = default;
};

// Reads and checks the files. A link is followed: secrets are often mounted as
// links. Errors: as ReadInputFile. PERMISSION_DENIED where somebody else may
// write a file or a folder on the way to it, or everybody read the key.
// INVALID_ARGUMENT for text that is no PEM file or is cut in the middle, a key
// with a password, or a key that is not the first certificate's. So it is for a
// certificate that the one after it has not signed. Each has the path. A
// certificate that is not valid at this time is no error here (CheckValid).
absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFiles& files);

// Returns the certificates of a PEM text, up to the first fault, which is
// OpenSSL's last error. Cannot fail.
std::vector<CertificatePtr> CertificatesIn(const std::string& pem);

// Returns whose a certificate is, for people. Cannot fail.
std::string SubjectOf(X509* certificate);

// Errors: FAILED_PRECONDITION where the certificate in the file `path` has
// expired at `now`, or is not valid yet.
absl::Status CheckValid(const TlsMaterial& material, const std::string& path,
                        absl::Time now);

// Returns whether a gRPC target ("unix:/path", "host:port") is reached over a
// network. Cannot fail.
bool IsOverTcp(absl::string_view target);

// Returns a variable's value, empty where it is not set.
using TlsEnvironment = std::function<std::string(const char* name)>;

// Returns the files that WAVETUNE_TLS_CERT, WAVETUNE_TLS_KEY and
// WAVETUNE_TLS_CA name, nothing where none of the three is set. Errors:
// INVALID_ARGUMENT naming those that are missing.
absl::StatusOr<std::optional<TlsFiles>> TlsFilesFromEnvironment(
    const TlsEnvironment& environment = EnvironmentVariable);

}  // namespace wavetune

#endif  // WAVETUNE_BASE_TLS_FILES_H_
