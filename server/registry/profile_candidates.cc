#include "server/registry/profile_candidates.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "model/kernel/kernel_validation.h"

namespace wavetune {

bool TakeCandidate(const KernelSpec& spec, const CandidateRecord& record,
                   ProfileCandidates& candidates) {
  const std::vector<std::string> names = spec.SpecialisationNames();
  const auto name =
      std::find(names.begin(), names.end(), record.specialisation);
  if (name == names.end()) return false;
  std::vector<Candidate>& own =
      candidates[static_cast<size_t>(name - names.begin())];
  const auto known =
      std::find_if(own.begin(), own.end(), [&](const Candidate& candidate) {
        return candidate.configuration == record.candidate.configuration;
      });
  if (known == own.end()) {
    own.push_back(record.candidate);
  } else {
    *known = record.candidate;
  }
  return true;
}

std::vector<std::vector<Configuration>> MissingConfigurations(
    const KernelSpec& spec, const ProfileCandidates& candidates) {
  const std::vector<Configuration> space = EnumerateConfigurations(spec);
  std::vector<std::vector<Configuration>> missing(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::set<Configuration> known;
    for (const Candidate& candidate : candidates[i]) {
      known.insert(candidate.configuration);
    }
    for (const Configuration& configuration : space) {
      if (!known.contains(configuration)) missing[i].push_back(configuration);
    }
  }
  return missing;
}

int64_t CountUsable(const ProfileCandidates& candidates) {
  int64_t usable = 0;
  for (const std::vector<Candidate>& own : candidates) {
    usable += std::count_if(own.begin(), own.end(),
                            [](const Candidate& c) { return !c.excluded(); });
  }
  return usable;
}

absl::Status CheckAnyUsable(const KernelSpec& spec,
                            const std::string& device_uuid,
                            const ProfileCandidates& candidates) {
  if (CountUsable(candidates) > 0) return absl::OkStatus();
  size_t known = 0;
  const Candidate* first = nullptr;
  for (const std::vector<Candidate>& own : candidates) {
    known += own.size();
    if (first == nullptr && !own.empty()) first = &own.front();
  }
  if (first == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing is stored of kernel ", spec.name, " on device ",
                     device_uuid, ": reprofile it without refit-only first"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "all ", known, " candidates of kernel ", spec.name,
      " are excluded; the first: ",
      FormatConfiguration(spec, first->configuration), ": ",
      first->excluded_reason, ". Correct the kernel, then reprofile"));
}

}  // namespace wavetune
