// FakeUsageStore: UsageStore in memory, which counts writes and fails on
// request.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAKE_USAGE_STORE_H_
#define WAVETUNE_SERVER_STORE_FAKE_USAGE_STORE_H_

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/store/usage_store.h"

namespace wavetune {

class FakeUsageStore : public UsageStore {
 public:
  absl::Status Put(const UsageRecord& record) override {
    std::lock_guard lock(mutex_);
    ++writes_;
    if (!status_.ok()) return status_;
    records_[{record.kernel, record.silicon_key}] = record;
    return absl::OkStatus();
  }
  absl::Status Delete(const std::string& kernel,
                      const std::string& silicon_key) override {
    std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    records_.erase({kernel, silicon_key});
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<UsageRecord>> List() override {
    std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    std::vector<UsageRecord> records;
    for (const auto& [key, record] : records_) records.push_back(record);
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
  std::map<std::pair<std::string, std::string>, UsageRecord> records_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAKE_USAGE_STORE_H_
