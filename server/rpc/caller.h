// Who calls. Includes gRPC.
//
// Thread safety: functions over thread-safe objects.
#ifndef WAVETUNE_SERVER_RPC_CALLER_H_
#define WAVETUNE_SERVER_RPC_CALLER_H_

#include <string>

#include "grpcpp/server_context.h"
#include "server/rpc/peer_users.h"

namespace wavetune {

// Whose a call is: equal texts for equal users.
inline std::string UserOf(const PeerUsers* peers,
                          const grpc::CallbackServerContext& context) {
  if (peers == nullptr) return "unknown";
  const auto connection = peers->Find(context.peer());
  return connection ? connection->user : "unknown";
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_CALLER_H_
