#include "tests/lib/freezing_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace wavetune::testing {
namespace {

// A test cannot go on without its network.
void Require(bool done, const char* what) {
  if (done) return;
  std::perror(what);
  std::abort();
}

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Passes on what is there; returns whether the connection goes on.
bool Pass(int from, int to) {
  std::array<char, 65536> bytes;
  const ssize_t count = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0) return true;
  if (count == 0) return false;
  return ::send(to, bytes.data(), static_cast<size_t>(count), MSG_NOSIGNAL) ==
         count;
}

}  // namespace

FreezingRelay::FreezingRelay(uint16_t port)
    : port_(port),
      listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  Require(::bind(listening_, generic, size) == 0, "bind");
  Require(::listen(listening_, 16) == 0, "listen");
  Require(::getsockname(listening_, generic, &size) == 0, "getsockname");
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  thread_ = std::thread([this] { Run(); });
}

FreezingRelay::~FreezingRelay() {
  ending_ = true;
  thread_.join();
  for (const auto& [near, far] : pairs_) {
    ::close(near);
    ::close(far);
  }
  ::close(listening_);
}

void FreezingRelay::Run() {
  while (!ending_) {
    if (frozen_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    std::vector<pollfd> looks = {{listening_, POLLIN, 0}};
    for (const auto& [near, far] : pairs_) {
      looks.push_back({near, POLLIN, 0});
      looks.push_back({far, POLLIN, 0});
    }
    ::poll(looks.data(), looks.size(), /*timeout=*/10);
    if (frozen_) continue;
    if (looks[0].revents != 0) Accept();
    std::erase_if(pairs_, [](const std::pair<int, int>& pair) {
      if (Pass(pair.first, pair.second) && Pass(pair.second, pair.first)) {
        return false;
      }
      ::close(pair.first);
      ::close(pair.second);
      return true;
    });
  }
}

void FreezingRelay::Accept() {
  const int near = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
  if (near < 0) return;
  const int far = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port_);
  Require(::connect(far, reinterpret_cast<const sockaddr*>(&address),
                    sizeof(address)) == 0,
          "connect");
  pairs_.emplace_back(near, far);
}

}  // namespace wavetune::testing
