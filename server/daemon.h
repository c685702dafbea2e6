// Daemon: wavetuned in one object: stores, catalogs, jobs and sockets
// (daemon_sockets.h). What it is told: daemon_options.h.
//
//   ASSIGN_OR_RETURN(auto daemon, Daemon::Start(stores, options));
//   ... wait for a signal ...
//   daemon->Stop();
//
// Thread safety: Start, Reload and Stop from one thread. Includes no gRPC.
#ifndef WAVETUNE_SERVER_DAEMON_H_
#define WAVETUNE_SERVER_DAEMON_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/daemon_options.h"

namespace wavetune {

class Daemon {
 public:
  // Loads the stores, listens and takes up unfinished jobs. Errors: as
  // PrepareSocketPath, ListeningSocket, ListenOnTcp and TlsAccess;
  // INVALID_ARGUMENT for TCP without all its files; NOT_FOUND for a kernels
  // folder; the stores'.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(
      const DaemonStores& stores, const DaemonOptions& options);
  ~Daemon();  // Stops.

  // Returns whether what the options name can be used, as far as that shows
  // without a start. Errors: those of Start that concern neither the stores nor
  // who has a socket or port now; FAILED_PRECONDITION for a certificate that is
  // not valid now.
  static absl::Status Check(const DaemonOptions& options);

  // Reads the kernel folders again, and who may come over TCP. Queued and
  // running jobs keep the kernels that they began with.
  void Reload();

  // Takes over what of `options` may change while it runs: default_budget_s,
  // even_if_busy, generations_kept and top_ups. Thread-safe.
  void Change(const DaemonOptions& options);

  // Makes an event of a reload: `text` says what changed, or why nothing did.
  // It is not logged: events that repeat soon are not, and who reloads wants to
  // see each.
  void TellOfReload(const std::string& text, bool failed);

  // Returns where it listens over TCP, with numbers; empty where it does not.
  std::string tcp_address() const;

  // Returns the port that metrics are at; 0: at none.
  int metrics_port() const;

  // Ends gracefully: running batches are cancelled and their jobs go on at the
  // next start, streams end as UNAVAILABLE. Takes a few seconds at most.
  void Stop();

 private:
  class Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_DAEMON_H_
