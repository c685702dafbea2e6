// ConnectionAcceptor: takes the connections of a socket and hands them to who
// serves them (frame_relay.h).
//
// Why not gRPC's own listener: in 1.51 it gives a socket up for ever once
// accept fails, as it does where there are no descriptors left. It neither
// counts connections nor asks whose they are. Here
//
//   - a full table of descriptors costs the connections that come meanwhile,
//     never the socket: one descriptor is kept in reserve to refuse with;
//   - connections are bounded in all and per user, and who is refused is told
//     (an HTTP/1.1 answer, 429, with the reason as its text);
//   - a connection costs a descriptor only until it has said that it speaks
//     HTTP/2, or TLS: one that stays silent is closed after a while, or as soon
//     as another of the same user needs the place;
//   - a socket whose file somebody removes is opened anew;
//   - whether it hangs can be seen from outside (Probe).
//
// Who serves a connection holds its place among the bounds as long as that
// lasts.
//
// Thread safety: a thread of its own; Stop from any other; Probe from one
// other, which calls it no more once Stop is called.
#ifndef WAVETUNE_SERVER_RPC_CONNECTION_ACCEPTOR_H_
#define WAVETUNE_SERVER_RPC_CONNECTION_ACCEPTOR_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/file_descriptor.h"
#include "server/rpc/connection_bounds.h"
#include "server/rpc/connection_kind.h"
#include "server/rpc/deafness_probe.h"
#include "server/rpc/unix_socket.h"

namespace wavetune {

// One that has said what it speaks; nothing of that was read.
struct AcceptedConnection {
  FileDescriptor fd;  // Does not block.
  ConnectionPeer peer;
  Clock::Duration since{0};     // When it was accepted, by the steady time.
  std::shared_ptr<void> place;  // To be let go, on any thread, when it ends.
};

class ConnectionAcceptor {
 public:
  struct Options {
    ConnectionBounds bounds;
    // Takes a connection that is to be served. Called from the acceptor's
    // thread.
    std::function<void(AcceptedConnection connection)> serve;
    // Hears of refusals and trouble. Lines of one `kind` are repeats, whatever
    // text a peer has chosen.
    std::function<void(const std::string& kind, const std::string& text)> warn;
    // Called once, with the reason, when nobody can connect any more and
    // nothing here can mend that.
    std::function<void(const std::string&)> give_up;
    ConnectionKind kind = UnixConnections();
    // How long a connection may take to say that it speaks what it should.
    std::chrono::milliseconds silence{20000};
    // How often the socket's file is looked at.
    std::chrono::milliseconds look{5000};
  };

  // Starts accepting. Errors: RESOURCE_EXHAUSTED where the system lacks what
  // watching the socket takes.
  static absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> Start(
      ListeningSocket socket, Options options);
  ~ConnectionAcceptor();  // Stops.
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  // Ends accepting and removes the socket's file where it is still ours.
  // Connections that were handed over stay.
  void Stop();

  // Checks that connections are still accepted; call it every
  // DeafnessProbe::kInterval. Errors: UNAVAILABLE with the reason why nobody
  // can connect any more: the acceptor's thread hangs, for instance in `serve`,
  // and nothing here can mend that.
  absl::Status Probe();

 private:
  using Time = Clock::Duration;  // On the steady clock.
  struct Connection {
    enum class State {
      kSilent,   // Has not said yet what it speaks.
      kRefused,  // Was told why; not counted.
    };
    ConnectionPeer peer;
    State state = State::kSilent;
    Time since{0};
  };
  using Connections = std::map<int, Connection>;

  struct Counts;

  ConnectionAcceptor(ListeningSocket socket, Options options);

  absl::Status Admit(const ConnectionPeer& peer);
  void Run();
  void AcceptSome();
  // Returns whether there may be more to accept.
  bool AcceptOne();
  void Add(FileDescriptor fd);
  // Says why, and gives the other side a moment to read that.
  void Refuse(FileDescriptor fd, absl::string_view reason);
  void OnEvent(int fd);
  void HandOver(Connections::iterator silent);
  // Forgets a connection, and closes its descriptor here.
  void Drop(Connections::iterator connection);
  bool DropOldestSilent(uid_t user);
  void DropOverdue(Time now);
  // Returns false where nobody can connect any more.
  bool LookAtSocket();
  bool Watch(int fd, uint32_t events);
  void Warn(absl::string_view kind, const std::string& text);

  const Options options_;
  ListeningSocket socket_;
  const std::shared_ptr<Counts> counts_;  // Places have a share in them.
  FileDescriptor epoll_;
  FileDescriptor wake_;
  FileDescriptor reserve_;  // Closed to make room for a refusal.
  Connections connections_;
  size_t refused_ = 0;  // Connections refused.
  // For Probe.
  const std::string path_;
  std::atomic<int> listening_;  // The socket's descriptor.
  std::atomic<uint64_t> rounds_ = 0;
  std::atomic<uint64_t> tries_ = 0;  // To accept.
  DeafnessProbe probe_;
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_CONNECTION_ACCEPTOR_H_
