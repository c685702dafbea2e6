// FleetRegistry: what the nodes of a fleet share: small entries by key, changed
// by compare-and-swap, watched, and some of them bound to a node's life.
//
//   ASSIGN_OR_RETURN(auto entry, registry.Get("heads/…"));
//   registry.Commit({{.key = "heads/…", .value = head,
//                     .expected = entry.revision}});    // ABORTED: was changed
//   auto watch = registry.Watch("heads/…/", {}, [](const FleetNews& n) {…});
//
// The engine is etcd (server/fleet/etcd/), which every Kubernetes cluster runs;
// consensus, leases and watches are its own. Keys are relative to the fleet's
// prefix, which the registry adds.
//
// Who may write to the registry, or stands between, is not trusted with a
// node's memory: whatever is read has bounds (FleetBounds). Keys beside the
// wanted ones are dropped.
//
// Revisions are the registry's: they grow with each commit, over all keys, for
// as long as the registry is not restored from a backup.
//
// Contract suite: server/fleet/fleet_registry_contract_test.h.
// Thread safety: thread-safe. Calls wait for the network, seconds at most.
#ifndef WAVETUNE_SERVER_FLEET_FLEET_REGISTRY_H_
#define WAVETUNE_SERVER_FLEET_FLEET_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace wavetune {

struct FleetEntry {
  std::string key;
  std::string value;
  int64_t revision = 0;     // Its last change's.
  bool of_session = false;  // It goes when the session of who wrote it ends.
  bool cut = false;         // The value was too large, and is left out.

  friend bool operator==(const FleetEntry&, const FleetEntry&) = default;
};

// Bounds on reading the entries beneath a prefix. A value that is too large
// comes without its bytes. Where all entries together are too much the reading
// fails: this node goes on with what it knew.
struct FleetBounds {
  size_t entry_bytes = size_t{64} << 10;  // One value's; 0: keys alone.
  size_t all_bytes = size_t{4} << 20;     // Keys and values.
  size_t entries = 10000;
};

// Entries beneath a prefix at one moment, sorted by key.
struct FleetListing {
  std::vector<FleetEntry> entries;
  int64_t revision = 0;  // The registry's then.
};

// One change of a commit.
struct FleetWrite {
  std::string key;
  std::optional<std::string> value;  // Nothing: the entry is deleted.
  // Revision that the entry must have; 0: there must be none; nothing: any.
  std::optional<int64_t> expected = std::nullopt;
  // Whether it goes when this node's session ends. Whoever wants it back writes
  // it again (OnSession).
  bool of_session = false;
};

// What a watch tells.
struct FleetNews {
  // Not OK: the registry cannot be reached just now. The watch goes on by
  // itself, and nothing that happens meanwhile is missed. News that is OK, if
  // without entries, ends the outage.
  absl::Status status;
  // Whether `entries` are all that there are (at the beginning, and where
  // changes were missed), or those that have changed.
  bool whole = false;
  struct Entry {
    FleetEntry entry;
    bool deleted = false;
  };
  std::vector<Entry> entries;
  int64_t revision = 0;
};

class FleetRegistry {
 public:
  // Bytes of one value, and writes of one commit: etcd takes requests of 1.5
  // MiB and 128 operations as it is installed.
  static constexpr size_t kMaxValueBytes = 1 << 20;
  static constexpr size_t kMaxWrites = 64;
  // Keys that are longer are nobody's of ours, and dropped.
  static constexpr size_t kMaxKeyBytes = 1024;

  using Taker = std::function<void(FleetEntry)>;
  using Listener = std::function<void(const FleetNews&)>;
  using SessionListener = std::function<void()>;

  // Ends when dropped; returns when a call of the listener that runs has
  // returned. Not to be dropped within one.
  class WatchHandle {
   public:
    virtual ~WatchHandle() = default;
  };

  virtual ~FleetRegistry() = default;

  // Ends calls that wait, and has later ones fail: for a program that ends
  // while the registry is silent. Watches tell nothing more.
  virtual void Stop() = 0;

  // All calls: UNAVAILABLE where the registry does not answer in time (a commit
  // may have happened all the same), PERMISSION_DENIED and UNAUTHENTICATED
  // where it refuses this node; with what to do.

  // A value of more than `most_bytes` is left out. Errors: NOT_FOUND.
  virtual absl::StatusOr<FleetEntry> Get(absl::string_view key,
                                         size_t most_bytes) = 0;
  absl::StatusOr<FleetEntry> Get(absl::string_view key) {
    return Get(key, FleetBounds().entry_bytes);
  }

  // Gives `take` the entries whose keys begin with `prefix`, in the order of
  // their keys, of one moment, and returns the registry's revision then.
  // Errors: also RESOURCE_EXHAUSTED for more than the bounds; some were given
  // then.
  virtual absl::StatusOr<int64_t> Read(absl::string_view prefix,
                                       const FleetBounds& bounds,
                                       const Taker& take) = 0;
  // The same, together.
  absl::StatusOr<FleetListing> List(absl::string_view prefix,
                                    const FleetBounds& bounds = {});

  // Makes all changes or none; returns the revision that they have. Errors:
  // ABORTED where an entry does not have the expected revision.
  // FAILED_PRECONDITION for writes of a session where there is none just now.
  // INVALID_ARGUMENT for too many writes, two of one key, or a value that is
  // too large. RESOURCE_EXHAUSTED where the registry is full.
  virtual absl::StatusOr<int64_t> Commit(
      const std::vector<FleetWrite>& writes) = 0;

  // Tells `listener` all entries whose keys begin with `prefix`, then each
  // change in order, from one thread. Cannot fail: an outage is news, and so is
  // more than the bounds, until there is less.
  [[nodiscard]] virtual std::unique_ptr<WatchHandle> Watch(
      absl::string_view prefix, const FleetBounds& bounds,
      Listener listener) = 0;

  // The session is this node's life: the registry ends it, with the entries
  // that are of it, when it has not heard of the node for its time to live.
  // Returns OK where it surely lives now; else why not, as the registry said
  // last: how it answers this node, whatever else that asks for.
  virtual absl::Status Session() = 0;

  // Calls `listener` from now on each time that a session begins: entries of
  // the one before are gone, or will be. Drop the handle to end.
  [[nodiscard]] virtual std::unique_ptr<WatchHandle> OnSession(
      SessionListener listener) = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_FLEET_FLEET_REGISTRY_H_
