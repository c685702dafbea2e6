#include "server/rpc/tcp_socket.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "server/rpc/connection_kind.h"

namespace wavetune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Connects to a port of this machine, over IPv4 or IPv6.
FileDescriptor ConnectTo(uint16_t port, int family) {
  FileDescriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in plain{};
  plain.sin_family = AF_INET;
  plain.sin_port = htons(port);
  plain.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 longer{};
  longer.sin6_family = AF_INET6;
  longer.sin6_port = htons(port);
  longer.sin6_addr = in6addr_loopback;
  const int result =
      family == AF_INET
          ? ::connect(fd.get(), reinterpret_cast<sockaddr*>(&plain),
                      sizeof(plain))
          : ::connect(fd.get(), reinterpret_cast<sockaddr*>(&longer),
                      sizeof(longer));
  return result == 0 ? std::move(fd) : FileDescriptor();
}

uint16_t PortOf(const ListeningSocket& socket) {
  const std::string& path = socket.path();
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(path.substr(path.rfind(':') + 1), &port));
  return static_cast<uint16_t>(port);
}

FileDescriptor Accept(const ListeningSocket& socket) {
  for (;;) {
    FileDescriptor fd(::accept(socket.fd(), nullptr, nullptr));
    if (fd.valid() || errno != EAGAIN) return fd;
  }
}

TEST(TcpSocketTest, AnAddressIsJudgedWithoutListeningThere) {
  const auto socket = ListenOnTcp("127.0.0.1:0");
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_TRUE(CheckTcpAddress(socket->path()).ok()) << "somebody has it now";
  for (const char* bad : {"127.0.0.1", "127.0.0.1:70000", "127.0.0.256:80",
                          "[::1:80", "127.0.0.1:http"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckTcpAddress(bad))) << bad;
  }
}

TEST(TcpSocketTest, ListensAtAFreePortAndSaysWhich) {
  const auto socket = ListenOnTcp("127.0.0.1:0");
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_THAT(socket->path(), StartsWith("127.0.0.1:"));
  EXPECT_GT(PortOf(*socket), 0);
  EXPECT_TRUE(socket->InPlace());
  EXPECT_TRUE(ConnectTo(PortOf(*socket), AF_INET).valid());
}

TEST(TcpSocketTest, EndsListeningWithTheObject) {
  uint16_t port = 0;
  {
    auto socket = ListenOnTcp("127.0.0.1:0");
    ASSERT_TRUE(socket.ok());
    const ListeningSocket moved = *std::move(socket);
    port = PortOf(moved);
    EXPECT_TRUE(moved.InPlace());
  }
  EXPECT_FALSE(ConnectTo(port, AF_INET).valid());
}

TEST(TcpSocketTest, SaysWhatAnAddressLooksLike) {
  for (const char* address :
       {"", "nonsense", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
        "127.0.0.1:65536", "[::1:7", "no.such.host.invalid:7"}) {
    const absl::Status status = ListenOnTcp(address).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << address << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("HOST:PORT"));
  }
}

TEST(TcpSocketTest, SaysThatSomebodyListensThere) {
  const auto first = ListenOnTcp("127.0.0.1:0");
  ASSERT_TRUE(first.ok());
  const absl::Status second = ListenOnTcp(first->path()).status();
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_THAT(std::string(second.message()),
              AllOf(HasSubstr(first->path()), HasSubstr("--listen-tcp")));
}

TEST(TcpSocketTest, APeerIsItsAddress) {
  const auto socket = ListenOnTcp("[::]:0");
  if (!socket.ok()) GTEST_SKIP() << "no IPv6 here: " << socket.status();
  const FileDescriptor longer = ConnectTo(PortOf(*socket), AF_INET6);
  if (longer.valid()) {
    const auto peer = TlsConnections().peer_of(Accept(*socket).get());
    ASSERT_TRUE(peer);
    EXPECT_EQ(peer->address, "::1");
    EXPECT_EQ(peer->Text(), "address ::1");
  }
  // IPv4 at the same socket.
  const FileDescriptor plain = ConnectTo(PortOf(*socket), AF_INET);
  ASSERT_TRUE(plain.valid());
  const auto peer = TlsConnections().peer_of(Accept(*socket).get());
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->address, "127.0.0.1");
  EXPECT_EQ(peer->Text(), "address 127.0.0.1");
  EXPECT_EQ(peer->user, 0x7f000001u);
}

}  // namespace
}  // namespace wavetune
