#include "server/jobs/candidate_pool.h"

#include <algorithm>

#include "base/status_macros.h"
#include "model/kernel/correctness_problems.h"
#include "model/kernel/kernel_space.h"

namespace wavetune {

absl::Status CandidatePool::Load(std::shared_ptr<const TunableKernel> kernel,
                                 const ProfileKey& key) {
  kernel_ = std::move(kernel);
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   services_.samples->Generations(key));
  std::vector<uint64_t> wanted = {kMeasuredGeneration};
  if (!generations.empty() && generations.back() != kMeasuredGeneration) {
    wanted.push_back(generations.back());
  }
  for (const uint64_t generation : wanted) {
    ASSIGN_OR_RETURN(const SampleSet stored,
                     services_.samples->Load(key, generation));
    for (const CandidateRecord& record : stored.candidates) Take(record);
  }
  return absl::OkStatus();
}

void CandidatePool::Take(const CandidateRecord& record) {
  known_[{record.specialisation, record.candidate.configuration}] =
      record.candidate;
}

absl::StatusOr<std::vector<Configuration>> CandidatePool::Usable(
    const std::string& specialisation) {
  if (prepared_.insert(specialisation).second) {
    std::vector<Configuration> missing;
    for (const Configuration& configuration :
         EnumerateConfigurations(kernel_->spec.Of(specialisation))) {
      if (!known_.contains({specialisation, configuration})) {
        missing.push_back(configuration);
      }
    }
    if (!missing.empty()) {
      control_->Update(
          [](JobRecord& job) { job.phase = JobPhase::kCompiling; });
      RETURN_IF_ERROR(device_->Prepare(
          specialisation, missing,
          DeclaredCorrectnessProblems(kernel_->spec, specialisation),
          [this](const CandidateRecord& record) { Take(record); }));
      control_->Update(
          [](JobRecord& job) { job.phase = JobPhase::kMeasuring; });
    }
  }
  std::vector<Configuration> usable;
  for (const auto& [key, candidate] : known_) {
    if (key.first == specialisation && !candidate.excluded()) {
      usable.push_back(key.second);
    }
  }
  return usable;
}

std::vector<Configuration> CandidatePool::Expected(
    const std::string& specialisation) const {
  std::vector<Configuration> expected =
      EnumerateConfigurations(kernel_->spec.Of(specialisation));
  std::erase_if(expected, [&](const Configuration& configuration) {
    const auto found = known_.find({specialisation, configuration});
    return found != known_.end() && found->second.excluded();
  });
  return expected;
}

bool CandidatePool::IsUsable(const std::string& specialisation,
                             const Configuration& configuration) const {
  const auto found = known_.find({specialisation, configuration});
  return found != known_.end() && !found->second.excluded();
}

void CandidatePool::Exclude(const std::string& specialisation,
                            const Configuration& configuration,
                            const std::string& reason) {
  Candidate& candidate = known_[{specialisation, configuration}];
  candidate.configuration = configuration;
  candidate.excluded_reason = reason.empty() ? "failed while measured" : reason;
  crashed_[{specialisation, configuration}] = candidate.excluded_reason;
}

std::vector<CandidateRecord> CandidatePool::Records() const {
  std::vector<CandidateRecord> records;
  for (const auto& [key, candidate] : known_) {
    if (InSpace(kernel_->spec.Of(key.first), key.second)) {
      records.push_back({key.first, candidate});
    }
  }
  return records;
}

}  // namespace wavetune
