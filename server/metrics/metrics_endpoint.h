// MetricsEndpoint: where Prometheus asks for a daemon's metrics over HTTP.
//
//   ASSIGN_OR_RETURN(auto endpoint,
//                    MetricsEndpoint::Start("127.0.0.1:9478", sources));
//   ...                             // GET http://127.0.0.1:9478/metrics
//
// Whoever reaches the address may read: it names kernels, devices and drivers,
// nothing else. So it is off unless asked for, and is meant for the loopback
// address or a network of the operator's own (docs/metrics.md).
//
// Why no library: Debian's civetweb listens on IPv6 nowhere, and has a thread
// for each connection that says half of something. Here one thread waits for
// all of them; a client sends one short request, and its answer ends the
// connection.
//
// Thread safety: Start and destruction from one thread. Includes no gRPC.
#ifndef WAVETUNE_SERVER_METRICS_METRICS_ENDPOINT_H_
#define WAVETUNE_SERVER_METRICS_METRICS_ENDPOINT_H_

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/file_descriptor.h"
#include "server/metrics/metrics_sources.h"
#include "server/rpc/unix_socket.h"

namespace wavetune {

class MetricsEndpoint {
 public:
  // Connections at once: then the oldest makes room.
  static constexpr size_t kMostConnections = 64;
  // Bytes of a request's head.
  static constexpr size_t kMostRequestBytes = size_t{8} << 10;
  // From a connection's beginning to the end of its request, and again to the
  // end of its answer.
  static constexpr std::chrono::seconds kPatience{5};

  // Listens at an address of ListenOnTcp. Errors: as there; RESOURCE_EXHAUSTED
  // without descriptors.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(
      const std::string& address, MetricsSources sources);
  ~MetricsEndpoint();  // Ends.

  int port() const;

 private:
  struct Connection {
    FileDescriptor fd;
    Clock::Duration until{0};
    std::string request;
    std::string answer;
    size_t sent = 0;
    bool answered = false;  // All is sent: until the peer has read it.
  };
  using Collect = std::function<std::string()>;

  MetricsEndpoint(ListeningSocket socket, Collect collect);

  void Run();
  void Accept(Clock::Duration now);
  // Return whether the connection goes on.
  bool Read(Connection* connection, Clock::Duration now);
  static bool Write(Connection* connection);
  std::string AnswerTo(absl::string_view request) const;

  const ListeningSocket socket_;
  const Collect collect_;
  FileDescriptor wake_;
  std::list<Connection> connections_;  // The oldest first.
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_METRICS_METRICS_ENDPOINT_H_
