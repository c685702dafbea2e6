// EtcdSession: this node's life in etcd: a lease that a thread keeps alive.
//
// Each node has one, so that etcd hears from it once every third of the time to
// live, whatever the node has bound to it.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_ETCD_SESSION_H_
#define WAVETUNE_SERVER_FLEET_ETCD_ETCD_SESSION_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "server/fleet/etcd/etcd_connection.h"
#include "server/fleet/fleet_registry.h"
#include "server/jobs/listeners.h"

namespace wavetune {

class EtcdSession {
 public:
  // `connection` outlives the session. The lease begins, on a thread, with the
  // first call of lease() or OnBegin: nodes without a need have none.
  EtcdSession(EtcdConnection* connection, std::chrono::seconds ttl);
  ~EtcdSession();  // Ends the lease, where etcd answers within a second.

  // Returns the lease; 0 where it may have ended, or has not begun yet.
  int64_t lease();

  // Returns OK while the lease surely lives; else what etcd said last of it.
  absl::Status status();

  // Tells `listener` of each lease, of the present one at once.
  std::unique_ptr<FleetRegistry::WatchHandle> OnBegin(
      FleetRegistry::SessionListener listener);

 private:
  using Time = std::chrono::steady_clock::time_point;

  class Handle;

  // Starts the thread, where it does not run. Holds mutex_.
  void Start();
  void Run();
  // One step: begins a lease, or keeps the one that there is.
  absl::Status Begin();
  absl::Status KeepAlive();
  void Revoke();
  void TellBegin();

  EtcdConnection* const connection_;
  const std::chrono::seconds ttl_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Held while listeners are called, so that a handle that ends waits for them.
  std::mutex telling_;
  // Guarded by mutex_.
  bool stopping_ = false;
  int64_t lease_ = 0;
  Time lives_until_;
  absl::Status status_ =  // The last step's.
      absl::UnavailableError("etcd has not answered since the start");
  Listeners<int64_t> listeners_;  // Those of the lease.
  std::thread thread_;            // Begun under mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_ETCD_ETCD_SESSION_H_
