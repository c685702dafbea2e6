// Faulty stores: forward to another store, failing when told to.
//
//   FakeSampleStore fake;
//   FaultySampleStore samples(&fake);
//   samples.writes().Fail(absl::ResourceExhaustedError("disk full"));
//   ...                       // every Append and Prune fails, loads work
//   samples.writes().Heal();
//
// A failing call does not reach the store behind. Thread safety: thread-safe.
#ifndef WAVETUNE_SERVER_STORE_FAULTY_STORES_H_
#define WAVETUNE_SERVER_STORE_FAULTY_STORES_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
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

// When calls fail, and how.
class FaultPlan {
 public:
  static constexpr int kForever = std::numeric_limits<int>::max();

  // After `skip` more calls the next `times` ones fail with `status`.
  void Fail(const absl::Status& status, int skip = 0, int times = kForever) {
    std::lock_guard lock(mutex_);
    code_ = status.code();
    message_ = std::string(status.message());
    skip_ = skip;
    times_ = times;
  }

  // No call fails from now on.
  void Heal() { Fail(absl::OkStatus(), 0, 0); }

  // Calls wait from now on, as on a slow disk, until Release.
  void Hold() {
    std::lock_guard lock(mutex_);
    held_ = true;
  }
  void Release() {
    std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  // Returns once a call waits.
  void WaitForHeld() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

  // Returns what the call that asks should end with.
  absl::Status Next() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    --waiting_;
    if (times_ <= 0) return absl::OkStatus();
    if (skip_ > 0) {
      --skip_;
      return absl::OkStatus();
    }
    if (times_ != kForever) --times_;
    return {code_, message_};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_. No status is shared between threads: the counter of
  // a packaged Abseil's statuses is out of ThreadSanitizer's sight.
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::string message_;
  int skip_ = 0;
  int times_ = 0;
  bool held_ = false;
  int waiting_ = 0;
};

class FaultySampleStore : public SampleStore {
 public:
  explicit FaultySampleStore(SampleStore* base) : base_(base) {}
  FaultPlan& reads() { return reads_; }
  FaultPlan& writes() { return writes_; }

  absl::Status Append(const ProfileKey& key, uint64_t generation,
                      absl::Span<const SampleRecord> samples,
                      absl::Span<const CandidateRecord> candidates) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Append(key, generation, samples, candidates);
  }
  absl::StatusOr<SamplePage> LoadPage(const ProfileKey& key,
                                      uint64_t generation, uint64_t from,
                                      size_t most) override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->LoadPage(key, generation, from, most);
  }
  absl::StatusOr<std::vector<CandidateRecord>> LoadCandidates(
      const ProfileKey& key, uint64_t generation) override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->LoadCandidates(key, generation);
  }
  absl::StatusOr<std::vector<uint64_t>> Generations(
      const ProfileKey& key) override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->Generations(key);
  }
  absl::Status Prune(const ProfileKey& key, int keep) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Prune(key, keep);
  }
  absl::StatusOr<std::vector<StoredKey>> Keys() override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->Keys();
  }
  absl::Status Forget(const ProfileKey& key) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Forget(key);
  }
  absl::StatusOr<Stats> GetStats() override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->GetStats();
  }

 private:
  SampleStore* const base_;
  FaultPlan reads_;
  FaultPlan writes_;
};

class FaultyTableStore : public TableStore {
 public:
  explicit FaultyTableStore(TableStore* base) : base_(base) {}
  FaultPlan& reads() { return reads_; }
  FaultPlan& writes() { return writes_; }

  absl::StatusOr<TableRecord> Promote(TableRecord record,
                                      absl::string_view payload) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Promote(std::move(record), payload);
  }
  absl::StatusOr<TableRecord> RollBack(
      TableRecord record, absl::string_view payload,
      const std::vector<ProfileKey>& ended) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->RollBack(std::move(record), payload, ended);
  }
  absl::StatusOr<std::vector<TableRecord>> History(
      absl::string_view kernel, absl::string_view silicon_key) override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->History(kernel, silicon_key);
  }
  absl::Status Reject(RejectedTable table, absl::string_view payload) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Reject(std::move(table), payload);
  }
  absl::StatusOr<std::vector<RejectedTable>> ListRejected(
      absl::string_view kernel, absl::string_view silicon_key) override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->ListRejected(kernel, silicon_key);
  }
  absl::Status Pin(const PinRecord& pin) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Pin(pin);
  }
  absl::Status Unpin(absl::string_view kernel,
                     absl::string_view silicon_key) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Unpin(kernel, silicon_key);
  }
  absl::StatusOr<std::vector<PinRecord>> ListPins() override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->ListPins();
  }
  absl::StatusOr<uint64_t> Retire(const ProfileKey& key) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Retire(key);
  }
  absl::StatusOr<TableRecord> Withdraw(TableRecord record) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Withdraw(std::move(record));
  }
  absl::StatusOr<std::vector<TableRecord>> ListWithdrawn() override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->ListWithdrawn();
  }
  absl::StatusOr<StoredPayload> Get(absl::string_view digest) override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->Get(digest);
  }
  absl::StatusOr<std::vector<TableRecord>> ListServing() override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->ListServing();
  }
  absl::StatusOr<Inventory> TakeInventory() override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->TakeInventory();
  }
  absl::StatusOr<int> Forget(const std::vector<std::string>& digests) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Forget(digests);
  }
  uint64_t Revision() override { return base_->Revision(); }

 private:
  TableStore* const base_;
  FaultPlan reads_;
  FaultPlan writes_;
};

class FaultyJobStore : public JobStore {
 public:
  explicit FaultyJobStore(JobStore* base) : base_(base) {}
  FaultPlan& reads() { return reads_; }
  FaultPlan& writes() { return writes_; }

  absl::StatusOr<JobRecord> Create(JobRecord job) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Create(std::move(job));
  }
  absl::Status Update(const JobRecord& job, bool sync) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Update(job, sync);
  }
  absl::StatusOr<JobRecord> Get(uint64_t id) override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->Get(id);
  }
  absl::StatusOr<std::vector<JobRecord>> List(int limit) override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->List(limit);
  }
  absl::Status Delete(const std::vector<uint64_t>& ids) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Delete(ids);
  }

 private:
  JobStore* const base_;
  FaultPlan reads_;
  FaultPlan writes_;
};

class FaultyDeviceStore : public DeviceStore {
 public:
  explicit FaultyDeviceStore(DeviceStore* base) : base_(base) {}
  FaultPlan& reads() { return reads_; }
  FaultPlan& writes() { return writes_; }

  absl::Status Put(const DeviceRecord& device) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Put(device);
  }
  absl::Status Delete(const std::string& uuid) override {
    if (absl::Status s = writes_.Next(); !s.ok()) return s;
    return base_->Delete(uuid);
  }
  absl::StatusOr<std::vector<DeviceRecord>> List() override {
    if (absl::Status s = reads_.Next(); !s.ok()) return s;
    return base_->List();
  }

 private:
  DeviceStore* const base_;
  FaultPlan reads_;
  FaultPlan writes_;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_FAULTY_STORES_H_
