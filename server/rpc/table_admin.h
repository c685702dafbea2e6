// TableAdmin: what operators do with tables. Knows no gRPC.
//
// Whoever calls may change what serves; who it is (`by`) and why is kept.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_RPC_TABLE_ADMIN_H_
#define WAVETUNE_SERVER_RPC_TABLE_ADMIN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "proto/wavetune/v1/admin_service.pb.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/event_journal.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/node_staleness.h"
#include "server/catalog/rollback.h"
#include "server/catalog/table_admission.h"
#include "server/catalog/table_catalog.h"
#include "server/catalog/table_lookup.h"
#include "server/store/sample_store.h"

namespace wavetune {

class TableAdmin {
 public:
  // Longest reason.
  static constexpr size_t kMaxReasonBytes = 1000;
  // Errors: INVALID_ARGUMENT for a longer one.
  static absl::Status CheckReason(const std::string& reason);

  // Pointers outlive the object.
  struct Options {
    std::string store_id;
    TableCatalog* tables = nullptr;
    AgentDirectory* devices = nullptr;
    KernelCatalog* kernels = nullptr;
    SampleStore* samples = nullptr;
    Clock* clock = nullptr;
    EventJournal* events = nullptr;  // Hears of pins.
    WhyHalted why_halted;            // Nothing: there is no fleet.
  };

  explicit TableAdmin(Options options);

  // Makes an earlier table serve again. Errors: as TableLookup::SiliconFor,
  // RollbackTarget and TableCatalog::RollBack. FAILED_PRECONDITION where the
  // samples of its profile show a choice wrong, or the present kernel cannot
  // launch one. INVALID_ARGUMENT for too long a reason.
  absl::Status RollBack(const v1::RollBackRequest& request,
                        const std::string& by, v1::RollBackResponse* response);

  // Makes a table serve that was saved on another node. Errors:
  // INVALID_ARGUMENT for bytes that are no table, and for too long a reason; as
  // TableAdmission::RecordOf and TableCatalog::Import.
  absl::Status Import(const v1::ImportTableRequest& request,
                      const std::string& by, v1::ImportTableResponse* response);

  // Errors: as TableCatalog::RetireByDigest. INVALID_ARGUMENT for too long a
  // reason. FAILED_PRECONDITION where it answers for a device here and the
  // request does not say that it ends all the same. NOT_FOUND for an unknown
  // device.
  absl::Status Retire(const v1::RetireTableRequest& request,
                      const std::string& by, v1::RetireTableResponse* response);

  // Errors: as TableLookup::SiliconFor and TableCatalog::Pin; INVALID_ARGUMENT
  // for too long a reason.
  absl::Status Pin(const v1::PinTableRequest& request, const std::string& by,
                   v1::PinTableResponse* response);

  // Errors: as TableLookup::SiliconFor and TableCatalog::Unpin.
  absl::Status Unpin(const v1::UnpinTableRequest& request,
                     const std::string& by);

 private:
  v1::TableInfo InfoOf(const TableRecord& table) const;
  // A device of this node that is answered with the table; empty: none is.
  std::string AnswersFor(const TableRecord& table) const;
  // Those keys of one table's that a request ends.
  absl::StatusOr<std::vector<TableRecord>> ToRetire(
      const v1::RetireTableRequest& request,
      std::vector<TableRecord> tables) const;

  const Options options_;
  const TableLookup lookup_;
  const NodeStaleness staleness_;
  const TableAdmission admission_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_RPC_TABLE_ADMIN_H_
