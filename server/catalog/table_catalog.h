// TableCatalog: the serving tables in memory, ready to decide and to be sent.
//
// Requests never touch the disk but for tables that were replaced. Matching a
// table to a device is here too. Equal silicon keys are required. Where the
// environment key or the fingerprint differs the table is served as stale
// (server/catalog/table_staleness.h): yesterday's table beats the default on
// the morning after a driver upgrade.
//
//   TableCatalog catalog(&store, warn);
//   RETURN_IF_ERROR(catalog.Load());
//   ASSIGN_OR_RETURN(TableMatch match, catalog.Find({.kernel = "gemm"}));
//
// Thread safety: thread-safe. Promotions are serialised.
#ifndef WAVETUNE_SERVER_CATALOG_TABLE_CATALOG_H_
#define WAVETUNE_SERVER_CATALOG_TABLE_CATALOG_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/device.h"
#include "server/catalog/table_snapshot.h"
#include "server/jobs/listeners.h"
#include "server/store/records.h"
#include "server/store/table_store.h"

namespace wavetune {

// Which table is wanted.
struct TableQuery {
  std::string kernel;
  std::optional<DeviceFacts> device;  // Absent: any.
  std::string fingerprint;            // Hex, or a prefix; empty: any.
  // Returns the fingerprint that the kernel has now, empty where that is not
  // known. Asked only where no fingerprint is given and several fit.
  std::function<std::string()> current_fingerprint = nullptr;
};

struct TableMatch {
  ServingTable serving;
  std::string stale_reason;  // What differs; empty: nothing.

  bool stale() const { return !stale_reason.empty(); }
};

struct TableChange {
  // Retired for a reason where `table.withdrawn` is not empty.
  // kRemarked: it became stale, or current again; what it holds is the same.
  enum class Kind { kPromoted, kRetired, kRemarked };
  Kind kind = Kind::kPromoted;
  TableRecord table;
  uint64_t revision = 0;
  std::string stale_reason = "";  // With kRemarked; empty: current.
  bool judged_soon = false;       // kRemarked: a drift probe follows by itself.
  std::string by = "";            // kRetired: who ended it, as TableRecord::by.
  std::string why = "";           // kRetired: for people.
  bool refused = false;           // kRetired: it should never have served.
};

class TableCatalog {
 public:
  using Warn = std::function<void(const std::string&)>;
  using Listener = Listeners<TableChange>::Listener;
  using Handle = Listeners<TableChange>::Handle;

  // Changes that a late watcher can catch up with.
  static constexpr size_t kChangesKept = 1024;
  // Shortest fingerprint prefix that selects.
  static constexpr size_t kMinFingerprintPrefix = 8;

  // Where a watch starts.
  struct Watch {
    std::shared_ptr<const TableSnapshot> snapshot;
    // Changes since the revision asked for, where these are still known;
    // absent: the watcher needs the snapshot.
    std::optional<std::vector<TableChange>> changes;
    Handle handle;  // Drop to end.
  };

  // `store` outlives the catalog. `warn` hears of tables left out.
  TableCatalog(TableStore* store, Warn warn);

  // Reads what serves. A table that is corrupt, or of a format that is not read
  // any more, is left out with a warning. Errors: the store's, when the list
  // itself cannot be read.
  absl::Status Load();

  // Returns what serves now.
  std::shared_ptr<const TableSnapshot> snapshot() const;

  // Returns the table for `query`. Of several that fit, those of the kernel's
  // current fingerprint are preferred, then those of the device's environment,
  // then the one promoted last: an edited kernel keeps its old table. A
  // withdrawn table competes with the others, so that no older table takes its
  // place. Errors: NOT_FOUND naming the tables that there are, or why the one
  // that would answer was withdrawn. FAILED_PRECONDITION listing the choices
  // where they differ in silicon, or in fingerprint under a prefix.
  // INVALID_ARGUMENT for a fingerprint prefix that is too short.
  absl::StatusOr<TableMatch> Find(const TableQuery& query) const;

  // Returns what Find would answer with, had it not been withdrawn; nothing
  // where that is not why it finds nothing.
  std::optional<ServingTable> FindWithdrawn(const TableQuery& query) const;

  // Returns a table by digest, serving or not. Errors: as TableStore::Get;
  // INVALID_ARGUMENT for something that is no digest.
  absl::StatusOr<ServingTable> Get(absl::string_view digest) const;

  // Returns the table that a new one for `key` has to beat, which Find answers
  // with. It has the same kernel name and silicon key; the same fingerprint is
  // preferred, then the same environment, then the newest. None where that was
  // withdrawn.
  std::optional<ServingTable> Incumbent(const ProfileKey& key) const;

  // Stores a table and makes it serve. `verified_against` is the digest of
  // the incumbent that it was found to beat, empty for none; without it, it
  // is compared with nothing. Errors: as CompiledTable::Create and
  // TableStore::Promote. ABORTED where the incumbent is another one that
  // was verified here, serves no longer, or is pinned; then nothing
  // changed.
  absl::StatusOr<TableRecord> Promote(
      TableRecord record, const std::string& payload,
      const std::optional<std::string>& verified_against = std::nullopt);

  // Returns the promotions and withdrawals of a kernel on one silicon, newest
  // first; without withdrawals that are not stored yet. Errors: the store's.
  absl::StatusOr<std::vector<TableRecord>> History(
      absl::string_view kernel, absl::string_view silicon_key) const;

  // As TableStore::Reject and ListRejected.
  absl::Status Reject(RejectedTable table, const std::string& payload);
  absl::StatusOr<std::vector<RejectedTable>> Rejected(
      absl::string_view kernel, absl::string_view silicon_key) const;

  // What a rollback did.
  struct RolledBack {
    TableRecord table;               // What serves now.
    std::vector<TableRecord> ended;  // What serves no longer.
  };
  // Makes a table of the history (RollbackTarget) serve again, as a promotion
  // with an epoch of its own. Tables that were promoted after `target` for the
  // same kernel and silicon serve no longer. Errors: as TableStore::Get and
  // RollBack; FAILED_PRECONDITION where it serves already, where the kernel is
  // pinned on that silicon, or was found wrong since under another key; then
  // nothing changed.
  absl::StatusOr<RolledBack> RollBack(const TableRecord& target,
                                      const std::string& by,
                                      const std::string& why, int64_t now_us);

  // Makes a table from elsewhere serve, as a promotion that nothing here has
  // verified where `record.unverified` says so. `ended`: what it takes the
  // place of. Errors: as TableStore::Promote. FAILED_PRECONDITION where the
  // kernel is pinned on that silicon, the version was found wrong here, or the
  // table serves already. So, too, where one that is not verified would come
  // beside one that is. What `also_ends` says of the same table under another
  // environment ends, too, untold: it serves on.
  absl::StatusOr<RolledBack> Import(
      TableRecord record, const std::string& payload,
      const std::function<bool(const TableRecord&)>& also_ends =
          [](const TableRecord&) { return false; });

  // Makes a table serve that lies beside its kernel, in the place of those that
  // did so before and that nobody has verified. Sets how, by, that it is not
  // verified, and the digest. Errors: as Import. FAILED_PRECONDITION where any
  // other table of the kernel serves on that silicon. ALREADY_EXISTS where this
  // one is in the history: a retired table does not come back by itself. Cost:
  // reads the history of all kernels where nothing else serves.
  absl::StatusOr<TableRecord> Ship(TableRecord record,
                                   const std::string& payload);

  // Why a table is carried over.
  struct CarryingOver {
    ProfileKey key;  // That it is to serve for.
    uint64_t job_id = 0;
    std::string by;
    std::string why;  // The measurements.
    int64_t now_us = 0;
  };
  // Makes `table`, which serves for another environment, serve for
  // `carrying.key`: the same bytes with an epoch of their own. It serves for
  // its own environment, too (TableRecord::IsFor), under the new key alone: a
  // digest is listed once. An imported table is verified by that, also under
  // the key that it has. A pin on this table is no obstacle. Errors: as
  // TableStore::Get and RollBack. ABORTED where another one is the incumbent by
  // now or pinned, or this one is current for the key. INVALID_ARGUMENT for a
  // key of another kernel, version or silicon. Then nothing changed.
  absl::StatusOr<TableRecord> CarryOver(const TableRecord& table,
                                        const CarryingOver& carrying);

  // Keeps what serves for a kernel on one silicon: nothing is promoted there
  // until Unpin. Sets `digest` to the most recently promoted serving table and
  // returns the pin. Takes the place of an earlier pin. Errors: NOT_FOUND where
  // nothing serves; else as TableStore::Pin.
  absl::StatusOr<TableRecord> Pin(PinRecord pin);
  // Errors: as TableStore::Unpin.
  absl::Status Unpin(absl::string_view kernel, absl::string_view silicon_key);

  // Notes that `table` computes wrong results for `key`: it serves no
  // longer there, and no older one takes its place until another is
  // promoted. `why` says which configuration; for people. The history has
  // it as the daemon's doing at `now_us`. Nothing where another table
  // serves for just that key by now: that one is not meant. Errors: as
  // TableStore::Withdraw; then it is withdrawn all the same, and
  // SaveWithdrawals has to store it.
  absl::Status Withdraw(const ProfileKey& key, const TableRecord& table,
                        const std::string& why, int64_t now_us);

  // Takes a table that must not serve out of what serves, as Load does with one
  // that cannot be read: the store has it still. `why` is for people.
  void LeaveOut(const TableRecord& table, const absl::Status& why);

  // Stores the withdrawals that the store could not take. Errors: as
  // TableStore::Withdraw; the rest is tried with the next call. Cheap where
  // there are none.
  absl::Status SaveWithdrawals();

  // Ends serving; `by` and `why` are told. Errors: as TableStore::Retire.
  absl::Status Retire(const ProfileKey& key,
                      const std::string& by = kDaemonUser,
                      const std::string& why = "");
  // The same for an operator, wherever the table of that digest serves; returns
  // what serves no longer. `digest`: one, or at least kMinDigestPrefix digits
  // of its beginning. `which`: of the keys that it serves for are meant.
  // Errors: NOT_FOUND where no such table serves; FAILED_PRECONDITION for the
  // beginning of several, and where a kernel is pinned; INVALID_ARGUMENT for
  // too short a beginning; those of `which`; as TableStore::Retire. Where one
  // fails, those before it are retired.
  using Which = std::function<absl::StatusOr<std::vector<TableRecord>>(
      std::vector<TableRecord>)>;
  absl::StatusOr<std::vector<TableRecord>> RetireByDigest(
      absl::string_view digest, const std::string& by, const std::string& why,
      const Which& which = [](const std::vector<TableRecord>& all) {
        return all;
      });

  // Tells watchers that a table became stale, or current again where `reason`
  // is empty. Not among the changes that a late watcher catches up with: it is
  // told how each table is. The snapshot is another one afterwards, with the
  // same tables: whoever keeps texts about one makes them anew. `judged_soon`:
  // nobody has to do anything about it.
  void Remark(const TableRecord& table, const std::string& stale_reason,
              bool judged_soon = false);

  // Subscribes to changes after the returned snapshot. Listeners are called in
  // the order of revisions, from the promoting thread.
  Watch Subscribe(uint64_t from_revision, Listener listener);

 private:
  // Returns a table, of the store only where it is not in memory.
  absl::StatusOr<std::shared_ptr<const CompiledTable>> TableOf(
      const std::string& digest) const;
  struct NewTable {
    std::string payload;
    std::shared_ptr<const CompiledTable> table;
  };
  // Stores a table and makes it serve; the tables in `ended` serve no longer,
  // as one batch of the store. `why_ended` is said of these, with the new
  // digest. Holds change_mutex_.
  absl::StatusOr<TableRecord> PromoteInPlaceOf(
      const std::vector<TableRecord>& ended, TableRecord record, NewTable table,
      absl::string_view why_ended);
  // Makes `next` the snapshot, at the change's revision, and tells watchers.
  // Holds change_mutex_.
  void Publish(TableSnapshot next, const TableChange& change);
  // Makes the pins of the store those of the snapshot. Holds change_mutex_.
  absl::Status ReadPins();
  // The same for a table that was withdrawn.
  void PublishWithdrawn(const TableRecord& record);

  TableStore* const store_;
  const Warn warn_;
  std::mutex change_mutex_;  // Serialises promotions; taken before mutex_.
  // Withdrawals that are not stored yet. Guarded by change_mutex_.
  std::map<ProfileKey, TableRecord> unsaved_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const TableSnapshot> snapshot_;
  std::deque<TableChange> changes_;  // Ascending revisions, no gaps.
  uint64_t changes_from_ = 0;  // All changes after this revision are kept.
  Listeners<TableChange> listeners_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_TABLE_CATALOG_H_
