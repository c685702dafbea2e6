// TableFinder: where a tuner's first table comes from.
//
// By names it asks the daemon, else the cache, else the table files. By digest
// it asks the daemon, the cache, the files, then the other daemons of the job:
// a digest means the same bytes wherever they come from. A daemon that answers
// is believed: what it has retired does not come back from the cache.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_CLIENT_SRC_TABLE_FINDER_H_
#define WAVETUNE_CLIENT_SRC_TABLE_FINDER_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/daemon_link.h"
#include "client/src/event_log.h"
#include "client/src/fork_guard.h"
#include "client/src/kernel_defaults.h"
#include "client/src/table_cache.h"
#include "client/src/table_files.h"
#include "client/src/table_slot.h"
#include "model/kernel/device.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "wavetune/client_options.h"
#include "wavetune/table_set.h"

namespace wavetune {

class TableFinder {
 public:
  // A node has a few dozen kernels.
  static constexpr size_t kMostWithdrawn = 256;

  // Daemons that may be asked; the node's first. Empty: none may. All outlive
  // the finder.
  using Daemons = std::vector<DaemonLink*>;

  TableFinder(Daemons daemons, const TableCache* cache, const TableFiles* files,
              EventLog* log)
      : daemons_(std::move(daemons)), cache_(cache), files_(files), log_(log) {}

  // Returns a verified table for what Client::GetTuner is asked for; what a
  // daemon sent is cached. Errors: as there, but where a table is missing:
  // NOT_FOUND where a daemon or nobody at all could be asked, UNAVAILABLE where
  // the daemon could not. A table refused on the way is in the log.
  absl::StatusOr<OfferedTable> Find(const std::string& kernel,
                                    const TunerOptions& options) const;

  // The same from the cache and the table files alone.
  absl::StatusOr<OfferedTable> FindLocally(const std::string& kernel,
                                           const TunerOptions& options) const;

  // Returns what the node's daemon has for a tuner now. Errors: its, and
  // Verify's.
  absl::StatusOr<OfferedTable> Fetch(const std::string& kernel,
                                     const TunerOptions& options) const;

  // Notes that a table was shown to compute wrong results. Neither the cache
  // nor a table file brings it back, and no other file of the same version and
  // silicon takes its place until the daemon has promoted another. Cannot fail:
  // without a cache it holds for this process, of the kMostWithdrawn that were
  // noted last.
  void NoteWithdrawn(const v1::TableInfo& table) const;

  // Returns a cached table of the kernel that was withdrawn, for its defaults;
  // never to decide with. Errors: NOT_FOUND.
  absl::StatusOr<OfferedTable> FindWithdrawn(const std::string& kernel,
                                             const TunerOptions& options) const;

  // Returns the kernel's default, as the node's daemon knows it. Errors:
  // NOT_FOUND for an unknown device or kernel (lists the known ones).
  absl::StatusOr<KernelDefaults> FetchDefaults(
      const std::string& kernel, const TunerOptions& options) const;

  // Returns what Client::GetKernels does. Errors: as there.
  absl::StatusOr<std::vector<std::string>> FindKernels() const;

  // Returns what Client::GetSpec does. Errors: as there.
  absl::StatusOr<KernelSpec> FindSpec(const std::string& kernel) const;

  // Returns a table set from the cache, else from any daemon; then it is
  // cached. Errors: NOT_FOUND, saying who was asked.
  absl::StatusOr<TableSet> FindSet(const std::string& digest) const;

 private:
  struct Withdrawal {
    v1::TableInfo table;
    bool replaced = false;  // By a younger one, which the daemon has promoted.
  };

  absl::StatusOr<OfferedTable> FindInCache(const std::string& kernel,
                                           const TunerOptions& options) const;
  // Returns the newest of `choices` that is not damaged. Errors: what is wrong
  // with the oldest; NOT_FOUND where what would be next was withdrawn.
  absl::StatusOr<OfferedTable> NewestWhole(
      const std::string& kernel,
      std::vector<const v1::TableInfo*> choices) const;
  absl::StatusOr<OfferedTable> FromCache(const std::string& digest) const;
  // `device` is the device meant, where it is known.
  absl::StatusOr<OfferedTable> FindInFiles(
      const std::string& kernel, const TunerOptions& options,
      const std::vector<DeviceFacts>& device = {}) const;
  // Where the node's daemon does not have it.
  absl::StatusOr<OfferedTable> FindElsewhere(
      const std::string& kernel, const TunerOptions& options,
      const absl::Status& why_not_there) const;
  // Returns what the cache has for a tuner that names no digest, the youngest
  // of each identity, withdrawn or not.
  std::vector<v1::TableInfo> CachedFor(const std::string& kernel,
                                       const TunerOptions& options) const;
  // Errors: FAILED_PRECONDITION for a table that was withdrawn, saying why.
  absl::Status CheckServes(const std::string& kernel,
                           const std::string& digest) const;
  // Errors: FAILED_PRECONDITION for a table from a file where one of the same
  // kernel, fingerprint and silicon was withdrawn and none came since. A file
  // does not say which of the two is the older one.
  absl::Status CheckNoneWithdrawn(const v1::TableInfo& table) const;
  // Notes that the daemon serves a table.
  void NoteServing(const v1::TableInfo& table) const;
  void NoteAllWithdrawn(const v1::ListKernelsResponse& kernels) const;
  absl::StatusOr<OfferedTable> FetchFrom(DaemonLink& daemon,
                                         const std::string& kernel,
                                         const TunerOptions& options) const;
  // Returns the devices whose defaults count: the one of that UUID, or without
  // a UUID the attached ones, or else all that the daemon has seen. Errors:
  // NOT_FOUND for a UUID that the daemon does not know: a device without a
  // table is answered with defaults, a misspelt one not.
  absl::StatusOr<std::vector<DeviceFacts>> FetchDevices(
      const std::string& uuid) const;

  const Daemons daemons_;
  const TableCache* const cache_;
  const TableFiles* const files_;
  EventLog* const log_;
  mutable ForkSafeMutex mutex_;
  // Guarded by mutex_. In the order in which they were noted.
  mutable std::deque<Withdrawal> withdrawn_;
  // A cache that cannot be written is an event once.
  mutable std::atomic<bool> cache_problem_said_ = false;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_TABLE_FINDER_H_
