// Who calls. Includes gRPC.
//
// Thread safety: functions over thread-safe objects.
#ifndef WAVETUNE_SERVER_RPC_CALLER_H_
#define WAVETUNE_SERVER_RPC_CALLER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/server_context.h"
#include "server/rpc/peer_users.h"

namespace wavetune {

// Returns "tls:" and the name of a call's certificate: a URI of its alternative
// names where there is one, else the first of them, else the common name;
// "unknown" without a certificate. A certificate may hold any bytes.
inline std::string CertificateUser(const grpc::CallbackServerContext& context) {
  constexpr size_t kMostBytes = 256;
  const auto identity = context.auth_context();
  if (identity == nullptr || !identity->IsPeerAuthenticated()) return "unknown";
  std::vector<grpc::string_ref> names =
      identity->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME);
  if (names.empty()) names = identity->GetPeerIdentity();
  if (names.empty()) return "unknown";
  return absl::StrCat(
      "tls:",
      BoundedText({names.front().data(), names.front().size()}, kMostBytes));
}

// Whose a call is: equal texts for equal users.
inline std::string UserOf(const PeerUsers* peers,
                          const grpc::CallbackServerContext& context) {
  if (peers == nullptr) return "unknown";
  // Over TCP its certificate says so.
  const std::string peer = context.peer();
  if (!PeerUsers::IsHandedOver(peer)) return CertificateUser(context);
  const auto connection = peers->Find(peer);
  return connection ? absl::StrCat(connection->user) : "unknown";
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_CALLER_H_
