// TLS of the daemon's end of a connection, on OpenSSL, which Debian mends: who
// is at the other end is known before anything else reads what it says.
//
//   TlsServer server(access);
//   ASSIGN_OR_RETURN(auto session, server.Begin(fd));
//   while (session->Handshake() == TlsSession::Step::kMore) ...  // Poll.
//   session->names();
//
// Thread safety: for one thread. Includes no gRPC.
#ifndef WAVETUNE_SERVER_RPC_TLS_SESSION_H_
#define WAVETUNE_SERVER_RPC_TLS_SESSION_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/openssl_pointers.h"
#include "server/rpc/authorization_policy.h"
#include "server/rpc/tls_access.h"

struct ssl_st;
struct ssl_ctx_st;

namespace wavetune {

// Returns whom a certificate names (CertificateNames). Cannot fail.
CertificateNames NamesIn(X509* certificate);

class TlsSession {
 public:
  enum class Step { kDone, kMore, kFailed };
  // As of a socket that does not block.
  static constexpr ssize_t kAgain = -1;
  static constexpr ssize_t kEnd = 0;  // Also where it broke.

  ~TlsSession();  // Says goodbye, as far as it can.
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Goes on with the handshake, as far as the socket lets it.
  Step Handshake();
  // Why it failed, or what came was no TLS.
  const std::string& problem() const { return problem_; }
  // Whom the peer's certificate names; after kDone.
  const CertificateNames& names() const { return names_; }

  // Return how many bytes went, kAgain or kEnd.
  ssize_t Read(char* bytes, size_t size);
  ssize_t Write(const char* bytes, size_t size);

 private:
  friend class TlsServer;
  explicit TlsSession(ssl_st* ssl);

  // Whether the peer's first words have been seen to be of a size that is to
  // be taken: OpenSSL reserves what they announce.
  Step LookAtHello();
  // OpenSSL's, of each record and message.
  static void Hear(int is_sent, int version, int type, const void* bytes,
                   size_t size, ssl_st* ssl, void* session);
  // What the last call has come to.
  ssize_t Outcome(int result);

  ssl_st* const ssl_;
  bool broken_ = false;
  bool hello_seen_ = false;
  int records_ = 0;  // Read by the function of the interface that runs.
  std::string problem_;
  CertificateNames names_;
};

class TlsServer {
 public:
  // `access` outlives the object.
  explicit TlsServer(const TlsAccess* access) : access_(access) {}
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  // Begins on a socket that does not block and outlives the session, with the
  // certificate and authorities of now. Errors: INTERNAL where OpenSSL cannot
  // use them.
  absl::StatusOr<std::unique_ptr<TlsSession>> Begin(int fd);

 private:
  absl::Status Renew();

  const TlsAccess* const access_;
  uint64_t generation_ = 0;  // context_'s.
  ssl_ctx_st* context_ = nullptr;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_TLS_SESSION_H_
