#include "server/store/rocksdb_sample_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/store/rocksdb_keys.h"

namespace wavetune {
namespace {

// A batch of entries of one generation, with sequence numbers and sizes.
class EntryBatch {
 public:
  EntryBatch(const ProfileKey& key, uint64_t generation,
             GenerationRecord record)
      : candidate_prefix_(
            EntryPrefix(key, generation, SampleEntry::kCandidate)),
        sample_prefix_(EntryPrefix(key, generation, SampleEntry::kSample)),
        generation_key_(GenerationKey(key, generation)),
        record_(record) {}

  void Add(const SampleRecord& sample) {
    Put(sample_prefix_, EncodeStoredSample(sample));
    ++record_.samples;
  }
  void Add(const CandidateRecord& candidate) {
    Put(candidate_prefix_, EncodeStoredCandidate(candidate));
  }

  // Adds the generation's new record; the batch is complete.
  StoreBatch& Finish() {
    batch_.Put(Family::kSamples, generation_key_,
               EncodeStoredGeneration(record_));
    return batch_;
  }
  const GenerationRecord& record() const { return record_; }

 private:
  void Put(const std::string& prefix, const std::string& value) {
    const std::string key =
        absl::StrCat(prefix, BigEndian(record_.next_sequence++));
    batch_.Put(Family::kSamples, key, value);
    record_.size_bytes += static_cast<int64_t>(key.size() + value.size());
  }

  const std::string candidate_prefix_;
  const std::string sample_prefix_;
  const std::string generation_key_;
  GenerationRecord record_;
  StoreBatch batch_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RocksDbSampleStore>> RocksDbSampleStore::Create(
    RocksDbDatabase* database, int64_t limit_bytes) {
  std::unique_ptr<RocksDbSampleStore> store(
      new RocksDbSampleStore(database, limit_bytes));
  RETURN_IF_ERROR(store->LoadStats());
  return store;
}

RocksDbSampleStore::RocksDbSampleStore(RocksDbDatabase* database,
                                       int64_t limit_bytes)
    : database_(database) {
  stats_.limit_bytes = limit_bytes;
}

absl::Status RocksDbSampleStore::LoadStats() {
  std::vector<std::string> keys;
  RETURN_IF_ERROR(
      database_->Scan(Family::kSamples, kGenerationsPrefix,
                      [&](absl::string_view key, absl::string_view) {
                        keys.emplace_back(key);
                        return true;
                      }));
  for (const std::string& key : keys) {
    ASSIGN_OR_RETURN(const GenerationRecord record, ReadGeneration(key));
    stats_.samples += record.samples;
    stats_.size_bytes += record.size_bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<GenerationRecord> RocksDbSampleStore::ReadGeneration(
    const std::string& generation_key) {
  const absl::StatusOr<std::optional<std::string>> bytes =
      database_->Get(Family::kSamples, generation_key);
  absl::Status damage = bytes.status();
  if (bytes.ok()) {
    if (!bytes->has_value()) return GenerationRecord{};
    absl::StatusOr<GenerationRecord> record = DecodeStoredGeneration(**bytes);
    // Its numbers decide where entries go: guessing at a newer format could
    // overwrite them.
    if (record.ok() || absl::IsFailedPrecondition(record.status())) {
      return record;
    }
    damage = record.status();
  }
  if (!absl::IsDataLoss(damage)) return damage;
  database_->ReportCorrupt(Family::kSamples, generation_key, damage);
  return Recount(generation_key);
}

absl::StatusOr<GenerationRecord> RocksDbSampleStore::Recount(
    const std::string& generation_key) {
  GenerationRecord record;
  RETURN_IF_ERROR(database_->Scan(
      Family::kSamples, EntryPrefixOfGenerationKey(generation_key),
      [&](absl::string_view key, absl::string_view value) {
        if (EntryKind(key) == SampleEntry::kSample) ++record.samples;
        record.size_bytes += static_cast<int64_t>(key.size() + value.size());
        record.next_sequence =
            std::max(record.next_sequence, TrailingNumber(key).value_or(0) + 1);
        return true;
      }));
  return record;
}

absl::Status RocksDbSampleStore::CheckLimit(int64_t added_bytes) const {
  if (stats_.limit_bytes <= 0 ||
      stats_.size_bytes + added_bytes <= stats_.limit_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "the store ", database_->path(), " holds ", stats_.size_bytes,
      " bytes of samples and may hold ", stats_.limit_bytes,
      ": restart the daemon with a higher --sample-limit-mib"));
}

absl::Status RocksDbSampleStore::Append(
    const ProfileKey& key, uint64_t generation,
    absl::Span<const SampleRecord> samples,
    absl::Span<const CandidateRecord> candidates) {
  if (samples.empty() && candidates.empty()) return absl::OkStatus();
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const GenerationRecord before,
                   ReadGeneration(GenerationKey(key, generation)));
  EntryBatch batch(key, generation, before);
  for (const CandidateRecord& candidate : candidates) batch.Add(candidate);
  for (const SampleRecord& sample : samples) batch.Add(sample);
  const int64_t added_bytes = batch.record().size_bytes - before.size_bytes;
  RETURN_IF_ERROR(CheckLimit(added_bytes));
  RETURN_IF_ERROR(
      database_->Write(batch.Finish(), /*sync=*/true, "store samples"));
  std::lock_guard stats_lock(stats_mutex_);
  stats_.samples += static_cast<int64_t>(samples.size());
  stats_.size_bytes += added_bytes;
  return absl::OkStatus();
}

absl::Status RocksDbSampleStore::ScanEntries(
    const std::string& prefix, uint64_t from, uint64_t end,
    const RocksDbDatabase::Visit& visit) {
  uint64_t next = from;  // Everything before it was seen or given up.
  const auto resume = [&](absl::string_view last_key,
                          int attempt) -> std::optional<std::string> {
    if (last_key.size() > prefix.size()) {
      next = std::max(next, TrailingNumber(last_key).value_or(0) + 1);
    }
    // Growing steps leave a damaged block after few reads; at most as many
    // entries are lost behind it as were in it.
    next += uint64_t{1} << std::min(attempt, 30);
    if (next >= end) return std::nullopt;
    return absl::StrCat(prefix, BigEndian(next));
  };
  return database_->Scan(Family::kSamples, prefix, visit, resume,
                         absl::StrCat(prefix, BigEndian(from)));
}

absl::StatusOr<SamplePage> RocksDbSampleStore::LoadPage(const ProfileKey& key,
                                                        uint64_t generation,
                                                        uint64_t from,
                                                        size_t most) {
  ASSIGN_OR_RETURN(const GenerationRecord record,
                   ReadGeneration(GenerationKey(key, generation)));
  SamplePage page;
  const auto add = [&](absl::string_view k, absl::string_view value) {
    if (page.samples.size() == most) {
      // Not 0: there is a sample before it.
      page.next = TrailingNumber(k).value_or(0);
      return false;
    }
    absl::StatusOr<SampleRecord> sample = DecodeStoredSample(value);
    if (sample.ok()) {
      page.samples.push_back(*std::move(sample));
    } else {
      database_->ReportCorrupt(Family::kSamples, k, sample.status());
    }
    return true;
  };
  RETURN_IF_ERROR(
      ScanEntries(EntryPrefix(key, generation, SampleEntry::kSample), from,
                  record.next_sequence, add));
  return page;
}

absl::StatusOr<std::vector<CandidateRecord>> RocksDbSampleStore::LoadCandidates(
    const ProfileKey& key, uint64_t generation) {
  ASSIGN_OR_RETURN(const GenerationRecord record,
                   ReadGeneration(GenerationKey(key, generation)));
  std::map<std::pair<std::string, Configuration>, CandidateRecord> latest;
  const auto add = [&](absl::string_view k, absl::string_view value) {
    absl::StatusOr<CandidateRecord> candidate = DecodeStoredCandidate(value);
    if (candidate.ok()) {
      latest.insert_or_assign(
          {candidate->specialisation, candidate->candidate.configuration},
          *candidate);
    } else {
      database_->ReportCorrupt(Family::kSamples, k, candidate.status());
    }
    return true;
  };
  RETURN_IF_ERROR(
      ScanEntries(EntryPrefix(key, generation, SampleEntry::kCandidate),
                  /*from=*/0, record.next_sequence, add));
  std::vector<CandidateRecord> candidates;
  for (auto& [unused, candidate] : latest) {
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

absl::StatusOr<std::vector<uint64_t>> RocksDbSampleStore::Generations(
    const ProfileKey& key) {
  std::vector<uint64_t> generations;
  RETURN_IF_ERROR(database_->Scan(Family::kSamples, GenerationPrefix(key),
                                  [&](absl::string_view k, absl::string_view) {
                                    generations.push_back(
                                        TrailingNumber(k).value_or(0));
                                    return true;
                                  }));
  return generations;
}

absl::Status RocksDbSampleStore::Prune(const ProfileKey& key, int keep) {
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(std::vector<uint64_t> generations, Generations(key));
  std::erase(generations, kMeasuredGeneration);
  const size_t kept = static_cast<size_t>(std::max(keep, 0));
  if (generations.size() <= kept) return absl::OkStatus();
  generations.resize(generations.size() - kept);
  return Delete(key, generations);
}

absl::Status RocksDbSampleStore::Forget(const ProfileKey& key) {
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations, Generations(key));
  return Delete(key, generations);
}

absl::StatusOr<std::vector<StoredKey>> RocksDbSampleStore::Keys() {
  std::vector<std::string> generation_keys;
  RETURN_IF_ERROR(database_->Scan(Family::kSamples, kGenerationsPrefix,
                                  [&](absl::string_view k, absl::string_view) {
                                    generation_keys.emplace_back(k);
                                    return true;
                                  }));
  std::map<ProfileKey, StoredKey> keys;
  for (const std::string& generation_key : generation_keys) {
    const std::optional<ProfileKey> key = KeyOfGeneration(generation_key);
    if (!key) continue;  // Of nothing that this daemon knows.
    ASSIGN_OR_RETURN(const GenerationRecord record,
                     ReadGeneration(generation_key));
    ASSIGN_OR_RETURN(
        const int64_t newest_us,
        NewestOf(*key, TrailingNumber(generation_key).value_or(0), record));
    StoredKey& stored = keys[*key];
    stored.key = *key;
    stored.samples += record.samples;
    stored.newest_us = std::max(stored.newest_us, newest_us);
  }
  std::vector<StoredKey> sorted;
  for (auto& [unused, stored] : keys) sorted.push_back(std::move(stored));
  return sorted;
}

absl::StatusOr<int64_t> RocksDbSampleStore::NewestOf(
    const ProfileKey& key, uint64_t generation,
    const GenerationRecord& record) {
  // Candidates share the sequence, so that the last entries may be theirs.
  for (uint64_t last = 1; record.samples > 0; last *= 2) {
    const uint64_t from =
        record.next_sequence - std::min(last, record.next_sequence);
    ASSIGN_OR_RETURN(const SamplePage page,
                     LoadPage(key, generation, from, last));
    if (!page.samples.empty()) return page.samples.back().measured_at_us;
    if (from == 0) break;
  }
  return 0;
}

absl::Status RocksDbSampleStore::Delete(
    const ProfileKey& key, const std::vector<uint64_t>& generations) {
  if (generations.empty()) return absl::OkStatus();
  StoreBatch batch;
  Stats pruned;
  for (uint64_t generation : generations) {
    const std::string generation_key = GenerationKey(key, generation);
    ASSIGN_OR_RETURN(const GenerationRecord record,
                     ReadGeneration(generation_key));
    pruned.samples += record.samples;
    pruned.size_bytes += record.size_bytes;
    const std::string begin = EntryPrefix(key, generation);
    const std::string end = absl::StrCat(begin, "\xff");
    batch.DeleteRange(Family::kSamples, begin, end);
    batch.Delete(Family::kSamples, generation_key);
  }
  RETURN_IF_ERROR(database_->Write(batch, /*sync=*/true, "delete samples"));
  std::lock_guard stats_lock(stats_mutex_);
  stats_.samples -= pruned.samples;
  stats_.size_bytes -= pruned.size_bytes;
  return absl::OkStatus();
}

absl::StatusOr<SampleStore::Stats> RocksDbSampleStore::GetStats() {
  std::lock_guard lock(stats_mutex_);
  return stats_;
}

}  // namespace wavetune
