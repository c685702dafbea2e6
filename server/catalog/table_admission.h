// TableAdmission: whether a table from elsewhere may serve on this node.
//
// What an operator imports, and what lies beside a kernel, was measured on
// another node. It is compared with the devices and the kernel as they are
// here. So is what the store has, as an earlier daemon may have taken it, or
// the manifest have allowed more then.
//
//   ASSIGN_OR_RETURN(TableRecord record, admission.RecordOf(table));
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_CATALOG_TABLE_ADMISSION_H_
#define WAVETUNE_SERVER_CATALOG_TABLE_ADMISSION_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "model/kernel/device.h"
#include "model/table/table.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
#include "server/catalog/table_catalog.h"
#include "server/store/records.h"
#include "server/store/sample_store.h"

namespace wavetune {

class TableAdmission {
 public:
  // All outlive the object.
  TableAdmission(AgentDirectory* devices, KernelCatalog* kernels,
                 SampleStore* samples, Clock* clock)
      : devices_(devices),
        kernels_(kernels),
        samples_(samples),
        clock_(clock) {}

  // Returns a device of a table's silicon: an attached one, else one that was
  // seen. Errors: NOT_FOUND naming the silicons that were.
  absl::StatusOr<DeviceFacts> DeviceOf(const Table& table) const;

  // Returns the record that the table would serve with now; how, by, why and
  // whether it is verified are left to the caller. Errors: as DeviceOf,
  // KernelCatalog::Get and CheckChoices; FAILED_PRECONDITION where samples here
  // show one of its choices wrong.
  absl::StatusOr<TableRecord> RecordOf(const Table& table) const;
  // The same for a table that is to serve under another environment than the
  // one that it was measured in; samples of both can show it wrong.
  absl::StatusOr<TableRecord> RecordOf(const Table& table,
                                       const ProfileKey& key) const;

  // Returns OK where nothing that this node has speaks against the table's
  // choices: for one that served here before. The kernel may be another one by
  // now, or gone. Errors: as CheckChoices where they can be compared.
  absl::Status CheckAsKnown(const Table& table) const;

  // Leaves out every serving table that CheckAsKnown refuses. Where nothing
  // else serves for the kernel on that silicon, what served before does again,
  // where that may serve; else the default decides. Watchers are told; `warn`
  // hears of what cannot serve again. To be called when a daemon starts, and
  // when an operator has it read its kernels again.
  void LeaveOutIllegal(
      TableCatalog* tables,
      const std::function<void(const std::string&)>& warn) const;

 private:
  // Has what served before `illegal` serve again. Errors: NOT_FOUND where
  // nothing did that may; TableCatalog::RollBack's; the store's.
  absl::Status ServeTheOneBefore(const TableRecord& illegal,
                                 TableCatalog* tables) const;
  // Whether a table of the history may serve. Errors: why it may not.
  absl::Status CheckStored(const TableRecord& record,
                           const TableCatalog& tables) const;

  AgentDirectory* const devices_;
  KernelCatalog* const kernels_;
  SampleStore* const samples_;
  Clock* const clock_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_TABLE_ADMISSION_H_
