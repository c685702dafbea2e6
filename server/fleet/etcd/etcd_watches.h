// EtcdWatches: every watch of a node on one stream, which a thread reads.
//
// Each begins with a listing and goes on from its revision, so that nothing is
// missed; also where it is interrupted for another subscription.
// A stream that fails begins with listings anew: an etcd that was restored from
// a backup meanwhile counts from an earlier revision, and may have come past
// ours again. So does one whose revision etcd has compacted.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_FLEET_ETCD_ETCD_WATCHES_H_
#define WAVETUNE_SERVER_FLEET_ETCD_ETCD_WATCHES_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/fleet/etcd/etcd_connection.h"
#include "server/fleet/fleet_registry.h"

namespace wavetune {

class EtcdWatches {
 public:
  // Lists what is beneath a prefix.
  using ListFunction =
      std::function<absl::StatusOr<FleetListing>(const std::string& prefix)>;

  // `connection` outlives the object. `root`: of all keys, added to prefixes
  // and taken from what is told.
  EtcdWatches(EtcdConnection* connection, std::string root, ListFunction list);
  ~EtcdWatches();  // After every handle.

  // Tells nothing more, and ends the stream.
  void Stop();

  std::unique_ptr<FleetRegistry::WatchHandle> Add(
      std::string prefix, FleetRegistry::Listener listener);

 private:
  struct Subscription {
    const std::string prefix;
    const FleetRegistry::Listener listener;
    std::mutex telling;  // Held while the listener is called.
    bool ended = false;  // Guarded by telling.
    // Of the thread alone.
    int64_t next_revision = 0;  // 0: it needs a listing.
    bool out = false;           // It was told of an outage last.
  };
  using Subscriptions = std::vector<std::shared_ptr<Subscription>>;
  class Handle;

  void Run();
  // Until the stream ends; OK where another is wanted at once. Sets `answered`
  // where a watch began or had news.
  absl::Status Serve(const Subscriptions& subscriptions, bool* answered);
  absl::Status ListAnew(Subscription& subscription);
  // OK: read on. Errors: why the stream is of no use any more.
  absl::Status Take(const etcdserverpb::WatchResponse& response,
                    Subscription& subscription);
  void Tell(Subscription& subscription, const FleetNews& news);
  // Ends the stream, where there is one. Holds mutex_.
  void Interrupt();

  EtcdConnection* const connection_;
  const std::string root_;
  const ListFunction list_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool stopping_ = false;
  bool other_wanted_ = false;  // The stream is of other subscriptions.
  Subscriptions subscriptions_;
  grpc::ClientContext* stream_ = nullptr;  // While one is read.
  std::thread thread_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_ETCD_ETCD_WATCHES_H_
