#include "server/jobs/profile_candidates.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "model/kernel/exclusion.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/specialisation_spaces.h"

namespace wavetune {
namespace {

// The beginning of a reason's first line: a compiler's log has hundreds.
std::string BriefReason(const std::string& reason) {
  constexpr size_t kMostBytes = 200;
  return ShortenedText(reason.substr(0, reason.find('\n')), kMostBytes);
}

}  // namespace

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
  const std::vector<std::string> names = spec.SpecialisationNames();
  std::vector<std::vector<Configuration>> missing(candidates.size());
  const std::vector<SpecialisationSpace> spaces = EnumerateSpaces(spec);
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::set<Configuration> known;
    for (const Candidate& candidate : candidates[i]) {
      known.insert(candidate.configuration);
    }
    for (const Configuration& configuration :
         SpaceOf(spaces, names[i]).space.configurations) {
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

CheckedCandidates CountChecked(const KernelSpec& spec,
                               const ProfileCandidates& candidates) {
  CheckedCandidates counts;
  for (const std::vector<Candidate>& own : candidates) {
    for (const Candidate& candidate : own) {
      counts.right += !candidate.excluded();
      if (!IsWrong(candidate)) continue;
      if (counts.wrong++ > 0) continue;
      counts.first_wrong =
          absl::StrCat(FormatConfiguration(spec, candidate.configuration), ": ",
                       BriefReason(candidate.excluded_reason));
    }
  }
  return counts;
}

std::string DefaultText(const KernelSpec& spec,
                        const ProfileCandidates& candidates) {
  const std::vector<std::string> names = spec.SpecialisationNames();
  for (size_t i = 0; i < candidates.size(); ++i) {
    for (const Candidate& candidate : candidates[i]) {
      if (candidate.configuration != spec.default_configuration ||
          !candidate.excluded()) {
        continue;
      }
      return absl::StrCat(
          "; the default configuration ",
          FormatConfiguration(spec, candidate.configuration),
          names[i].empty() ? "" : absl::StrCat(" [", names[i], "]"),
          " cannot be used on this device, and decisions that answer it say "
          "so: ",
          BriefReason(candidate.excluded_reason),
          " (name another default_configuration in the manifest)");
    }
  }
  return "";
}

absl::Status CheckFewWrong(const KernelSpec& spec,
                           const ProfileCandidates& candidates) {
  const CheckedCandidates counts = CountChecked(spec, candidates);
  if (!counts.many_wrong()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      counts.wrong, " of ", counts.wrong + counts.right,
      " checked candidates of kernel ", spec.name,
      " compute wrong results; where more than a quarter do, the others may be "
      "right by luck, and nothing is promoted. The first: ",
      counts.first_wrong,
      ". Correct the kernel (or its reference), then reprofile; where those "
      "configurations are known to be wrong, keep them out of the space with a "
      "constraint, or promote the others with reprofile "
      "--promote-although-wrong"));
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
  const int64_t wrong = CountChecked(spec, candidates).wrong;
  return absl::FailedPreconditionError(absl::StrCat(
      "all ", known, " candidates of kernel ", spec.name, " are excluded",
      wrong > 0 ? absl::StrCat(", ", wrong, " of them with wrong results") : "",
      "; the first: ", FormatConfiguration(spec, first->configuration), ": ",
      first->excluded_reason, ". Correct the kernel, then reprofile"));
}

}  // namespace wavetune
