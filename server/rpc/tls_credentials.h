// Server credentials of a TlsAccess: clients must show a certificate that it
// believes, and its policy judges each of their calls.
//
// Why not gRPC's own watcher of certificate files: it takes whatever it finds,
// and with a key that is not the certificate's it takes no connection any more.
// Here each handshake uses what TlsAccess has last found good. And Debian's
// gRPC has no reader of authorization policies (authorization_policy.h), so
// that calls are judged where gRPC has its hook for that, before any service
// sees them.
//
// Includes gRPC.
#ifndef WAVETUNE_SERVER_RPC_TLS_CREDENTIALS_H_
#define WAVETUNE_SERVER_RPC_TLS_CREDENTIALS_H_

#include <memory>

#include "grpcpp/security/server_credentials.h"
#include "server/rpc/tls_access.h"

namespace wavetune {

// Returns the credentials for one server. What is not allowed is answered
// PERMISSION_DENIED with the caller's name and the method. `access` outlives
// the server. Cannot fail.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    const TlsAccess* access);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_TLS_CREDENTIALS_H_
