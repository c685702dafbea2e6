// TableAdmission: whether a table from elsewhere may serve on this node.
//
// What an operator imports, and what lies beside a kernel, was measured on
// another node. It is compared with the devices and the kernel as they are
// here.
//
//   ASSIGN_OR_RETURN(TableRecord record, admission.RecordOf(table));
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_CATALOG_TABLE_ADMISSION_H_
#define WAVETUNE_SERVER_CATALOG_TABLE_ADMISSION_H_

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "model/kernel/device.h"
#include "model/table/table.h"
#include "server/agents/agent_directory.h"
#include "server/catalog/kernel_catalog.h"
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

 private:
  AgentDirectory* const devices_;
  KernelCatalog* const kernels_;
  SampleStore* const samples_;
  Clock* const clock_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_TABLE_ADMISSION_H_
