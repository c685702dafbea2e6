#include "server/registry/default_faults.h"

#include <set>
#include <utility>
#include <vector>

namespace wavetune {

DefaultFaults::Reasons DefaultFaults::Of(const ProfileKey& key,
                                         const Configuration& standard) {
  uint64_t changes = 0;
  {
    std::lock_guard lock(mutex_);
    const auto known = known_.find({key, standard});
    if (known != known_.end()) return known->second;
    changes = changes_;
  }
  const auto generations = samples_->Generations(key);
  if (!generations.ok()) return {};
  Reasons reasons;
  std::set<std::string> judged;  // By the newest profile that came so far.
  for (auto it = generations->rbegin(); it != generations->rend(); ++it) {
    if (*it == kMeasuredGeneration) continue;
    const auto candidates = samples_->LoadCandidates(key, *it);
    if (!candidates.ok()) return {};
    for (const CandidateRecord& record : *candidates) {
      if (record.candidate.configuration == standard &&
          judged.insert(record.specialisation).second &&
          record.candidate.excluded()) {
        reasons[record.specialisation] = record.candidate.excluded_reason;
      }
    }
  }
  std::lock_guard lock(mutex_);
  if (changes_ != changes) return reasons;
  if (known_.size() >= kMostKept) known_.clear();
  known_[{key, standard}] = reasons;
  return reasons;
}

void DefaultFaults::Forget(const ProfileKey& key) {
  std::lock_guard lock(mutex_);
  ++changes_;
  std::erase_if(known_,
                [&](const auto& entry) { return entry.first.first == key; });
}

}  // namespace wavetune
