// FakeRecords: what the fakes of stores of one kind of record have in common:
// they keep records by key in memory, count writes and fail on request.
//
//   class FakeUsageStore : public UsageStore,
//                          public FakeRecords<Key, UsageRecord> { ... };
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAKE_RECORDS_H_
#define WAVETUNE_SERVER_STORE_FAKE_RECORDS_H_

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace wavetune {

template <typename Key, typename Record>
class FakeRecords {
 public:
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

 protected:
  absl::Status PutRecord(const Key& key, const Record& record) {
    std::lock_guard lock(mutex_);
    ++writes_;
    if (status_.ok()) records_[key] = record;
    return status_;
  }
  absl::Status DeleteRecord(const Key& key) {
    std::lock_guard lock(mutex_);
    if (status_.ok()) records_.erase(key);
    return status_;
  }
  absl::StatusOr<std::optional<Record>> GetRecord(const Key& key) const {
    std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    const auto found = records_.find(key);
    if (found == records_.end()) return std::nullopt;
    return found->second;
  }
  // By key.
  absl::StatusOr<std::vector<Record>> ListRecords() const {
    std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    std::vector<Record> records;
    for (const auto& [key, record] : records_) records.push_back(record);
    return records;
  }

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  absl::Status status_;
  int writes_ = 0;
  std::map<Key, Record> records_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAKE_RECORDS_H_
