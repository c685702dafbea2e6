#include "server/registry/measuring_job.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/correctness_problems.h"
#include "model/kernel_validation.h"
#include "model/status_macros.h"

namespace wavetune {
namespace {

using Measured = std::map<Configuration, MeasuredConfiguration>;

void Take(const std::vector<MeasureItem>& items,
          const std::vector<JobDevice::Result>& results, bool remeasured,
          Measured* measured) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (!results[i].sample) continue;
    const Sample& sample = *results[i].sample;
    (*measured)[items[i].configuration] = {
        .configuration = items[i].configuration,
        .latency_us = sample.latency_us,
        .relative_spread = sample.relative_spread,
        .remeasured = remeasured,
        .sm_clock_mhz = sample.sm_clock_mhz,
        .throttled = sample.throttled};
  }
}

std::vector<MeasuredConfiguration> FastestFirst(const Measured& measured) {
  std::vector<MeasuredConfiguration> sorted;
  for (const auto& [configuration, entry] : measured) sorted.push_back(entry);
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.latency_us < b.latency_us; });
  return sorted;
}

std::optional<MeasuredConfiguration> Find(const Measured& measured,
                                          const Configuration& configuration) {
  const auto it = measured.find(configuration);
  if (it == measured.end()) return std::nullopt;
  return it->second;
}

std::vector<MeasureItem> ItemsAt(const std::set<Configuration>& configurations,
                                 const Problem& problem) {
  std::vector<MeasureItem> items;
  for (const Configuration& configuration : configurations) {
    items.push_back({configuration, problem});
  }
  return items;
}

}  // namespace

MeasuringJob::MeasuringJob(const JobServices& services, JobControl* control,
                           const MeasureRequest& request,
                           ResultCallback on_result)
    : services_(services),
      control_(control),
      request_(request),
      on_result_(std::move(on_result)),
      device_(services, control) {}

absl::Status MeasuringJob::Run() {
  RETURN_IF_ERROR(Bind());
  control_->Update(
      [&](JobRecord& job) {
        job.phase = JobPhase::kMeasuring;
        job.message.clear();
        job.done = 0;
        job.total = static_cast<int64_t>(request_.problems.size());
      },
      JobControl::Persist::kLazily);
  for (const Problem& problem : request_.problems) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    ASSIGN_OR_RETURN(const MeasuredProblem result, MeasureAt(problem));
    on_result_(result);
    control_->Update([](JobRecord& job) {
      job.phase = JobPhase::kMeasuring;
      ++job.done;
    });
  }
  control_->Update([&](JobRecord& job) {
    job.message =
        absl::StrCat("measured ", request_.problems.size(), " problems");
  });
  return absl::OkStatus();
}

absl::Status MeasuringJob::Bind() {
  ASSIGN_OR_RETURN(facts_, device_.Acquire());
  ASSIGN_OR_RETURN(kernel_, services_.kernels->Get(request_.kernel, facts_));
  for (const Problem& problem : request_.problems) {
    RETURN_IF_ERROR(CheckProblem(kernel_->spec, problem));
  }
  const ProfileKey key{request_.kernel, kernel_->files.fingerprint,
                       SiliconKey(facts_), EnvironmentKey(facts_)};
  control_->Update(
      [&](JobRecord& job) {
        job.key = key;
        job.generation = kMeasuredGeneration;
        job.not_meant_for_device = kernel_->not_meant_for_device;
      },
      JobControl::Persist::kSynced);
  device_.Bind(kernel_, key, kMeasuredGeneration);
  absl::StatusOr<TableMatch> match =
      services_.tables->Find({.kernel = request_.kernel,
                              .device = facts_,
                              .fingerprint = kernel_->files.fingerprint});
  if (match.ok()) table_ = *std::move(match);
  if (request_.chosen && !table_ && !request_.exhaustive &&
      !request_.standard) {
    return match.status();  // There is nothing to measure.
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Configuration>> MeasuringJob::Candidates(
    const std::string& specialisation) {
  const ProfileKey key = control_->record().key;
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   services_.samples->Generations(key));
  std::set<Configuration> usable;
  std::set<Configuration> known;
  std::vector<uint64_t> wanted = {kMeasuredGeneration};
  if (!generations.empty() && generations.back() != kMeasuredGeneration) {
    wanted.push_back(generations.back());
  }
  const auto take = [&](const CandidateRecord& record) {
    if (record.specialisation != specialisation) return;
    known.insert(record.candidate.configuration);
    if (record.candidate.excluded()) {
      usable.erase(record.candidate.configuration);
    } else {
      usable.insert(record.candidate.configuration);
    }
  };
  for (uint64_t generation : wanted) {
    ASSIGN_OR_RETURN(const SampleSet stored,
                     services_.samples->Load(key, generation));
    for (const CandidateRecord& record : stored.candidates) take(record);
  }
  std::vector<Configuration> missing = EnumerateConfigurations(kernel_->spec);
  std::erase_if(missing,
                [&](const Configuration& c) { return known.contains(c); });
  if (!missing.empty()) {
    control_->Update([](JobRecord& job) { job.phase = JobPhase::kCompiling; });
    RETURN_IF_ERROR(device_.Prepare(
        specialisation, missing,
        DeclaredCorrectnessProblems(kernel_->spec, specialisation), take));
    control_->Update([](JobRecord& job) { job.phase = JobPhase::kMeasuring; });
  }
  return std::vector<Configuration>(usable.begin(), usable.end());
}

absl::StatusOr<MeasuredProblem> MeasuringJob::MeasureAt(
    const Problem& problem) {
  MeasuredProblem result{.problem = problem};
  std::set<Configuration> named;
  std::optional<Configuration> chosen;
  if (table_ && (request_.chosen || request_.exhaustive)) {
    const CompiledTable& table = *table_->serving.table;
    const Decision decision =
        table.Resolve(table.SubTableIndex(problem.specialisation),
                      problem.View(), table_->stale);
    chosen = decision.configuration;
    result.predicted_us = decision.latency_us;
    result.relative_bound = decision.relative_bound;
    result.source = decision.source;
    result.digest = table_->serving.record.digest;
    named.insert(*chosen);
  }
  const Configuration& standard = kernel_->spec.default_configuration;
  if (request_.standard || request_.exhaustive) named.insert(standard);

  Measured measured;
  if (request_.exhaustive) {
    ASSIGN_OR_RETURN(const std::vector<Configuration> candidates,
                     Candidates(problem.specialisation));
    std::vector<MeasureItem> items;
    for (const Configuration& configuration : candidates) {
      if (IsLegal(kernel_->spec, configuration, problem.View())) {
        items.push_back({configuration, problem});
      }
    }
    ASSIGN_OR_RETURN(const auto results, device_.Measure(items));
    Take(items, results, /*remeasured=*/false, &measured);
    const std::vector<MeasuredConfiguration> sorted = FastestFirst(measured);
    const size_t leaders = std::min(
        sorted.size(), static_cast<size_t>(request_.remeasure_leaders));
    for (size_t i = 0; i < leaders; ++i) {
      named.insert(sorted[i].configuration);
    }
  }
  const std::vector<MeasureItem> items = ItemsAt(named, problem);
  ASSIGN_OR_RETURN(const auto results, device_.Measure(items));
  Take(items, results, /*remeasured=*/request_.exhaustive, &measured);

  result.all = FastestFirst(measured);
  if (chosen) result.chosen = Find(measured, *chosen);
  if (request_.standard || request_.exhaustive) {
    result.standard = Find(measured, standard);
  }
  if (request_.exhaustive) {
    for (const MeasuredConfiguration& entry : result.all) {
      if (!entry.remeasured) continue;
      result.best = entry;
      break;
    }
  }
  if (result.best && result.chosen && result.chosen->remeasured) {
    result.regret = result.chosen->latency_us / result.best->latency_us - 1;
  }
  return result;
}

}  // namespace wavetune
