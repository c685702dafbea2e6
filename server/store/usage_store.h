// UsageStore: usage records, so that a restarted daemon still knows the
// problems in use.
//
// Contract suite: server/store/usage_store_contract_test.h.
#ifndef WAVETUNE_SERVER_STORE_USAGE_STORE_H_
#define WAVETUNE_SERVER_STORE_USAGE_STORE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/usage/usage_record.h"

namespace wavetune {

class UsageStore {
 public:
  virtual ~UsageStore() = default;

  // Stores or overwrites the record of (kernel, silicon key). Not synced: a
  // power cut may lose the last minutes of counting. Errors: as
  // SampleStore::Append.
  virtual absl::Status Put(const UsageRecord& record) = 0;

  // Removes a record; OK where there is none.
  virtual absl::Status Delete(const std::string& kernel,
                              const std::string& silicon_key) = 0;

  // Returns all sound records, sorted by kernel, then silicon key.
  virtual absl::StatusOr<std::vector<UsageRecord>> List() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_USAGE_STORE_H_
