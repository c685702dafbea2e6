// DefaultFaults: on which device classes a kernel's default cannot be used, as
// its profiles have found. A decision that answers the default there answers
// something that nobody should launch.
//
//   faults.Of(table.record.key, table.default_configuration)["causal"];
//
// Kept in memory, made from the candidates of the kept profiles when asked for
// first, and forgotten when a job has prepared or excluded others.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_REGISTRY_DEFAULT_FAULTS_H_
#define WAVETUNE_SERVER_REGISTRY_DEFAULT_FAULTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "model/kernel/configuration.h"
#include "server/registry/records.h"
#include "server/registry/sample_store.h"

namespace wavetune {

class DefaultFaults {
 public:
  // Why it cannot be used, by specialisation; without those in which it can.
  using Reasons = std::map<std::string, std::string>;

  // `samples` outlives this.
  explicit DefaultFaults(SampleStore* samples) : samples_(samples) {}

  // Returns what the newest profile under `key` that has come to a default says
  // of it; nothing where there is none, or where one cannot be read.
  Reasons Of(const ProfileKey& key, const Configuration& standard);

  // The candidates of a profile have changed.
  void Forget(const ProfileKey& key);

 private:
  using Asked = std::pair<ProfileKey, Configuration>;
  // Edited kernels leave keys that nobody asks for any more.
  static constexpr size_t kMostKept = 1024;

  SampleStore* const samples_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<Asked, Reasons> known_;
  uint64_t changes_ = 0;  // Calls of Forget.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_REGISTRY_DEFAULT_FAULTS_H_
