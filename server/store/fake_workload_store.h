// FakeWorkloadStore: WorkloadStore in memory, which counts writes and fails on
// request.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAKE_WORKLOAD_STORE_H_
#define WAVETUNE_SERVER_STORE_FAKE_WORKLOAD_STORE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/store/fake_records.h"
#include "server/store/workload_store.h"

namespace wavetune {

class FakeWorkloadStore : public WorkloadStore,
                          public FakeRecords<std::string, WorkloadRecord> {
 public:
  absl::Status Put(const WorkloadRecord& record) override {
    return PutRecord(record.name, record);
  }
  absl::Status Delete(const std::string& name) override {
    return DeleteRecord(name);
  }
  absl::StatusOr<WorkloadRecord> Get(const std::string& name) override {
    ASSIGN_OR_RETURN(std::optional<WorkloadRecord> record, GetRecord(name));
    if (record.has_value()) return *std::move(record);
    return absl::NotFoundError(absl::StrCat("there is no workload ", name));
  }
  absl::StatusOr<std::vector<WorkloadRecord>> List() override {
    return ListRecords();
  }
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAKE_WORKLOAD_STORE_H_
