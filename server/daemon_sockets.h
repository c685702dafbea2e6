// DaemonSockets: everything that the daemon's services are reached by: a unix
// socket for each role, and TCP for all of them.
//
//   DaemonSockets sockets(options);
//   RETURN_IF_ERROR(sockets.Claim());  // Before anything is loaded.
//   RETURN_IF_ERROR(sockets.Listen(services));
//   sockets.TellReady();
//   sockets.Watch();
//   ...
//   sockets.StopServing();
//   sockets.EndStreams();
//   sockets.EndCalls();
//   sockets.Close();
//
// A process whose sockets take no connections any more ends (DeafnessProbe).
//
// Thread safety: one thread, but LookAtAccess, TellOfStore and
// TakeEndedStreams, which any may call. Includes gRPC.
#ifndef WAVETUNE_SERVER_DAEMON_SOCKETS_H_
#define WAVETUNE_SERVER_DAEMON_SOCKETS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/periodic_task.h"
#include "server/daemon_options.h"
#include "server/rpc/connection_acceptor.h"
#include "server/rpc/connection_bounds.h"
#include "server/rpc/peer_users.h"
#include "server/rpc/services.h"
#include "server/rpc/socket_lock.h"
#include "server/rpc/stream_reactor.h"
#include "server/rpc/tls_access.h"
#include "server/rpc/unix_socket.h"
#include "server/rpc/user_servers.h"

namespace wavetune {

class DaemonSockets {
 public:
  // Makes the services of each role, anew for each server. Their streams are
  // kept apart, so that watchers without end keep out neither agents nor
  // people.
  struct RoleServices {
    std::function<Services(StreamSet*)> reader;
    std::function<Services(StreamSet*)> agent;
    std::function<Services(StreamSet*)> admin;
  };

  // Returns whether the places and files that the options name can be used, as
  // far as that shows without listening. Errors: as Daemon::Check.
  static absl::Status Check(const DaemonOptions& options);

  // `options` outlives the object.
  explicit DaemonSockets(const DaemonOptions& options) : options_(options) {}

  // Takes the places of the unix sockets from other daemons, and reads who may
  // come over TCP. Errors: as SocketLock::Take, PrepareSocketPath, TlsAccess;
  // INVALID_ARGUMENT for TCP without all its files.
  absl::Status Claim();

  // Returns when the certificate that callers over TCP see ends, or one between
  // it and its authority, in seconds since the Unix epoch; nothing without TCP.
  // Thread-safe after Claim.
  std::optional<int64_t> certificate_until_s() const;

  // Listens at every place. Health answers that nothing serves yet. Errors: as
  // ListeningSocket, ListenOnTcp, UserServers.
  absl::Status Listen(const RoleServices& services);

  // Health says that the daemon serves: tables are loaded, and whoever asks
  // gets them, stale ones and those that no disk takes any more included.
  void TellReady();
  // Health says whether the store can be written to.
  void TellOfStore(bool can_be_written);

  // From now on looks at the sockets each DeafnessProbe::kInterval, on a thread
  // that waits for no disk, and calls DaemonOptions::alive.
  void Watch();

  // Reads certificates and policy anew where they have changed; streams then
  // end, since they were judged when they began: an agent's whole right is one.
  void LookAtAccess();

  // The end, step by step. Health says that nothing serves; nobody looks at
  // the sockets any more.
  void StopServing();
  void EndStreams();  // As UNAVAILABLE.
  // Takes no connections any more, and waits a second for calls.
  void EndCalls();
  void Close();  // After which no service is called.

  // Returns how many streams have ended since the last call.
  size_t TakeEndedStreams();
  // Returns where it listens over TCP, with numbers; empty where it does not.
  const std::string& tcp_address() const { return tcp_address_; }
  // The users of calls on every socket.
  const PeerUsers* peers() const { return &peers_; }

 private:
  // One socket with its services.
  struct Role;
  // One socket with its services.
  struct Listener {
    std::unique_ptr<UserServers> servers;
    std::unique_ptr<ConnectionAcceptor> acceptor;
  };

  absl::Status ListenAt(absl::StatusOr<ListeningSocket> socket,
                        const Role& role,
                        const UserServers::MakeServices& make_services,
                        Listener* listener);
  absl::Status ListenOverTcp(const ConnectionBounds& bounds,
                             const RoleServices& services);
  void Probe();
  // Those that have been started.
  std::vector<Listener*> Listeners();
  std::vector<StreamSet*> AllStreams();

  const DaemonOptions& options_;
  StreamSet reader_streams_;
  StreamSet agent_streams_;
  StreamSet admin_streams_;
  StreamSet tcp_reader_streams_;
  StreamSet tcp_agent_streams_;
  StreamSet tcp_admin_streams_;
  PeerUsers peers_;
  std::vector<SocketLock> locks_;      // Longer than what listens.
  std::unique_ptr<TlsAccess> access_;  // nullptr: not over TCP.
  std::string tcp_address_;
  Listener reader_;
  Listener agent_;
  Listener admin_;
  Listener tcp_;
  PeriodicTask probes_;
  PeriodicTask access_looks_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_DAEMON_SOCKETS_H_
