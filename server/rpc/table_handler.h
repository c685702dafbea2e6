// TableHandler: what TableService does. Knows no gRPC.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_TABLE_HANDLER_H_
#define WAVETUNE_SERVER_RPC_TABLE_HANDLER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/wavetune/v1/table_service.pb.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/node_staleness.h"
#include "server/catalog/table_catalog.h"
#include "server/catalog/table_lookup.h"
#include "server/catalog/table_sets.h"

namespace wavetune {

using TableNotice = std::shared_ptr<const v1::WatchTablesResponse>;
using TableNotices = std::vector<TableNotice>;

// What GetTable answers with: a v1::GetTableResponse whose payload stays where
// it is (server/rpc/table_answers.h).
struct FoundTable {
  v1::TableInfo info;
  std::shared_ptr<const CompiledTable> table;
};

// What GetTable's answer about a table that serves follows from, beside the
// request: of equal ones, it is equal.
struct AnswerBasis {
  std::shared_ptr<const TableSnapshot> snapshot;
  uint64_t devices = 0;
  uint64_t kernels = 0;
  uint64_t default_faults = 0;
};

class TableHandler {
 public:
  // Where a watch's notices go. Calls come one at a time and must not block.
  class Sink {
   public:
    virtual ~Sink() = default;
    // Queues notices. Returns false, queueing none, where the watcher is too
    // slow and its queue is full.
    virtual bool Push(const TableNotices& notices) = 0;
    // Drops all queued notices and queues these.
    virtual void Replace(const TableNotices& notices) = 0;
  };
  // A running watch; drop it to end.
  class Watch;

  // All outlive the handler; `default_faults` as of TableLookup.
  TableHandler(std::string store_id, TableCatalog* tables,
               AgentDirectory* devices, KernelCatalog* kernels,
               DefaultFaults* default_faults = nullptr);

  absl::Status ListTables(const v1::ListTablesRequest& request,
                          v1::ListTablesResponse* response) const;
  absl::Status GetTable(const v1::GetTableRequest& request,
                        FoundTable* found) const;
  // Returns what GetTable goes by now.
  AnswerBasis BasisOfAnswers() const;
  // Whether a table serves: GetTable then needs no store.
  bool Serves(const std::string& digest) const;

  // Makes a set known. Errors: as TableSets::Announce.
  absl::Status AnnounceTableSet(const v1::AnnounceTableSetRequest& request,
                                v1::AnnounceTableSetResponse* response);
  // Finds a set that was announced, or that serves: all tables, or those of one
  // device class. Errors: NOT_FOUND; INVALID_ARGUMENT for a text that is no
  // digest.
  absl::Status GetTableSet(const v1::GetTableSetRequest& request,
                           v1::GetTableSetResponse* response) const;

  // Lists promotions and withdrawals; reads the store. Errors: as
  // TableLookup::SiliconFor; NOT_FOUND where there are none; INVALID_ARGUMENT
  // for a limit that is none.
  absl::Status ListTableHistory(const v1::ListTableHistoryRequest& request,
                                v1::ListTableHistoryResponse* response) const;

  // Lists tables that were not promoted; reads the store. Errors: as
  // ListTableHistory.
  absl::Status ListRejectedTables(
      const v1::ListRejectedTablesRequest& request,
      v1::ListRejectedTablesResponse* response) const;

  // Starts a watch: the snapshot or the missed changes, then every change.
  // Notices are shared by all watchers: a thousand of them cost little memory.
  // `sink` is held weakly.
  std::shared_ptr<Watch> WatchTables(const v1::WatchTablesRequest& request,
                                     std::weak_ptr<Sink> sink);

  int watchers() const { return watchers_.load(); }
  // Times that a watcher was too slow for its notices and got what serves
  // instead.
  int64_t slow_watchers() const { return slow_watchers_.load(); }

 private:
  // Returns why a table that serves nowhere was withdrawn; empty: it was not.
  std::string WhyWithdrawn(const std::string& digest) const;
  v1::TableInfo InfoOf(const TableRecord& table,
                       const std::string& stale_reason) const;
  TableNotice Notice(v1::WatchTablesResponse::Kind kind, uint64_t revision,
                     const TableRecord* table = nullptr,
                     const std::string& stale_reason = "") const;
  TableNotice ChangeNotice(const TableChange& change);
  TableNotice RemarkNotice(const TableChange& change);
  // Appends the present remark on each serving table to `notices`.
  void AddRemarks(const TableSnapshot& snapshot, TableNotices& notices) const;
  // Appends the tables that are withdrawn now to `notices`.
  void AddWithdrawals(const TableSnapshot& snapshot,
                      TableNotices& notices) const;
  // Returns the notices of a full snapshot: serving tables, SYNCED, withdrawn
  // tables.
  TableNotices SnapshotNotices(
      const std::shared_ptr<const TableSnapshot>& snapshot);
  void OnChange(Watch& watch, const TableChange& change);

  const std::string store_id_;
  TableCatalog* const tables_;
  AgentDirectory* const devices_;
  KernelCatalog* const kernels_;
  DefaultFaults* const default_faults_;
  const TableLookup lookup_;
  const NodeStaleness staleness_;
  TableSets sets_;
  std::atomic<int> watchers_ = 0;
  std::atomic<int64_t> slow_watchers_ = 0;
  std::mutex mutex_;
  // Guarded by mutex_: the last notices that watchers were sent.
  std::shared_ptr<const TableSnapshot> noted_snapshot_;
  TableNotices noted_;
  TableNotice last_change_;
  TableNotice last_remark_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_TABLE_HANDLER_H_
