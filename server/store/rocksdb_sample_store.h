// RocksDbSampleStore: SampleStore in column family samples.
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_ROCKSDB_SAMPLE_STORE_H_
#define WAVETUNE_SERVER_STORE_ROCKSDB_SAMPLE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/store/rocksdb_database.h"
#include "server/store/sample_store.h"
#include "server/store/stored_records.h"

namespace wavetune {

class RocksDbSampleStore : public SampleStore {
 public:
  // `database` must outlive the store; `limit_bytes` of 0: no limit. Errors: as
  // FromRocksDb. Cost: one read for each generation.
  static absl::StatusOr<std::unique_ptr<RocksDbSampleStore>> Create(
      RocksDbDatabase* database, int64_t limit_bytes);

  absl::Status Append(const ProfileKey& key, uint64_t generation,
                      absl::Span<const SampleRecord> samples,
                      absl::Span<const CandidateRecord> candidates) override;
  absl::StatusOr<SamplePage> LoadPage(const ProfileKey& key,
                                      uint64_t generation, uint64_t from,
                                      size_t most) override;
  absl::StatusOr<std::vector<CandidateRecord>> LoadCandidates(
      const ProfileKey& key, uint64_t generation) override;
  absl::StatusOr<std::vector<uint64_t>> Generations(
      const ProfileKey& key) override;
  absl::Status Prune(const ProfileKey& key, int keep) override;
  absl::StatusOr<std::vector<StoredKey>> Keys() override;
  absl::Status Forget(const ProfileKey& key) override;
  absl::StatusOr<Stats> GetStats() override;

 private:
  RocksDbSampleStore(RocksDbDatabase* database, int64_t limit_bytes);

  absl::Status LoadStats();
  // Returns the record under a generation's key, counted anew where it is
  // damaged; zeros where there is none.
  absl::StatusOr<GenerationRecord> ReadGeneration(
      const std::string& generation_key);
  absl::StatusOr<GenerationRecord> Recount(const std::string& generation_key);
  // Visits the entries of one kind with sequence numbers in [from, end), until
  // `visit` returns false; skips damaged ones.
  absl::Status ScanEntries(const std::string& prefix, uint64_t from,
                           uint64_t end, const RocksDbDatabase::Visit& visit);
  absl::Status CheckLimit(int64_t added_bytes) const;
  // Deletes generations. Holds mutex_.
  absl::Status Delete(const ProfileKey& key,
                      const std::vector<uint64_t>& generations);
  // Returns when the last sample of a generation was measured; 0: there is
  // none.
  absl::StatusOr<int64_t> NewestOf(const ProfileKey& key, uint64_t generation,
                                   const GenerationRecord& record);

  RocksDbDatabase* const database_;
  std::mutex mutex_;  // Held while writing, so that sequences do not collide.
  // Taken after mutex_, and never while writing: no reader waits for a disk.
  std::mutex stats_mutex_;
  Stats stats_;  // Guarded by stats_mutex_; changed with mutex_ held, too.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_ROCKSDB_SAMPLE_STORE_H_
