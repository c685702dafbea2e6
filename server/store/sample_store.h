// SampleStore: raw measurements, kept so that a better fit needs no new device
// time.
//
// Samples of a profile key live in generations: reprofiling "fresh" opens a new
// one, older ones stay until pruned. Contract suite:
// server/store/sample_store_contract_test.h, passed by FakeSampleStore and
// RocksDbSampleStore alike.
#ifndef WAVETUNE_SERVER_STORE_SAMPLE_STORE_H_
#define WAVETUNE_SERVER_STORE_SAMPLE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/store/records.h"

namespace wavetune {

// The generation of measuring jobs' samples; profiling counts from 1.
inline constexpr uint64_t kMeasuredGeneration = 0;

// Some of a generation's samples.
struct SamplePage {
  std::vector<SampleRecord> samples;  // In the order of appending.
  uint64_t next = 0;  // Where the next page begins; 0: this is the last.
};

// A stored key's contents.
struct StoredKey {
  ProfileKey key;
  int64_t samples = 0;
  int64_t newest_us = 0;  // When the last one was measured; 0: there is none.

  friend bool operator==(const StoredKey&, const StoredKey&) = default;
};

class SampleStore {
 public:
  struct Stats {
    int64_t samples = 0;
    int64_t size_bytes = 0;   // Samples and candidate records, keys included.
    int64_t limit_bytes = 0;  // Append fails above it; 0: no limit.
  };

  virtual ~SampleStore() = default;

  // Appends samples and candidate records of one generation as one synced
  // batch. Once this returns OK they survive any crash. Errors:
  // RESOURCE_EXHAUSTED on a full disk or above the size limit (what to do is in
  // the message), INTERNAL on other I/O errors; then nothing was added.
  virtual absl::Status Append(const ProfileKey& key, uint64_t generation,
                              absl::Span<const SampleRecord> samples,
                              absl::Span<const CandidateRecord> candidates) = 0;

  // Returns at most `most` samples of one generation, at least 1, from `from`
  // on: 0, or what the page before says. Pages that were asked for in between
  // appends, or a pruning, hold the samples of their time. Corrupt entries are
  // left out and counted.
  virtual absl::StatusOr<SamplePage> LoadPage(const ProfileKey& key,
                                              uint64_t generation,
                                              uint64_t from, size_t most) = 0;

  // Returns the latest record of each candidate of one generation, sorted by
  // specialisation, then configuration. Corrupt entries as above.
  virtual absl::StatusOr<std::vector<CandidateRecord>> LoadCandidates(
      const ProfileKey& key, uint64_t generation) = 0;

  // Returns everything of one generation; empty if there is nothing.
  absl::StatusOr<SampleSet> Load(const ProfileKey& key, uint64_t generation);

  // Returns the generations with entries, ascending.
  virtual absl::StatusOr<std::vector<uint64_t>> Generations(
      const ProfileKey& key) = 0;

  // Deletes all but the `keep` newest generations. kMeasuredGeneration stays
  // and does not count.
  virtual absl::Status Prune(const ProfileKey& key, int keep) = 0;

  // Returns what there is of each key, sorted. Cost: a few reads for each
  // generation.
  virtual absl::StatusOr<std::vector<StoredKey>> Keys() = 0;

  // Deletes everything of a key, kMeasuredGeneration too, as one batch.
  virtual absl::Status Forget(const ProfileKey& key) = 0;

  // Returns sums over all keys.
  virtual absl::StatusOr<Stats> GetStats() = 0;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_SAMPLE_STORE_H_
