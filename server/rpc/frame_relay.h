// FrameRelay: stands between the connections of peers and a server of gRPC, so
// that no byte of a peer reaches gRPC (frame_gate.h says why).
//
// It has the peers' descriptors, ends TLS where there is any, and gives the
// server one end of a pair of sockets for each connection. Waiting bytes are
// bounded: while one side does not take its bytes, nothing more is read from
// the other. So these wait in the other's own buffers. Everything of a relay
// runs on one thread; users who are not to wait for each other have relays of
// their own (user_servers.h).
//
// Thread safety: Add from any thread; Probe from one. Includes no gRPC.
#ifndef WAVETUNE_SERVER_RPC_FRAME_RELAY_H_
#define WAVETUNE_SERVER_RPC_FRAME_RELAY_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/file_descriptor.h"
#include "server/rpc/connection_acceptor.h"
#include "server/rpc/deafness_probe.h"
#include "server/rpc/peer_share.h"
#include "server/rpc/peer_users.h"
#include "server/rpc/tls_access.h"
#include "server/rpc/tls_session.h"

namespace wavetune {

class FrameRelay {
 public:
  struct Options {
    std::string place;  // For people: where the connections come from.
    // Takes the server's end of a connection, which does not block, and closes
    // it. Called from the relay's thread.
    std::function<void(int fd)> serve;
    PeerUsers* peers = nullptr;  // Hears whose each is. Outlives the relay.
    // Who may call what; nullptr: whoever is connected, without TLS. Outlives
    // the relay.
    const TlsAccess* access = nullptr;
    // As FrameGate's.
    std::function<bool(absl::string_view path)> sends_many;
    // Hears why connections are ended. Lines of one `kind` are repeats.
    std::function<void(const std::string& kind, const std::string& text)> warn;
    // How long a handshake may take.
    std::chrono::milliseconds handshake{10000};
    // How long a peer may take to answer a ping of the server; then it is gone.
    // Less than gRPC waits: 1.51 may crash where an answer comes at the moment
    // that its own time ends (grpc/grpc#32085), and peers choose the moment.
    Clock::Duration pong = Clock::Duration::max();
    // How long a peer may take to read the last words of the server.
    std::chrono::milliseconds farewell{20000};
  };

  // Errors: RESOURCE_EXHAUSTED where the system lacks what it takes.
  static absl::StatusOr<std::unique_ptr<FrameRelay>> Start(Options options);
  // Ends when the server has ended all connections and peers have been told,
  // or after a second.
  ~FrameRelay();
  FrameRelay(const FrameRelay&) = delete;
  FrameRelay& operator=(const FrameRelay&) = delete;

  // Takes a connection.
  void Add(AcceptedConnection connection);

  // From its return on `serve` is not called: connections that come are closed.
  void StopServing();

  // Checks that the thread goes on, every DeafnessProbe::kInterval. Errors:
  // UNAVAILABLE where it hangs, which nothing here can mend.
  absl::Status Probe();

 private:
  using Time = Clock::Duration;
  struct Connection;

  explicit FrameRelay(Options options);

  void Run();
  void TakeAdded(Time now);
  void Open(std::unique_ptr<Connection> connection, Time now);
  // Gives the server its end. False: the connection has ended.
  bool Connect(Connection* connection);
  // Moves what can be moved; ends the connection where it has come to that.
  void Pump(uint64_t id, Time now);
  // Return false where the connection has ended.
  bool PumpOnce(Connection* connection, Time now, bool* moved);
  bool ShakeHands(Connection* connection);
  bool FromPeer(Connection* connection, Time now, bool* moved);
  // Whether it still has time to answer the server's ping, if there is any.
  bool MayAnswer(Connection* connection, Time now) const;
  bool FromServer(Connection* connection, bool* moved);
  void Hear(uint64_t tag, uint32_t events, Time now);
  void End(uint64_t id);
  void LookAtTimes(Time now);
  bool Watch(int fd, uint64_t tag);
  void Warn(const Connection& connection, const std::string& what);
  PeerShare* ShareOf(uid_t user);

  const Options options_;
  TlsServer tls_;
  FileDescriptor epoll_;
  FileDescriptor wake_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<Connection>> added_;
  bool stopping_ = false;
  std::mutex serve_mutex_;
  bool serving_ = true;  // Guarded by serve_mutex_.
  // The thread's.
  std::map<uid_t, std::unique_ptr<PeerShare>> shares_;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;
  uint64_t next_id_ = 1;
  std::set<uint64_t> again_;    // Have more to move at once.
  std::set<uint64_t> waiting_;  // Until their peer's debt is paid back.
  uint64_t last_heard_ = 0;     // Whose peer was read from last.
  std::string scratch_;
  // For Probe.
  std::atomic<uint64_t> rounds_ = 0;
  DeafnessProbe probe_;
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_FRAME_RELAY_H_
