// TableWatcher: hears of new tables, on a thread of its own, for as long as it
// lives.
//
// A watch begins with what serves now (SNAPSHOT … SYNCED), and goes on with
// changes. It is resumed after a cut where it stopped, by store and revision;
// where the store is another one, or has forgotten that far back, the daemon
// begins anew (RESYNC). What could not be dealt with is heard of again: then
// the next watch begins at nothing.
//
// Thread safety: construct and destroy from one thread; `watch` and the
// callbacks run on the watcher's.
#ifndef WAVETUNE_CLIENT_SRC_TABLE_WATCHER_H_
#define WAVETUNE_CLIENT_SRC_TABLE_WATCHER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "proto/wavetune/v1/table_service.pb.h"

namespace wavetune {

class TableWatcher {
 public:
  // Tables of a snapshot: a thousand kernels on sixteen kinds of devices.
  static constexpr size_t kMaxServingTables = 16384;

  using OnNotice = std::function<bool(const v1::WatchTablesResponse&)>;

  struct Options {
    // Gives every notice to the function until the stream ends or that returns
    // false; returns why it ended. `cancel` ends it, and all that follow.
    std::function<absl::Status(const v1::WatchTablesRequest&, const OnNotice&)>
        watch;
    std::function<void()> cancel;
    // What serves, after a (re)start. Returns false where it could not be dealt
    // with now.
    std::function<bool(const std::vector<v1::TableInfo>&)> on_serving;
    // One change. Returns as on_serving.
    std::function<bool(const v1::TableInfo&)> on_promoted;
    std::function<void(const v1::TableInfo&)> on_retired;
    // A table became stale, or current again. Returns as on_serving.
    std::function<bool(const v1::TableInfo&)> on_remarked;
    std::function<void()> on_connected;
    std::function<void(const absl::Status&)> on_disconnected;
    Backoff backoff{std::chrono::milliseconds(50), std::chrono::seconds(5), 0};
  };

  explicit TableWatcher(Options options);
  // Prompt: cancels what runs and waits for the thread.
  ~TableWatcher();
  TableWatcher(const TableWatcher&) = delete;
  TableWatcher& operator=(const TableWatcher&) = delete;

  // Whether everything that serves has been heard of, and no cut since.
  bool synced() const { return synced_.load(); }

 private:
  void Run();
  // Returns whether to go on with this stream.
  bool Handle(const v1::WatchTablesResponse& notice);
  bool HandleSynced();
  // Waits unless stopped; returns whether it is.
  bool WaitOrStop(Backoff::Duration duration);
  bool stopped();

  Options options_;
  // The watcher thread's.
  std::string store_id_;
  uint64_t revision_ = 0;
  std::vector<v1::TableInfo> serving_;  // Between the start and SYNCED.
  bool has_snapshot_ = false;           // The start is a snapshot.
  absl::Status foreign_;  // Why this daemon's tables are not taken, if so.

  std::atomic<bool> synced_ = false;
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;   // Guarded by mutex_.
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_TABLE_WATCHER_H_
