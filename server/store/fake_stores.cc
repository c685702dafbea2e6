#include "server/store/fake_stores.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"

namespace wavetune {
namespace {

// What an entry would take on disk, roughly.
int64_t SizeOf(const SampleRecord& record) {
  const Sample& sample = record.sample;
  return static_cast<int64_t>(
      64 + record.device_uuid.size() + sample.problem.specialisation.size() +
      8 * (sample.problem.extents.size() + sample.problem.repeated.size()) +
      8 * static_cast<size_t>(sample.configuration.size()));
}

int64_t SizeOf(const CandidateRecord& record) {
  return static_cast<int64_t>(
      32 + record.specialisation.size() +
      record.candidate.excluded_reason.size() +
      8 * static_cast<size_t>(record.candidate.configuration.size()));
}

template <typename Records>
int64_t SizeOfAll(const Records& records) {
  int64_t size_bytes = 0;
  for (const auto& record : records) size_bytes += SizeOf(record);
  return size_bytes;
}

}  // namespace

absl::Status FakeSampleStore::Append(
    const ProfileKey& key, uint64_t generation,
    absl::Span<const SampleRecord> samples,
    absl::Span<const CandidateRecord> candidates) {
  if (samples.empty() && candidates.empty()) return absl::OkStatus();
  std::lock_guard lock(mutex_);
  const int64_t size_bytes = SizeOfAll(samples) + SizeOfAll(candidates);
  if (limit_bytes_ > 0 && stats_.size_bytes + size_bytes > limit_bytes_) {
    return absl::ResourceExhaustedError("samples would pass their size limit");
  }
  Generation& stored = generations_[{key, generation}];
  stored.samples.insert(stored.samples.end(), samples.begin(), samples.end());
  for (const CandidateRecord& record : candidates) {
    stored.candidates[{record.specialisation, record.candidate.configuration}] =
        record;
  }
  stats_.samples += static_cast<int64_t>(samples.size());
  stored.size_bytes += size_bytes;
  stats_.size_bytes += size_bytes;
  return absl::OkStatus();
}

absl::StatusOr<SamplePage> FakeSampleStore::LoadPage(const ProfileKey& key,
                                                     uint64_t generation,
                                                     uint64_t from,
                                                     size_t most) {
  std::lock_guard lock(mutex_);
  SamplePage page;
  const auto found = generations_.find({key, generation});
  if (found == generations_.end()) return page;
  const std::vector<SampleRecord>& all = found->second.samples;
  for (size_t i = from; i < all.size(); ++i) {
    if (page.samples.size() == most) {
      page.next = i;
      break;
    }
    page.samples.push_back(all[i]);
  }
  return page;
}

absl::StatusOr<std::vector<CandidateRecord>> FakeSampleStore::LoadCandidates(
    const ProfileKey& key, uint64_t generation) {
  std::lock_guard lock(mutex_);
  std::vector<CandidateRecord> candidates;
  const auto found = generations_.find({key, generation});
  if (found == generations_.end()) return candidates;
  for (const auto& [unused, record] : found->second.candidates) {
    candidates.push_back(record);
  }
  return candidates;
}

absl::StatusOr<std::vector<uint64_t>> FakeSampleStore::Generations(
    const ProfileKey& key) {
  std::lock_guard lock(mutex_);
  std::vector<uint64_t> result;
  for (auto it = generations_.lower_bound({key, 0});
       it != generations_.end() && it->first.first == key; ++it) {
    result.push_back(it->first.second);
  }
  return result;
}

absl::Status FakeSampleStore::Prune(const ProfileKey& key, int keep) {
  absl::StatusOr<std::vector<uint64_t>> generations = Generations(key);
  std::erase(*generations, kMeasuredGeneration);
  const size_t kept = static_cast<size_t>(std::max(keep, 0));
  if (generations->size() <= kept) return absl::OkStatus();
  generations->resize(generations->size() - kept);
  std::lock_guard lock(mutex_);
  for (uint64_t generation : *generations) {
    const auto found = generations_.find({key, generation});
    if (found == generations_.end()) continue;
    stats_.samples -= static_cast<int64_t>(found->second.samples.size());
    stats_.size_bytes -= found->second.size_bytes;
    generations_.erase(found);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StoredKey>> FakeSampleStore::Keys() {
  std::lock_guard lock(mutex_);
  std::vector<StoredKey> keys;
  for (const auto& [of, generation] : generations_) {
    if (keys.empty() || keys.back().key != of.first) {
      keys.push_back({.key = of.first});
    }
    keys.back().samples += static_cast<int64_t>(generation.samples.size());
    if (generation.samples.empty()) continue;
    keys.back().newest_us = std::max(keys.back().newest_us,
                                     generation.samples.back().measured_at_us);
  }
  return keys;
}

absl::Status FakeSampleStore::Forget(const ProfileKey& key) {
  std::lock_guard lock(mutex_);
  std::erase_if(generations_, [&](const auto& entry) {
    if (entry.first.first != key) return false;
    stats_.samples -= static_cast<int64_t>(entry.second.samples.size());
    stats_.size_bytes -= entry.second.size_bytes;
    return true;
  });
  return absl::OkStatus();
}

absl::StatusOr<SampleStore::Stats> FakeSampleStore::GetStats() {
  std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.limit_bytes = limit_bytes_;
  return stats;
}

absl::StatusOr<TableRecord> FakeTableStore::Promote(TableRecord record,
                                                    absl::string_view payload) {
  return RollBack(std::move(record), payload, /*ended=*/{});
}

absl::StatusOr<TableRecord> FakeTableStore::RollBack(
    TableRecord record, absl::string_view payload,
    const std::vector<ProfileKey>& ended) {
  std::lock_guard lock(mutex_);
  record.digest = Sha256Hex(payload);
  record.size_bytes = static_cast<int64_t>(payload.size());
  record.epoch = ++epoch_;
  record.revision = ++revision_;
  tables_[record.digest] = {record, std::string(payload)};
  serving_[record.key] = record;
  withdrawn_.erase(record.key);
  history_.push_back(record);
  for (const ProfileKey& key : ended) serving_.erase(key);
  revision_ += ended.size();
  return record;
}

absl::StatusOr<std::vector<TableRecord>> FakeTableStore::History(
    absl::string_view kernel, absl::string_view silicon_key) {
  std::lock_guard lock(mutex_);
  std::vector<TableRecord> records;
  for (auto it = history_.rbegin(); it != history_.rend(); ++it) {
    if (it->key.kernel == kernel && it->key.silicon_key == silicon_key)
      records.push_back(*it);
  }
  return records;
}

absl::Status FakeTableStore::Reject(RejectedTable table,
                                    absl::string_view payload) {
  std::lock_guard lock(mutex_);
  table.record.digest = Sha256Hex(payload);
  table.record.size_bytes = static_cast<int64_t>(payload.size());
  tables_.try_emplace(table.record.digest,
                      StoredPayload{table.record, std::string(payload)});
  auto& kept =
      rejected_[{table.record.key.kernel, table.record.key.silicon_key}];
  kept[table.record.job_id] = std::move(table);
  while (kept.size() > kRejectedKept) {
    const std::string digest = kept.begin()->second.record.digest;
    kept.erase(kept.begin());
    bool in_use = std::any_of(
        history_.begin(), history_.end(),
        [&](const TableRecord& record) { return record.digest == digest; });
    for (const auto& [key, others] : rejected_) {
      for (const auto& [job, other] : others) {
        in_use = in_use || other.record.digest == digest;
      }
    }
    if (!in_use) tables_.erase(digest);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RejectedTable>> FakeTableStore::ListRejected(
    absl::string_view kernel, absl::string_view silicon_key) {
  std::lock_guard lock(mutex_);
  std::vector<RejectedTable> tables;
  const auto found =
      rejected_.find({std::string(kernel), std::string(silicon_key)});
  if (found == rejected_.end()) return tables;
  for (auto it = found->second.rbegin(); it != found->second.rend(); ++it) {
    tables.push_back(it->second);
  }
  return tables;
}

absl::Status FakeTableStore::Pin(const PinRecord& pin) {
  std::lock_guard lock(mutex_);
  pins_[{pin.kernel, pin.silicon_key}] = pin;
  return absl::OkStatus();
}

absl::Status FakeTableStore::Unpin(absl::string_view kernel,
                                   absl::string_view silicon_key) {
  std::lock_guard lock(mutex_);
  if (pins_.erase({std::string(kernel), std::string(silicon_key)}) == 0) {
    return absl::NotFoundError(
        absl::StrCat("kernel '", kernel, "' is not pinned"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PinRecord>> FakeTableStore::ListPins() {
  std::lock_guard lock(mutex_);
  std::vector<PinRecord> pins;
  for (const auto& [unused, pin] : pins_) pins.push_back(pin);
  return pins;
}

absl::StatusOr<TableRecord> FakeTableStore::Withdraw(TableRecord record) {
  std::lock_guard lock(mutex_);
  record.epoch = ++epoch_;
  record.revision = ++revision_;
  serving_.erase(record.key);
  withdrawn_[record.key] = record;
  history_.push_back(record);
  return record;
}

absl::StatusOr<std::vector<TableRecord>> FakeTableStore::ListWithdrawn() {
  std::lock_guard lock(mutex_);
  std::vector<TableRecord> records;
  for (const auto& [unused, record] : withdrawn_) records.push_back(record);
  return records;
}

absl::StatusOr<uint64_t> FakeTableStore::Retire(const ProfileKey& key) {
  std::lock_guard lock(mutex_);
  if (serving_.erase(key) + withdrawn_.erase(key) == 0) {
    return absl::NotFoundError(
        absl::StrCat("no table serves for kernel '", key.kernel, "'"));
  }
  return ++revision_;
}

absl::StatusOr<TableStore::Inventory> FakeTableStore::TakeInventory() {
  std::lock_guard lock(mutex_);
  Inventory inventory{.history = history_};
  for (const auto& [digest, stored] : tables_)
    inventory.payloads.push_back(stored.record);
  for (const auto& [place, by_job] : rejected_) {
    for (const auto& [job, table] : by_job)
      inventory.rejected.insert(table.record.digest);
  }
  return inventory;
}

absl::StatusOr<int> FakeTableStore::Forget(
    const std::vector<std::string>& digests) {
  ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory());
  std::set<std::string> stay = inventory.rejected;
  std::lock_guard lock(mutex_);
  for (const auto& [key, record] : serving_) stay.insert(record.digest);
  for (const auto& [key, record] : withdrawn_) stay.insert(record.digest);
  for (const auto& [place, pin] : pins_) stay.insert(pin.digest);
  int forgotten = 0;
  for (const std::string& digest : digests) {
    if (stay.contains(digest) || tables_.erase(digest) == 0) continue;
    ++forgotten;
    std::erase_if(history_, [&](const TableRecord& record) {
      return record.digest == digest;
    });
  }
  return forgotten;
}

absl::StatusOr<StoredPayload> FakeTableStore::Get(absl::string_view digest) {
  std::lock_guard lock(mutex_);
  const auto found = tables_.find(std::string(digest));
  if (found == tables_.end()) {
    return absl::NotFoundError(absl::StrCat("no table has digest ", digest));
  }
  if (Sha256Hex(found->second.payload) != digest) {
    return absl::DataLossError(absl::StrCat(
        "the stored table ", digest, " is damaged: reprofile the kernel"));
  }
  return found->second;
}

absl::StatusOr<std::vector<TableRecord>> FakeTableStore::ListServing() {
  std::lock_guard lock(mutex_);
  std::vector<TableRecord> records;
  for (const auto& [unused, record] : serving_) records.push_back(record);
  return records;
}

uint64_t FakeTableStore::Revision() {
  std::lock_guard lock(mutex_);
  return revision_;
}

void FakeTableStore::Corrupt(absl::string_view digest) {
  std::lock_guard lock(mutex_);
  const auto found = tables_.find(std::string(digest));
  if (found != tables_.end()) found->second.payload += "garbage";
}

absl::StatusOr<JobRecord> FakeJobStore::Create(JobRecord job) {
  std::lock_guard lock(mutex_);
  job.id = ++last_id_;
  jobs_[job.id] = job;
  return job;
}

absl::Status FakeJobStore::Update(const JobRecord& job, bool /*sync*/) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(job.id);
  if (found == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("no job has id ", job.id));
  }
  found->second = job;
  return absl::OkStatus();
}

absl::StatusOr<JobRecord> FakeJobStore::Get(uint64_t id) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("no job has id ", id));
  }
  return found->second;
}

absl::Status FakeJobStore::Delete(const std::vector<uint64_t>& ids) {
  std::lock_guard lock(mutex_);
  for (const uint64_t id : ids) jobs_.erase(id);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<JobRecord>> FakeJobStore::List(int limit) {
  std::lock_guard lock(mutex_);
  std::vector<JobRecord> result;
  for (auto it = jobs_.rbegin();
       it != jobs_.rend() && static_cast<int>(result.size()) < limit; ++it) {
    result.push_back(it->second);
  }
  return result;
}

absl::Status FakeDeviceStore::Put(const DeviceRecord& device) {
  std::lock_guard lock(mutex_);
  devices_[device.facts.uuid] = device;
  return absl::OkStatus();
}

absl::Status FakeDeviceStore::Delete(const std::string& uuid) {
  std::lock_guard lock(mutex_);
  devices_.erase(uuid);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DeviceRecord>> FakeDeviceStore::List() {
  std::lock_guard lock(mutex_);
  std::vector<DeviceRecord> result;
  for (const auto& [unused, device] : devices_) result.push_back(device);
  return result;
}

}  // namespace wavetune
