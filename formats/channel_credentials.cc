#include "formats/channel_credentials.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"

namespace wavetune {
namespace {

namespace tls = grpc::experimental;

// How often gRPC looks at the files.
constexpr unsigned kTlsLookSeconds = 10;

std::shared_ptr<grpc::ChannelCredentials> TlsCredentialsOf(
    const TlsFiles& files) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<tls::FileWatcherCertificateProvider>(
          files.key, files.cert, files.ca, kTlsLookSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls::TlsCredentials(options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(
    absl::string_view target, const TlsEnvironment& environment) {
  if (!IsOverTcp(target)) return grpc::InsecureChannelCredentials();
  ASSIGN_OR_RETURN(const std::optional<TlsFiles> files,
                   TlsFilesFromEnvironment(environment));
  if (!files) return grpc::InsecureChannelCredentials();
  // gRPC only logs what is wrong with them, and never connects.
  RETURN_IF_ERROR(ReadTlsFiles(*files).status());
  return TlsCredentialsOf(*files);
}

void PrepareForTcp(absl::string_view target, grpc::ChannelArguments* arguments,
                   std::chrono::milliseconds ping_after,
                   std::chrono::milliseconds pong_within) {
  if (!IsOverTcp(target)) return;
  arguments->SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments->SetInt(GRPC_ARG_KEEPALIVE_TIME_MS,
                    static_cast<int>(ping_after.count()));
  arguments->SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                    static_cast<int>(pong_within.count()));
  // A watch says nothing for hours: pings without end are the rule.
  arguments->SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

std::string AdviceForTcp(absl::string_view target,
                         const TlsEnvironment& environment) {
  if (!IsOverTcp(target)) return "";
  const auto files = TlsFilesFromEnvironment(environment);
  if (!files.ok()) return std::string(files.status().message());
  if (!files->has_value()) {
    return "a daemon takes no connection over TCP without a certificate: set "
           "WAVETUNE_TLS_CERT, WAVETUNE_TLS_KEY and WAVETUNE_TLS_CA";
  }
  return absl::StrCat(
      "if something listens there, see whether ", (*files)->cert,
      " is valid and of an authority that the daemon believes (its --tls-ca), "
      "and the daemon's certificate names this host and is of an authority in ",
      (*files)->ca);
}

}  // namespace wavetune
