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

// Returns the whole answer of 127.0.0.1, its head included; empty where nobody
// answers.
inline std::string HttpGet(int port, const std::string& path) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  const std::string request = "GET " + path +
                              " HTTP/1.1\r\nHost: localhost\r\n"
                              "Connection: close\r\n\r\n";
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                sizeof address) == 0 &&
      ::send(fd, request.data(), request.size(), 0) ==
          static_cast<ssize_t>(request.size())) {
    char part[4096];
    for (ssize_t size = 0; (size = ::recv(fd, part, sizeof part, 0)) > 0;)
      answer.append(part, static_cast<size_t>(size));
  }
  ::close(fd);
  return answer;
}

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_HTTP_GET_H_
