// FakeUsageStore: UsageStore in memory, which counts writes and fails on
// request.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAKE_USAGE_STORE_H_
#define WAVETUNE_SERVER_STORE_FAKE_USAGE_STORE_H_

#include <string>
#include <utility>
#include <vector>

#include "server/store/fake_records.h"
#include "server/store/usage_store.h"

namespace wavetune {

class FakeUsageStore
    : public UsageStore,
      public FakeRecords<std::pair<std::string, std::string>, UsageRecord> {
 public:
  absl::Status Put(const UsageRecord& record) override {
    return PutRecord({record.kernel, record.silicon_key}, record);
  }
  absl::Status Delete(const std::string& kernel,
                      const std::string& silicon_key) override {
    return DeleteRecord({kernel, silicon_key});
  }
  absl::StatusOr<std::vector<UsageRecord>> List() override {
    return ListRecords();
  }
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAKE_USAGE_STORE_H_
