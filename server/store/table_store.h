// TableStore: immutable payloads by digest, and which of them serves for each
// profile key.
//
// Contract suite: server/store/table_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_TABLE_STORE_H_
#define WAVETUNE_SERVER_STORE_TABLE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/records.h"
#include "wavetune/problem.h"

namespace wavetune {

// A table with its payload (docs/table_format.md).
struct StoredPayload {
  TableRecord record;
  std::string payload;
};

// One problem of a verification; 0 us where it was not measured, or there is
// none.
struct RejectedPoint {
  Problem problem;
  double weight = 1;
  double chosen_us = 0;  // The rejected table's.
  double incumbent_us = 0;
  double default_us = 0;

  friend bool operator==(const RejectedPoint&, const RejectedPoint&) = default;
};

// A table that a job fitted and that was not promoted.
struct RejectedTable {
  TableRecord record;  // As it would have been promoted.
  std::string reason;
  int64_t at_us = 0;  // Since the Unix epoch.
  std::vector<RejectedPoint> points;

  friend bool operator==(const RejectedTable&, const RejectedTable&) = default;
};

class TableStore {
 public:
  // All that is kept beside what serves.
  struct Inventory {
    std::vector<TableRecord> history;   // By epoch.
    std::vector<TableRecord> payloads;  // The record of each, by digest.
    std::set<std::string> rejected;     // Digests.
  };

  // Rejected tables that are kept of a kernel on one silicon.
  static constexpr size_t kRejectedKept = 16;

  virtual ~TableStore() = default;

  // Makes a payload serve for `record.key`, as one atomic synced batch:
  // payload, serving entry, epoch and revision together. Sets epoch, revision,
  // digest and size. The table that served before stays readable by its digest.
  // Errors: RESOURCE_EXHAUSTED on a full disk, INTERNAL on other I/O errors;
  // then nothing changed.
  virtual absl::StatusOr<TableRecord> Promote(TableRecord record,
                                              absl::string_view payload) = 0;

  // As Promote, of a payload that served before; what serves for the keys in
  // `ended` serves no longer, in the same batch. The revision grows by one for
  // each of these, too.
  virtual absl::StatusOr<TableRecord> RollBack(
      TableRecord record, absl::string_view payload,
      const std::vector<ProfileKey>& ended) = 0;

  // Returns the promotions and withdrawals for a kernel on one silicon, newest
  // first. Cost: reads the history of all kernels.
  virtual absl::StatusOr<std::vector<TableRecord>> History(
      absl::string_view kernel, absl::string_view silicon_key) = 0;

  // Keeps a table that does not serve: one for each job (record.job_id), the
  // newest kRejectedKept of a kernel and silicon. Its payload can be read by
  // its digest as long as it is kept. Sets digest and size. Not synced: it
  // serves nobody. Errors: as Promote.
  virtual absl::Status Reject(RejectedTable table,
                              absl::string_view payload) = 0;
  // Returns them for a kernel on one silicon, newest job first.
  virtual absl::StatusOr<std::vector<RejectedTable>> ListRejected(
      absl::string_view kernel, absl::string_view silicon_key) = 0;

  // Keeps a pin, in the place of the one for the same kernel and silicon.
  // Synced. Errors: as Promote.
  virtual absl::Status Pin(const PinRecord& pin) = 0;
  // Errors: NOT_FOUND where there is none; else as Promote.
  virtual absl::Status Unpin(absl::string_view kernel,
                             absl::string_view silicon_key) = 0;
  // Sorted by kernel, then silicon.
  virtual absl::StatusOr<std::vector<PinRecord>> ListPins() = 0;

  // Ends serving for a key, and forgets its withdrawn table. NOT_FOUND if there
  // is neither. Returns the store's new revision.
  virtual absl::StatusOr<uint64_t> Retire(const ProfileKey& key) = 0;

  // Notes that the table `record.digest` does not serve for `record.key` any
  // more, for the reason in `record.withdrawn`, as one atomic synced batch;
  // what serves for that key serves no longer. A later promotion for the key
  // takes its place. Sets epoch and revision. Errors: as Promote.
  virtual absl::StatusOr<TableRecord> Withdraw(TableRecord record) = 0;

  // Returns withdrawn tables that were not replaced since, sorted by key.
  virtual absl::StatusOr<std::vector<TableRecord>> ListWithdrawn() = 0;

  // Returns a table by digest. Errors: NOT_FOUND; DATA_LOSS where the stored
  // bytes do not have that digest (counted as corrupt).
  virtual absl::StatusOr<StoredPayload> Get(absl::string_view digest) = 0;

  // Reads all records; payloads are read and dropped.
  virtual absl::StatusOr<Inventory> TakeInventory() = 0;

  // Deletes payloads and what the history says of them, as one batch; those
  // that serve, are withdrawn, pinned or rejected stay. Returns how many were
  // deleted. Errors: as Promote.
  virtual absl::StatusOr<int> Forget(
      const std::vector<std::string>& digests) = 0;

  // Returns what serves now, sorted by key.
  virtual absl::StatusOr<std::vector<TableRecord>> ListServing() = 0;

  // Returns the revision of the last promotion or retirement; store-wide,
  // monotonic, 0 in a new store.
  virtual uint64_t Revision() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_TABLE_STORE_H_
