#include "server/catalog/default_faults.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace wavetune {

DefaultFaults::Known& DefaultFaults::Entry(const Asked& asked) {
  if (known_.size() >= kMostKept && known_.count(asked) == 0) {
    known_.erase(std::min_element(
        known_.begin(), known_.end(), [](const auto& a, const auto& b) {
          return a.second.last_used < b.second.last_used;
        }));
  }
  Known& entry = known_[asked];
  entry.last_used = ++counter_;
  return entry;
}

DefaultFaults::Reasons DefaultFaults::Of(
    const ProfileKey& key, const Configuration& default_configuration) {
  const Asked asked(key, default_configuration);
  {
    std::lock_guard lock(mutex_);
    const bool first = known_.count(asked) == 0;
    const Known& entry = Entry(asked);
    if (!first) return entry.reasons;
  }
  LoadLater(asked);
  std::lock_guard lock(mutex_);
  return Entry(asked).reasons;
}

void DefaultFaults::LoadLater(const Asked& asked) {
  if (later_ == nullptr) {
    Load(asked.first, asked.second);
  } else {
    later_([this, asked] { Load(asked.first, asked.second); });
  }
}

absl::StatusOr<DefaultFaults::Reasons> DefaultFaults::Read(
    const Asked& asked) const {
  const auto& [key, default_configuration] = asked;
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   samples_->Generations(key));
  Reasons reasons;
  std::set<std::string> judged;  // By the newest profile that came so far.
  for (auto it = generations.rbegin(); it != generations.rend(); ++it) {
    if (*it == kMeasuredGeneration) continue;
    ASSIGN_OR_RETURN(const std::vector<CandidateRecord> candidates,
                     samples_->LoadCandidates(key, *it));
    for (const CandidateRecord& record : candidates) {
      if (record.candidate.configuration == default_configuration &&
          judged.insert(record.specialisation).second &&
          record.candidate.excluded()) {
        reasons[record.specialisation] = record.candidate.excluded_reason;
      }
    }
  }
  return reasons;
}

void DefaultFaults::Load(const ProfileKey& key,
                         const Configuration& default_configuration) {
  const Asked asked(key, default_configuration);
  uint64_t reading = 0;
  {
    std::lock_guard lock(mutex_);
    reading = ++counter_;
  }
  absl::StatusOr<Reasons> reasons = Read(asked);
  std::lock_guard lock(mutex_);
  Known& entry = Entry(asked);
  // What was begun later has seen more.
  if (entry.reading > reading) return;
  entry.reading = reading;
  entry.failed = !reasons.ok();
  if (!reasons.ok() || *reasons == entry.reasons) return;
  entry.reasons = *std::move(reasons);
  ++revision_;
}

void DefaultFaults::Expect(const ProfileKey& key,
                           const Configuration& default_configuration) {
  std::lock_guard lock(mutex_);
  Entry({key, default_configuration});
}

void DefaultFaults::Reload(const ProfileKey& key) {
  std::vector<Configuration> standards;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [asked, entry] : known_) {
      if (asked.first == key) standards.push_back(asked.second);
    }
  }
  for (const Configuration& default_configuration : standards)
    Load(key, default_configuration);
}

void DefaultFaults::RetryFailed() {
  std::vector<Asked> failed;
  {
    std::lock_guard lock(mutex_);
    for (auto& [asked, entry] : known_) {
      if (std::exchange(entry.failed, false)) failed.push_back(asked);
    }
  }
  for (const Asked& asked : failed) LoadLater(asked);
}

}  // namespace wavetune
