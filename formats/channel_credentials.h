// Credentials of the three that connect to a daemon: client, agent and command
// line.
//
// A unix socket needs none: its mode says who gets in. Over TCP the
// daemon takes TLS alone, with a certificate: the files that
// WAVETUNE_TLS_CERT, WAVETUNE_TLS_KEY and WAVETUNE_TLS_CA name
// (base/tls_files.h). They are read again every 10 s, so that a process
// that runs for months shows the present ones when it connects anew.
// Without the three a connection over TCP is plaintext, which no daemon
// takes: somebody's proxy must be there.
//
// Thread safety: functions; they read the environment. Includes gRPC.
#ifndef WAVETUNE_FORMATS_CHANNEL_CREDENTIALS_H_
#define WAVETUNE_FORMATS_CHANNEL_CREDENTIALS_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/environment_variable.h"
#include "base/tls_files.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace wavetune {

// Returns the credentials for a gRPC target. Errors: INVALID_ARGUMENT for some
// of the variables without the others; as ReadTlsFiles. Cost: over TCP reads
// the files, and a thread of gRPC's while the credentials live.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(
    absl::string_view target,
    const TlsEnvironment& environment = EnvironmentVariable);

// Has a channel over TCP notice a daemon that is gone without a word (a machine
// without power, a network in two parts): within kDeadAfter its calls end as
// UNAVAILABLE. Nor does a proxy of the environment (http_proxy, https_proxy,
// grpc_proxy) stand between: those are for the web, and set for everybody on a
// machine. A unix socket needs none of it. Cannot fail.
inline constexpr std::chrono::seconds kPingAfter{30};
inline constexpr std::chrono::seconds kPongWithin{10};
inline constexpr std::chrono::seconds kDeadAfter = kPingAfter + kPongWithin;
void PrepareForTcp(absl::string_view target, grpc::ChannelArguments* arguments,
                   std::chrono::milliseconds ping_after = kPingAfter,
                   std::chrono::milliseconds pong_within = kPongWithin);

// Returns what to look at where a target cannot be reached over TCP, as gRPC
// does not say why a handshake failed; empty for a unix socket. Cannot fail.
std::string AdviceForTcp(
    absl::string_view target,
    const TlsEnvironment& environment = EnvironmentVariable);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_CHANNEL_CREDENTIALS_H_
