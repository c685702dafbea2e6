#include "server/store/rocksdb_job_store.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/store/rocksdb_keys.h"
#include "server/store/stored_records.h"

namespace wavetune {
namespace {

// The newest jobs: what a start reads back and a list may ask for.
constexpr uint64_t kJobsKept = 10000;

constexpr absl::string_view kLastJobIdName = "last_job_id";

}  // namespace

absl::StatusOr<std::unique_ptr<RocksDbJobStore>> RocksDbJobStore::Create(
    RocksDbDatabase* database) {
  std::unique_ptr<RocksDbJobStore> store(new RocksDbJobStore(database));
  ASSIGN_OR_RETURN(store->last_id_, database->GetNumber(kLastJobIdName));
  return store;
}

RocksDbJobStore::RocksDbJobStore(RocksDbDatabase* database)
    : database_(database) {}

absl::Status RocksDbJobStore::Write(const JobRecord& job, StoreBatch& batch,
                                    bool sync) {
  batch.Put(Family::kJobs, BigEndian(job.id), EncodeStoredJob(job));
  return database_->Write(batch, sync, absl::StrCat("store job ", job.id));
}

absl::StatusOr<JobRecord> RocksDbJobStore::Create(JobRecord job) {
  std::lock_guard lock(create_mutex_);
  job.id = last_id_ + 1;
  StoreBatch batch;
  database_->PutNumber(kLastJobIdName, job.id, batch);
  if (job.id > kJobsKept) {
    batch.Delete(Family::kJobs, BigEndian(job.id - kJobsKept));
  }
  RETURN_IF_ERROR(Write(job, batch, /*sync=*/true));
  last_id_ = job.id;
  return job;
}

absl::Status RocksDbJobStore::Update(const JobRecord& job, bool sync) {
  if (job.id == 0 || job.id > last_id_) {
    return absl::NotFoundError(absl::StrCat("no job has id ", job.id));
  }
  StoreBatch batch;
  return Write(job, batch, sync);
}

absl::StatusOr<JobRecord> RocksDbJobStore::Get(uint64_t id) {
  const std::string key = BigEndian(id);
  const absl::StatusOr<std::optional<std::string>> bytes =
      database_->Get(Family::kJobs, key);
  absl::Status damage = bytes.status();
  if (bytes.ok()) {
    if (!bytes->has_value()) {
      return absl::NotFoundError(absl::StrCat("no job has id ", id));
    }
    absl::StatusOr<JobRecord> job = DecodeStoredJob(**bytes);
    if (job.ok() && job->id == id) return job;
    damage = job.ok() ? absl::DataLossError("the entry belongs to another id")
                      : job.status();
  } else if (!absl::IsDataLoss(damage)) {
    return damage;
  }
  database_->ReportCorrupt(Family::kJobs, key, damage);
  return absl::Status(
      damage.code(),
      absl::StrCat("job ", id, " cannot be read: ", damage.message()));
}

absl::Status RocksDbJobStore::Delete(const std::vector<uint64_t>& ids) {
  if (ids.empty()) return absl::OkStatus();
  StoreBatch batch;
  for (const uint64_t id : ids) batch.Delete(Family::kJobs, BigEndian(id));
  return database_->Write(batch, /*sync=*/true, "forget old jobs");
}

absl::StatusOr<std::vector<JobRecord>> RocksDbJobStore::List(int limit) {
  uint64_t id = last_id_;
  // By id and not by iterator: past a damaged block the older jobs are still
  // found.
  std::vector<JobRecord> jobs;
  const uint64_t oldest = id > kJobsKept ? id - kJobsKept : 0;
  for (; id > oldest && static_cast<int>(jobs.size()) < limit; --id) {
    absl::StatusOr<JobRecord> job = Get(id);
    if (job.ok()) {
      jobs.push_back(*std::move(job));
    } else if (absl::IsInternal(job.status())) {
      return job.status();
    }
  }
  return jobs;
}

}  // namespace wavetune
