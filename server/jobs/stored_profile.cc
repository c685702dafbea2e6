#include "server/jobs/stored_profile.h"

#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "model/kernel/engine_rule.h"
#include "model/kernel/kernel_spec.h"
#include "server/jobs/device_ratio.h"

namespace wavetune {

absl::StatusOr<StoredProfile> LoadStoredProfile(SampleStore& store,
                                                const JobRecord& job) {
  StoredProfile profile;
  ASSIGN_OR_RETURN(SampleSet stored, store.Load(job.key, job.generation));
  profile.candidates = std::move(stored.candidates);
  NormaliseByDevice(stored.samples, job.whole_class ? "" : job.device_uuid);
  for (SampleRecord& record : stored.samples) {
    const bool is_own = record.job_id == job.id;
    const bool throttled = record.sample.throttled;
    if (throttled && !is_own && !job.options.refit_only) continue;
    StoredProfile::Share& share = is_own ? profile.own : profile.of_other_jobs;
    ++share.samples;
    share.throttled_samples += throttled ? 1 : 0;
    share.device_time_us += record.sample.device_time_us;
    profile.samples.push_back(std::move(record.sample));
  }
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   store.Generations(job.key));
  for (const uint64_t generation : generations) {
    if (generation == kMeasuredGeneration || generation >= job.generation) {
      continue;
    }
    ASSIGN_OR_RETURN(SampleSet earlier, store.Load(job.key, generation));
    for (SampleRecord& record : earlier.samples) {
      profile.earlier_samples.push_back(std::move(record.sample));
    }
  }
  return profile;
}

absl::StatusOr<SampleSet> LoadProfilesOf(SampleStore& store,
                                         const ProfileKey& key) {
  SampleSet all;
  std::map<std::pair<std::string, Configuration>, CandidateRecord> latest;
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   store.Generations(key));
  for (const uint64_t generation : generations) {
    if (generation == kMeasuredGeneration) continue;
    ASSIGN_OR_RETURN(SampleSet set, store.Load(key, generation));
    std::move(set.samples.begin(), set.samples.end(),
              std::back_inserter(all.samples));
    for (CandidateRecord& record : set.candidates) {
      latest[{record.specialisation, record.candidate.configuration}] =
          std::move(record);
    }
  }
  for (auto& [name, record] : latest) {
    all.candidates.push_back(std::move(record));
  }
  return all;
}

std::vector<Sample> SamplesOf(const SampleSet& set) {
  std::vector<Sample> samples;
  for (const SampleRecord& record : set.samples) {
    samples.push_back(record.sample);
  }
  return samples;
}

namespace {

Configuration ChosenAt(const CompiledTable& table, const Problem& problem) {
  return table
      .Resolve(table.SubTableIndex(problem.specialisation), problem.View())
      .configuration;
}

bool IsExcluded(const ProfileInput& input, const Configuration& configuration,
                const std::string& specialisation) {
  const std::vector<std::string> names = input.spec->SpecialisationNames();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != specialisation) continue;
    for (const Candidate& candidate : input.candidates[i]) {
      if (candidate.configuration == configuration) return candidate.excluded();
    }
  }
  return false;
}

}  // namespace

VerificationPlan PlanStoredVerification(const ProfileInput& input,
                                        const CompiledTable& table,
                                        const CompiledTable* incumbent,
                                        std::vector<Sample>* measured) {
  // Ordered, so that equal samples give equal plans.
  std::map<Problem, std::map<Configuration, const Sample*>> by_problem;
  for (const Sample& sample : input.samples) {
    if (sample.suspect || !(sample.latency_us > 0)) continue;
    by_problem[sample.problem][sample.configuration] = &sample;
  }
  VerificationPlan plan;
  measured->clear();
  for (const auto& [problem, latest] : by_problem) {
    VerificationPlan::Point point{.problem = problem};
    const Rival usual = WithoutTable(
        *input.spec, problem, [&latest = latest](const Configuration& c) {
          return latest.contains(c);
        });
    const Configuration& default_configuration = usual.configuration;
    if (!usual.device.empty()) point.file = usual.name;
    point.chosen = ChosenAt(table, problem);
    point.has_default =
        !IsExcluded(input, default_configuration, problem.specialisation);
    point.default_configuration =
        point.has_default ? default_configuration : point.chosen;
    point.has_incumbent = incumbent != nullptr;
    point.incumbent =
        incumbent ? ChosenAt(*incumbent, problem) : point.default_configuration;
    if (!latest.contains(point.chosen) || !latest.contains(point.incumbent) ||
        !latest.contains(point.default_configuration)) {
      continue;
    }
    std::map<Configuration, bool> added;
    for (const Configuration& configuration :
         {point.chosen, point.incumbent, point.default_configuration}) {
      if (std::exchange(added[configuration], true)) continue;
      plan.items.push_back({configuration, problem});
      measured->push_back(*latest.at(configuration));
    }
    plan.points.push_back(std::move(point));
  }
  return plan;
}

}  // namespace wavetune
