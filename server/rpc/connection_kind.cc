#include "server/rpc/connection_kind.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/http2_frames.h"

namespace wavetune {
namespace {

// A handshake record of TLS 1.0 or later (RFC 8446, section 5.1).
constexpr absl::string_view kTlsOpening = "\x16\x03";
// 255.255.255.255 and a number that no hash below has: nobody connects from it.
constexpr uid_t kNoAddress = static_cast<uid_t>(-1);

std::optional<ConnectionPeer> UnixPeerOf(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::nullopt;
  }
  return ConnectionPeer{.user = peer.uid, .process = peer.pid, .address = ""};
}

// In HTTP/1.1, which every client can tell from HTTP/2: gRPC takes it for a
// failed attempt and waits before the next. A GOAWAY in HTTP/2 would say that
// the connection stood, and gRPC would connect anew at once, for ever.
std::string HttpRefusal(absl::string_view reason) {
  return absl::StrCat(
      "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\n"
      "Content-Length: ",
      reason.size(), "\r\nConnection: close\r\n\r\n", reason);
}

ConnectionPeer PeerAt(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return {.user = ntohl(address.sin_addr.s_addr),
          .process = 0,
          .address = text.data()};
}

// Those of one network of 64 bits count as one: a host has as many addresses
// there as it likes.
ConnectionPeer PeerAt(const sockaddr_in6& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
  uint64_t network = 0;
  std::memcpy(&network, &address.sin6_addr, sizeof(network));
  const auto folded = static_cast<uid_t>(network ^ (network >> 32));
  return {.user = folded == 0 || folded == kNoAddress ? 1 : folded,
          .process = 0,
          .address = text.data()};
}

// An IPv4 address that came to an IPv6 socket.
sockaddr_in Unmapped(const sockaddr_in6& address) {
  sockaddr_in plain{};
  plain.sin_family = AF_INET;
  std::memcpy(&plain.sin_addr, &address.sin6_addr.s6_addr[12],
              sizeof(plain.sin_addr));
  return plain;
}

std::optional<ConnectionPeer> TcpPeerOf(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return std::nullopt;
  }
  if (storage.ss_family == AF_INET) {
    return PeerAt(reinterpret_cast<const sockaddr_in&>(storage));
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  const auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr))
    return PeerAt(Unmapped(address));
  return PeerAt(address);
}

// Before a handshake nothing can be said that a client would show.
std::string SilentRefusal(absl::string_view) { return ""; }

}  // namespace

ConnectionKind UnixConnections() {
  return {.opening = kHttp2Opening,
          .peer_of = UnixPeerOf,
          .refusal = HttpRefusal,
          .owner = ::geteuid()};
}

ConnectionKind TlsConnections() {
  return {.opening = kTlsOpening,
          .peer_of = TcpPeerOf,
          .refusal = SilentRefusal,
          .owner = kNoAddress};
}

}  // namespace wavetune
