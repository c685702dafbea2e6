#include "server/usage/usage_ledger.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace wavetune {

UsageLedger::UsageLedger(UsageStore* store, Clock* clock, Options options,
                         Warn warn)
    : store_(store),
      clock_(clock),
      options_(options),
      warn_(std::move(warn)),
      flushed_at_us_(clock->NowUs()) {}

absl::Status UsageLedger::Load() {
  if (store_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<UsageRecord> records, store_->List());
  std::lock_guard lock(mutex_);
  for (UsageRecord& record : records) {
    Used& used = Get({record.kernel, record.silicon_key});
    for (const HeavyHitters::Entry& entry : record.problems) {
      used.problems.Add(entry.problem, entry.weight, entry.error);
    }
    record.problems.clear();
    used.record = std::move(record);
  }
  return absl::OkStatus();
}

void UsageLedger::Add(const UsageReport& report) {
  if (options_.on_report) options_.on_report(report);
  bool flush = false;
  {
    std::lock_guard lock(mutex_);
    ++reports_;
    const int64_t now_us = clock_->NowUs();
    Used& used = Get({report.kernel, report.silicon_key});
    Decay(used, now_us);
    UsageRecord& record = used.record;
    if (record.specialisations.contains(report.specialisation) ||
        record.specialisations.size() < kMostSpecialisations) {
      record.specialisations[report.specialisation] += report.counts;
    }
    for (const HeavyHitters::Entry& entry : report.problems) {
      used.problems.Add(entry.problem, entry.weight, entry.error);
    }
    if (report.serving && record.digest != report.digest) {
      record.digest = report.digest;
      record.with_table = {};
    }
    // Clients may hold on to an older table: no top-up helps those.
    if (!report.digest.empty() && record.digest == report.digest) {
      record.with_table += report.counts;
    }
    used.changed = true;
    record.reported_at_us = now_us;
    flush = static_cast<double>(now_us - flushed_at_us_) >=
            options_.flush_interval_s * 1e6;
    if (flush) flushed_at_us_ = now_us;  // By this thread alone.
  }
  if (flush) Flush();
}

std::optional<UsageRecord> UsageLedger::Find(const std::string& kernel,
                                             const std::string& silicon_key) {
  std::lock_guard lock(mutex_);
  const Used* const used = Find({kernel, silicon_key});
  if (used == nullptr) return std::nullopt;
  return Whole(*used);
}

std::optional<UsageRecord> UsageLedger::FindCounts(
    const std::string& kernel, const std::string& silicon_key) {
  std::lock_guard lock(mutex_);
  const Used* const used = Find({kernel, silicon_key});
  if (used == nullptr) return std::nullopt;
  return used->record;
}

std::vector<UsageRecord> UsageLedger::List() {
  std::lock_guard lock(mutex_);
  const int64_t now_us = clock_->NowUs();
  std::vector<UsageRecord> records;
  for (auto& [key, used] : used_) {
    Decay(used, now_us);
    records.push_back(Whole(used));
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const UsageRecord& a, const UsageRecord& b) {
                     return a.total().total() > b.total().total();
                   });
  return records;
}

std::vector<WeightedProblem> UsageLedger::Problems(
    const std::string& kernel, const std::string& silicon_key) {
  const std::optional<UsageRecord> record = Find(kernel, silicon_key);
  std::vector<WeightedProblem> problems;
  if (!record || record->total().total() < kFewestDecisions) return problems;
  for (const HeavyHitters::Entry& entry : record->problems) {
    // What passed through a full sketch may weigh what others weighed.
    const double least = entry.weight - entry.error;
    if (least > 0) problems.push_back({entry.problem, least});
  }
  return problems;
}

void UsageLedger::SetRefined(const std::string& kernel,
                             const std::string& silicon_key,
                             const TopUp& refined) {
  {
    std::lock_guard lock(mutex_);
    Used& used = Get({kernel, silicon_key});
    used.record.refined = refined;
    used.changed = true;
  }
  Flush();
}

void UsageLedger::Flush() {
  std::lock_guard write_lock(write_mutex_);
  Changes changes;
  {
    std::lock_guard lock(mutex_);
    flushed_at_us_ = clock_->NowUs();
    changes = TakeChanges();
  }
  Write(changes);
}

int64_t UsageLedger::reports() const {
  std::lock_guard lock(mutex_);
  return reports_;
}

UsageLedger::Used& UsageLedger::Get(const Key& key) {
  const auto found = used_.find(key);
  if (found != used_.end()) return found->second;
  if (used_.size() >= kMostRecords) EvictLightest();
  evicted_.erase(key);
  Used& used = used_[key];
  used.record.kernel = key.first;
  used.record.silicon_key = key.second;
  used.record.updated_at_us = clock_->NowUs();
  return used;
}

const UsageLedger::Used* UsageLedger::Find(const Key& key) {
  const auto found = used_.find(key);
  if (found == used_.end()) return nullptr;
  Decay(found->second, clock_->NowUs());
  return &found->second;
}

void UsageLedger::EvictLightest() {
  const auto lightest = std::min_element(
      used_.begin(), used_.end(), [](const auto& a, const auto& b) {
        return a.second.record.total().total() <
               b.second.record.total().total();
      });
  evicted_.insert(lightest->first);
  used_.erase(lightest);
}

void UsageLedger::Decay(Used& used, int64_t now_us) const {
  UsageRecord& record = used.record;
  const double elapsed_s =
      static_cast<double>(now_us - record.updated_at_us) * 1e-6;
  if (elapsed_s <= 0) return;  // The clock may have been set back.
  const double factor = std::exp2(-elapsed_s / options_.half_life_s);
  for (auto& [name, weights] : record.specialisations) weights *= factor;
  record.with_table *= factor;
  used.problems.Scale(factor);
  record.updated_at_us = now_us;
}

UsageLedger::Changes UsageLedger::TakeChanges() {
  Changes changes{.evicted = std::exchange(evicted_, {})};
  for (auto& [key, used] : used_) {
    if (!std::exchange(used.changed, false)) continue;
    changes.records.push_back(Whole(used));
  }
  return changes;
}

UsageRecord UsageLedger::Whole(const Used& used) {
  UsageRecord record = used.record;
  record.problems = used.problems.Top(kMostProblems);
  return record;
}

void UsageLedger::Delete(const std::set<Key>& evicted) {
  for (const Key& key : evicted) {
    const absl::Status deleted = store_->Delete(key.first, key.second);
    if (deleted.ok()) continue;
    {
      std::lock_guard lock(mutex_);
      if (!used_.contains(key)) evicted_.insert(key);
    }
    // The next flush tries again.
    warn_(absl::StrCat("usage of kernel ", key.first,
                       " stays in the store: ", deleted.message()));
  }
}

void UsageLedger::Write(const Changes& changes) {
  if (store_ == nullptr) return;
  Delete(changes.evicted);
  for (const UsageRecord& record : changes.records) {
    const absl::Status written = store_->Put(record);
    if (written.ok()) continue;
    {
      std::lock_guard lock(mutex_);
      const auto found = used_.find({record.kernel, record.silicon_key});
      if (found != used_.end()) found->second.changed = true;
    }
    // The next flush tries again.
    warn_(absl::StrCat("usage of kernel ", record.kernel,
                       " was not written: ", written.message()));
  }
}

}  // namespace wavetune
