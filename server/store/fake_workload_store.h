// FakeWorkloadStore: WorkloadStore in memory, which counts writes and fails on
// request.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAKE_WORKLOAD_STORE_H_
#define WAVETUNE_SERVER_STORE_FAKE_WORKLOAD_STORE_H_

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/workload_store.h"

namespace wavetune {

class FakeWorkloadStore : public WorkloadStore {
 public:
  absl::Status Put(const WorkloadRecord& record) override {
    std::lock_guard lock(mutex_);
    ++writes_;
    if (!status_.ok()) return status_;
    records_[record.name] = record;
    return absl::OkStatus();
  }
  absl::Status Delete(const std::string& name) override {
    std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    records_.erase(name);
    return absl::OkStatus();
  }
  absl::StatusOr<WorkloadRecord> Get(const std::string& name) override {
    std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    const auto found = records_.find(name);
    if (found != records_.end()) return found->second;
    return absl::NotFoundError(absl::StrCat("there is no workload ", name));
  }
  absl::StatusOr<std::vector<WorkloadRecord>> List() override {
    std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    std::vector<WorkloadRecord> records;
    for (const auto& [name, record] : records_) records.push_back(record);
    return records;
  }

  // What calls answer from now on.
  void SetStatus(absl::Status status) {
    std::lock_guard lock(mutex_);
    status_ = std::move(status);
  }
  // Puts so far, the failed ones included.
  int writes() const {
    std::lock_guard lock(mutex_);
    return writes_;
  }

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  absl::Status status_;
  int writes_ = 0;
  std::map<std::string, WorkloadRecord> records_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAKE_WORKLOAD_STORE_H_
