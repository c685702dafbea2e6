// HttpGet: one request over HTTP, for tests of what answers there.
#ifndef WAVETUNE_SERVER_HTTP_GET_H_
#define WAVETUNE_SERVER_HTTP_GET_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace wavetune {

// Returns a connection to 127.0.0.1, or ::1; -1 where nobody takes it.
inline int ConnectToHttp(int port, bool ipv6 = false) {
  const int fd = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 address6{};
  address6.sin6_family = AF_INET6;
  address6.sin6_port = htons(static_cast<uint16_t>(port));
  address6.sin6_addr = in6addr_loopback;
  const int connected =
      ipv6 ? ::connect(fd, reinterpret_cast<const sockaddr*>(&address6),
                       sizeof address6)
           : ::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                       sizeof address);
  if (connected == 0) return fd;
  ::close(fd);
  return -1;
}

// Returns the whole answer on a connection, its head included, and ends it;
// empty where nobody answers.
inline std::string HttpAsk(int fd, const std::string& path,
                           const std::string& method = "GET") {
  std::string answer;
  const std::string request = method + " " + path +
                              " HTTP/1.1\r\nHost: localhost\r\n"
                              "Connection: close\r\n\r\n";
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size())) {
    char part[4096];
    for (ssize_t size = 0; (size = ::recv(fd, part, sizeof part, 0)) > 0;)
      answer.append(part, static_cast<size_t>(size));
  }
  ::close(fd);
  return answer;
}

inline std::string HttpGet(int port, const std::string& path) {
  return HttpAsk(ConnectToHttp(port), path);
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_HTTP_GET_H_
