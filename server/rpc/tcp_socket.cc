#include "server/rpc/tcp_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "server/rpc/socket_lock.h"

namespace wavetune {
namespace {

constexpr int kTcpBacklog = 1024;

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// An address, and what it was given by.
struct Given {
  const std::string& address;
  absl::string_view option;
};

absl::Status BadAddress(const Given& given, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      given.option, ": cannot listen on \"", given.address, "\": ", why,
      "; give HOST:PORT, for example 127.0.0.1:9477 or [::1]:9477"));
}

// Returns the addresses that "host:port" stands for.
absl::StatusOr<Addresses> LookUp(const Given& given) {
  const std::string& address = given.address;
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535) {
    return BadAddress(given, "it has no port");
  }
  absl::string_view host(address.data(), colon);
  if (absl::ConsumePrefix(&host, "[") && !absl::ConsumeSuffix(&host, "]")) {
    return BadAddress(given, "a bracket is missing");
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(host.empty() ? nullptr : std::string(host).c_str(),
                    absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) return BadAddress(given, ::gai_strerror(error));
  return Addresses(found);
}

absl::Status CannotListen(const Given& given, int error) {
  const std::string text = absl::StrCat("cannot listen on ", given.address,
                                        ": ", std::strerror(error));
  if (OutOfDescriptors(error)) {
    return absl::ResourceExhaustedError(absl::StrCat(text, kMoreDescriptors));
  }
  if (error == EADDRINUSE) {
    return absl::AlreadyExistsError(absl::StrCat(
        text, ": stop what listens there, or choose another ", given.option));
  }
  if (error == EACCES) {
    return absl::PermissionDeniedError(
        absl::StrCat(text, ": ports below 1024 are root's; choose another"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(text, ": choose an address of this machine"));
}

// Returns "host:port" of a socket, with numbers.
std::string AddressOf(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const address = reinterpret_cast<sockaddr*>(&bound);
  if (::getsockname(fd, address, &size) != 0 ||
      ::getnameinfo(address, size, host.data(), host.size(), port.data(),
                    port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "TCP";
  }
  const bool brackets = bound.ss_family == AF_INET6;
  return absl::StrCat(brackets ? "[" : "", host.data(), brackets ? "]:" : ":",
                      port.data());
}

}  // namespace

absl::Status CheckTcpAddress(const std::string& address,
                             absl::string_view option) {
  return LookUp({address, option}).status();
}

absl::StatusOr<ListeningSocket> ListenOnTcp(const std::string& address,
                                            absl::string_view option) {
  const Given given = {address, option};
  ASSIGN_OR_RETURN(const Addresses addresses, LookUp(given));
  FileDescriptor fd(::socket(addresses->ai_family,
                             SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return CannotListen(given, errno);
  // A daemon that is started anew does not wait for connections of the one
  // before. Cannot fail.
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(fd.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      ::listen(fd.get(), kTcpBacklog) != 0) {
    return CannotListen(given, errno);
  }
  std::string name = AddressOf(fd.get());
  return ListeningSocket::WithoutFile(std::move(fd), std::move(name));
}

}  // namespace wavetune
