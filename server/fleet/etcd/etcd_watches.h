// EtcdWatches: every watch of a node on one stream, which a thread reads.
//
// Each begins with a listing and goes on from its revision, so that nothing is
// missed; also where it is interrupted for another subscription. They are
// created one after another, and each has the number that the answer gives it:
// etcd's proxy numbers them as it likes.
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
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/fleet/etcd/etcd_connection.h"
#include "server/fleet/fleet_registry.h"
#include "server/fleet/registry_bounds.h"

namespace wavetune {

class EtcdWatches {
 public:
  // Lists the entries beneath a prefix.
  using ListFunction = std::function<absl::StatusOr<FleetListing>(
      const std::string& prefix, const FleetBounds& bounds)>;

  // `connection` outlives the object. `root`: the beginning of all keys, added
  // to prefixes and taken from news.
  EtcdWatches(EtcdConnection* connection, std::string root, ListFunction list);
  ~EtcdWatches();  // After every handle.

  // Tells nothing more, and ends the stream.
  void Stop();

  std::unique_ptr<FleetRegistry::WatchHandle> Add(
      std::string prefix, const FleetBounds& bounds,
      FleetRegistry::Listener listener);

 private:
  struct Subscription {
    Subscription(std::string of, const FleetBounds& most,
                 FleetRegistry::Listener told)
        : prefix(std::move(of)),
          bounds(most),
          listener(std::move(told)),
          budget(prefix, bounds) {}

    const std::string prefix;
    const FleetBounds bounds;
    const FleetRegistry::Listener listener;
    std::mutex telling;  // Held while the listener is called.
    bool ended = false;  // Guarded by telling.
    // The thread's alone.
    EntryBudget budget;
    int64_t next_revision = 0;  // 0: it needs a listing.
    bool out = false;           // It was told of an outage last.
  };
  using Subscriptions = std::vector<std::shared_ptr<Subscription>>;
  class Handle;

  void Run();
  // Until the stream ends; OK where another is wanted at once, OUT_OF_RANGE
  // where etcd has compacted what comes next. Sets `answered` where a watch
  // began or had news.
  absl::Status Serve(const Subscriptions& subscriptions, bool* answered);
  absl::Status ListAnew(Subscription& subscription);
  // OK: read on. Errors: why the stream is of no use any more.
  absl::Status Take(etcdserverpb::WatchResponse& response,
                    Subscription& subscription);
  void Deliver(Subscription& subscription, const FleetNews& news);
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
