// Fake stores: SampleStore, TableStore, JobStore and DeviceStore in memory.
//
// They behave as the RocksDB ones do (the contract suites beside this file hold
// both to it), except that nothing survives the object.
//
//   FakeSampleStore samples;
//   FakeTableStore tables;
//   JobQueue queue({.samples = &samples, .tables = &tables, ...});
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAKE_STORES_H_
#define WAVETUNE_SERVER_STORE_FAKE_STORES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/store/device_store.h"
#include "server/store/job_store.h"
#include "server/store/records.h"
#include "server/store/sample_store.h"
#include "server/store/table_store.h"

namespace wavetune {

class FakeSampleStore : public SampleStore {
 public:
  // `limit_bytes` of 0: no limit.
  explicit FakeSampleStore(int64_t limit_bytes = 0)
      : limit_bytes_(limit_bytes) {}

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
  using CandidateKey = std::pair<std::string, Configuration>;
  struct Generation {
    std::vector<SampleRecord> samples;
    std::map<CandidateKey, CandidateRecord> candidates;
    int64_t size_bytes = 0;
  };
  using GenerationKey = std::pair<ProfileKey, uint64_t>;

  const int64_t limit_bytes_;
  std::mutex mutex_;
  std::map<GenerationKey, Generation> generations_;  // Guarded by mutex_.
  Stats stats_;                                      // Guarded by mutex_.
};

class FakeTableStore : public TableStore {
 public:
  absl::StatusOr<TableRecord> Promote(TableRecord record,
                                      absl::string_view payload) override;
  absl::StatusOr<TableRecord> RollBack(
      TableRecord record, absl::string_view payload,
      const std::vector<ProfileKey>& ended) override;
  absl::StatusOr<std::vector<TableRecord>> History(
      absl::string_view kernel, absl::string_view silicon_key) override;
  absl::Status Reject(RejectedTable table, absl::string_view payload) override;
  absl::StatusOr<std::vector<RejectedTable>> ListRejected(
      absl::string_view kernel, absl::string_view silicon_key) override;
  absl::Status Pin(const PinRecord& pin) override;
  absl::Status Unpin(absl::string_view kernel,
                     absl::string_view silicon_key) override;
  absl::StatusOr<std::vector<PinRecord>> ListPins() override;
  absl::StatusOr<uint64_t> Retire(const ProfileKey& key) override;
  absl::StatusOr<TableRecord> Withdraw(TableRecord record) override;
  absl::StatusOr<std::vector<TableRecord>> ListWithdrawn() override;
  absl::StatusOr<StoredPayload> Get(absl::string_view digest) override;
  absl::StatusOr<std::vector<TableRecord>> ListServing() override;
  absl::StatusOr<Inventory> TakeInventory() override;
  absl::StatusOr<int> Forget(const std::vector<std::string>& digests) override;
  uint64_t Revision() override;

  // Damages a stored payload, so that Get reports DATA_LOSS.
  void Corrupt(absl::string_view digest);

 private:
  std::mutex mutex_;
  // All guarded by mutex_.
  std::map<std::string, StoredPayload, std::less<>> tables_;
  std::map<ProfileKey, TableRecord> serving_;
  std::map<ProfileKey, TableRecord> withdrawn_;
  std::vector<TableRecord> history_;  // Oldest first.
  // By kernel and silicon, then job.
  std::map<std::pair<std::string, std::string>,
           std::map<uint64_t, RejectedTable>>
      rejected_;
  std::map<std::pair<std::string, std::string>, PinRecord> pins_;
  uint64_t epoch_ = 0;
  uint64_t revision_ = 0;
};

class FakeJobStore : public JobStore {
 public:
  absl::StatusOr<JobRecord> Create(JobRecord job) override;
  absl::Status Update(const JobRecord& job, bool sync) override;
  absl::StatusOr<JobRecord> Get(uint64_t id) override;
  absl::StatusOr<std::vector<JobRecord>> List(int limit) override;
  absl::Status Delete(const std::vector<uint64_t>& ids) override;

 private:
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<uint64_t, JobRecord> jobs_;
  uint64_t last_id_ = 0;
};

class FakeDeviceStore : public DeviceStore {
 public:
  absl::Status Put(const DeviceRecord& device) override;
  absl::Status Delete(const std::string& uuid) override;
  absl::StatusOr<std::vector<DeviceRecord>> List() override;

 private:
  std::mutex mutex_;
  std::map<std::string, DeviceRecord> devices_;  // Guarded by mutex_.
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAKE_STORES_H_
