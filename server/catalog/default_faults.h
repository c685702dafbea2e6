// DefaultFaults: on which device classes a kernel's default cannot be used, as
// its profiles have found. A decision that answers the default there answers
// something that nobody should launch.
//
//   DefaultFaults faults(&samples, later);
//   faults.Load(key, standard);  // A thread that may wait for a disk.
//   faults.Of(key, standard)["causal"];  // Any thread.
//
// Readers get the answer in memory and never wait for the store: one that is
// new is read soon after. It is read again when a job has prepared or excluded
// others; the old answer holds until then.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_CATALOG_DEFAULT_FAULTS_H_
#define WAVETUNE_SERVER_CATALOG_DEFAULT_FAULTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/store/records.h"
#include "server/store/sample_store.h"
#include "wavetune/configuration.h"

namespace wavetune {

class DefaultFaults {
 public:
  // Edited kernels leave keys that nobody asks for any more: of so many, those
  // asked for longest ago are forgotten.
  static constexpr size_t kMostKept = 1024;

  // Why it cannot be used, by specialisation; without those in which it can.
  using Reasons = std::map<std::string, std::string>;
  // Does something soon, on a thread that may wait for a disk.
  using Later = std::function<void(std::function<void()>)>;

  // `samples` outlives this. A new question is read `later`, which does nothing
  // any more once this is gone; empty: at once.
  explicit DefaultFaults(SampleStore* samples, Later later = nullptr)
      : samples_(samples), later_(std::move(later)) {}

  // Returns what the newest profile under `key` that has come to a default says
  // of it; nothing where there is none, or where it has not been read yet.
  // Waits for no disk.
  Reasons Of(const ProfileKey& key, const Configuration& default_configuration);

  // Returns a number that grows with each change of what Of returns.
  uint64_t revision() const { return revision_.load(); }

  // Reads what Of returns. What cannot be read is as it was, until RetryFailed.
  void Load(const ProfileKey& key, const Configuration& default_configuration);

  // Somebody may ask for it: Reload reads it.
  void Expect(const ProfileKey& key,
              const Configuration& default_configuration);

  // The candidates of a profile have changed: reads their exclusions again.
  void Reload(const ProfileKey& key);

  // Has read `later` what could not be read. To be called now and then. Cost:
  // nothing where there is none.
  void RetryFailed();

 private:
  using Asked = std::pair<ProfileKey, Configuration>;
  struct Known {
    Reasons reasons;
    bool failed = false;     // When it was last read.
    uint64_t reading = 0;    // The reading that this is of; 0: none.
    uint64_t last_used = 0;  // By counter_.
  };

  absl::StatusOr<Reasons> Read(const Asked& asked) const;
  void LoadLater(const Asked& asked);
  // Returns the entry, in the place of another where there are too many. Holds
  // mutex_.
  Known& Entry(const Asked& asked);

  SampleStore* const samples_;
  const Later later_;
  std::atomic<uint64_t> revision_ = 0;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<Asked, Known> known_;
  uint64_t counter_ = 0;  // Counts readings and uses.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_CATALOG_DEFAULT_FAULTS_H_
