#include "server/jobs/measuring_job.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fit/plan/predicted_cost.h"
#include "fit/samples/sample_selection.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "server/jobs/held_out_best.h"
#include "server/jobs/stored_profile.h"

namespace wavetune {
namespace {

using Measured = std::map<Configuration, MeasuredConfiguration>;

// A candidate that crashed or hung at so many problems and was measured at none
// is not tried at the others: a hang takes a minute. One problem that takes
// every worker down is not the candidates' fault.
constexpr int kMostCrashes = 3;

MeasuredConfiguration ToMeasured(const Sample& sample, bool remeasured) {
  return {.configuration = sample.configuration,
          .latency_us = sample.latency_us,
          .relative_spread = sample.relative_spread,
          .remeasured = remeasured,
          .sm_clock_mhz = sample.sm_clock_mhz,
          .throttled = sample.throttled};
}

void Take(const std::vector<MeasureItem>& items,
          const std::vector<JobDevice::Result>& results, bool remeasured,
          Measured* measured) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (!results[i].sample) continue;
    (*measured)[items[i].configuration] =
        ToMeasured(*results[i].sample, remeasured);
  }
}

std::vector<MeasuredVendorBaseline> VendorBaselines(
    const std::vector<MeasureItem>& items,
    const std::vector<JobDevice::Result>& results) {
  std::vector<MeasuredVendorBaseline> vendor_baselines;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].vendor_baseline.empty()) continue;
    MeasuredVendorBaseline baseline{.library = items[i].vendor_baseline,
                                    .failure = results[i].failure};
    if (results[i].sample) {
      baseline.latency_us = results[i].sample->latency_us;
      baseline.relative_spread = results[i].sample->relative_spread;
      baseline.sm_clock_mhz = results[i].sample->sm_clock_mhz;
      baseline.throttled = results[i].sample->throttled;
    }
    vendor_baselines.push_back(std::move(baseline));
  }
  return vendor_baselines;
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

// It must be among them.
size_t IndexIn(const std::vector<MeasureItem>& items,
               const Configuration& configuration) {
  size_t i = 0;
  while (items[i].configuration != configuration) ++i;
  return i;
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

absl::Status CheckJudgedApart(const KernelSpec& spec,
                              const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) {
    for (const WeightedProblem& weighted : spec.representative_problems) {
      Problem representative = weighted.problem;
      if (representative.specialisation.empty()) {
        representative.specialisation = problem.specialisation;
      }
      if (representative != problem) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          FormatProblem(spec, problem),
          " is a representative problem of kernel ", spec.name,
          ", which profiling may fit: quality cannot be judged there. Leave it "
          "out of the shapes, or out of the manifest"));
    }
  }
  return absl::OkStatus();
}

MeasuringJob::MeasuringJob(const JobServices& services, JobControl* control,
                           const MeasureRequest& request,
                           MeasureListener listener)
    : services_(services),
      control_(control),
      request_(request),
      listener_(std::move(listener)),
      device_(services, control),
      pool_(services, control, &device_),
      recorder_(services, control, &device_, &pool_, listener_.on_recorded) {}

absl::Status MeasuringJob::Run() {
  RETURN_IF_ERROR(Bind());
  if (request_.record) RETURN_IF_ERROR(BeginRecording());
  RETURN_IF_ERROR(MeasureProblems());
  if (request_.record) return FinishRecording();
  control_->Update([&](JobRecord& job) {
    job.message =
        absl::StrCat("measured ", request_.problems.size(), " problems",
                     failed_.Text(), device_.UnpreparedText());
  });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<MeasureItem>> MeasuringJob::LegalAt(
    const Problem& problem) {
  const int64_t began_us = services_.clock->NowUs();
  ASSIGN_OR_RETURN(const std::vector<Configuration> candidates,
                   pool_.Usable(problem.specialisation));
  // What compiling takes says nothing of the measurements that are left.
  measuring_since_us_ += services_.clock->NowUs() - began_us;
  return LegalOf(candidates, problem);
}

std::vector<MeasureItem> MeasuringJob::LegalOf(
    const std::vector<Configuration>& candidates,
    const Problem& problem) const {
  std::vector<MeasureItem> items;
  for (const Configuration& configuration : candidates) {
    if (IsLegal(kernel_->spec.Of(problem.specialisation), configuration,
                problem.View())) {
      items.push_back({configuration, problem});
    }
  }
  return items;
}

absl::Status MeasuringJob::PlanWork() {
  // It is for progress alone: where samples cannot be read, nothing is known.
  const absl::StatusOr<SampleSet> profiled =
      LoadProfilesOf(*services_.samples, control_->record().key);
  ProfileInput input;
  input.spec = &kernel_->spec;
  if (profiled.ok()) input.samples = SamplesOf(*profiled);
  const CostPredictor predictor(input);
  std::map<std::string, std::vector<Configuration>> candidates;
  for (const Problem& problem : request_.problems) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    std::vector<MeasureItem> items;
    if (exhaustive()) {
      const auto [own, is_new] = candidates.try_emplace(problem.specialisation);
      if (is_new) own->second = pool_.Expected(problem.specialisation);
      items = LegalOf(own->second, problem);
    }
    Work work{.measurements = static_cast<int64_t>(items.size()) + InRounds()};
    if (items.empty()) {
      items.push_back({kernel_->spec.default_configuration, problem});
    }
    work.cost_us = predictor.CostUs(items);
    // Nobody has profiled it.
    if (work.cost_us == 0) work.cost_us = static_cast<double>(items.size());
    work_.push_back(work);
  }
  measuring_since_us_ = services_.clock->NowUs();
  return absl::OkStatus();
}

void MeasuringJob::CountMeasured(int64_t measurements) {
  if (work_.empty()) return;
  Work& now = work_[problem_index_];
  now.done = std::min(now.measurements, now.done + measurements);
  int64_t done = 0;
  int64_t total = 0;
  double done_us = 0;
  double total_us = 0;
  for (const Work& work : work_) {
    done += work.done;
    total += work.measurements;
    total_us += work.cost_us;
    done_us += work.cost_us * static_cast<double>(work.done) /
               static_cast<double>(work.measurements);
  }
  const auto elapsed_us =
      static_cast<double>(services_.clock->NowUs() - measuring_since_us_);
  control_->Update([&](JobRecord& job) {
    job.phase = JobPhase::kMeasuring;
    job.done = done;
    job.total = total;
    job.seconds_left =
        done_us > 0 ? elapsed_us * 1e-6 * (total_us - done_us) / done_us : -1;
  });
}

absl::Status MeasuringJob::MeasureProblems() {
  if (!request_.record) RETURN_IF_ERROR(PlanWork());
  control_->Update(
      [&](JobRecord& job) {
        job.phase = JobPhase::kMeasuring;
        job.message.clear();
      },
      JobControl::Persist::kLazily);
  CountMeasured(0);
  for (const Problem& problem : request_.problems) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    ASSIGN_OR_RETURN(const MeasuredProblem result, MeasureAt(problem));
    listener_.on_result(result);
    // What failed is done, too.
    if (!work_.empty()) CountMeasured(work_[problem_index_].measurements);
    ++problem_index_;
  }
  return absl::OkStatus();
}

absl::Status MeasuringJob::BeginRecording() {
  // The number of pairs is known once everything compiles.
  for (const std::string& name : kernel_->spec.SpecialisationNames()) {
    RETURN_IF_ERROR(pool_.Usable(name).status());
  }
  if (!request_.fresh) {
    RETURN_IF_ERROR(recorder_.TakeStored(control_->record().key));
  }
  ASSIGN_OR_RETURN(const RecordingPlan plan, PlanRest());
  recorder_.Expect(CountJudgedPairs() +
                   static_cast<int64_t>(plan.anchors.size()) +
                   static_cast<int64_t>(plan.representatives.size()));
  return absl::OkStatus();
}

int64_t MeasuringJob::CountJudgedPairs() const {
  int64_t pairs = 0;
  const std::vector<CandidateRecord> records = pool_.Records();
  for (const Problem& problem : request_.problems) {
    for (const CandidateRecord& record : records) {
      pairs += record.specialisation == problem.specialisation &&
               !record.candidate.excluded() &&
               IsLegal(kernel_->spec.Of(problem.specialisation),
                       record.candidate.configuration, problem.View());
    }
  }
  return pairs;
}

absl::StatusOr<RecordingPlan> MeasuringJob::PlanRest() {
  ProfileInput input{.spec = &kernel_->spec,
                     .fingerprint = kernel_->files.fingerprint,
                     .device = facts_};
  const std::vector<CandidateRecord> records = pool_.Records();
  for (const std::string& name : kernel_->spec.SpecialisationNames()) {
    std::vector<Candidate>& own = input.candidates.emplace_back();
    for (const CandidateRecord& record : records) {
      if (record.specialisation == name) own.push_back(record.candidate);
    }
  }
  const int wanted = request_.anchors_per_candidate;
  ASSIGN_OR_RETURN(RecordingPlan plan,
                   PlanRecording(input, wanted > 0 ? static_cast<size_t>(wanted)
                                                   : kGridAnchors));
  const std::set<Problem> judged(request_.problems.begin(),
                                 request_.problems.end());
  judged_anchors_ = static_cast<int64_t>(std::erase_if(
      plan.anchors,
      [&](const MeasureItem& item) { return judged.contains(item.problem); }));
  // Only where nobody named any: those of the manifest are apart.
  std::erase_if(plan.representatives, [&](const MeasureItem& item) {
    return judged.contains(item.problem);
  });
  return plan;
}

absl::Status MeasuringJob::FinishRecording() {
  // What crashes on the way can change where the others are measured: until a
  // round finds nothing new.
  for (int64_t before = -1; recorder_.finished() > before;) {
    before = recorder_.finished();
    ASSIGN_OR_RETURN(const RecordingPlan plan, PlanRest());
    RETURN_IF_ERROR(recorder_.Record(RecordedSet::kAnchors, plan.anchors));
    RETURN_IF_ERROR(
        recorder_.Record(RecordedSet::kRepresentative, plan.representatives));
  }
  listener_.on_recording({.device = facts_,
                          .fingerprint = kernel_->files.fingerprint,
                          .candidates = pool_.Records(),
                          .samples_from_store = recorder_.from_store()});
  control_->Update([&](JobRecord& job) {
    job.message = absl::StrCat(
        "recorded ", recorder_.recorded(), " pairs of candidate and problem, ",
        recorder_.from_store(), " of them from the store");
    absl::StrAppend(&job.message, recorder_.failed().Text(),
                    device_.UnpreparedText());
    if (judged_anchors_ > 0) {
      absl::StrAppend(&job.message, "; ", judged_anchors_,
                      " anchors are left out, as quality is judged there");
    }
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
  // A recording goes on without what crashed, as a profile does.
  device_.SetStoresExclusions(request_.record);
  recorder_.SetKernel(&kernel_->spec);
  if (exhaustive()) RETURN_IF_ERROR(pool_.Load(kernel_, key));
  absl::StatusOr<TableMatch> match =
      services_.tables->Find({.kernel = request_.kernel,
                              .device = facts_,
                              .fingerprint = kernel_->files.fingerprint});
  absl::Status found = match.status();
  if (found.ok()) table_ = *std::move(match);
  if (request_.vendor_baselines) RETURN_IF_ERROR(CheckVendorBaselines());
  if (request_.chosen && !table_ && !exhaustive() &&
      !request_.default_configuration) {
    return found;  // There is nothing to measure.
  }
  return absl::OkStatus();
}

absl::Status MeasuringJob::CheckVendorBaselines() const {
  const Implementation* const implementation =
      ImplementationFor(kernel_->spec, facts_).implementation;
  if (implementation != nullptr && !implementation->vendor_baselines.empty()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("kernel ", request_.kernel,
                   " names no vendor library for the backend '", facts_.backend,
                   "': measure without vendor baselines, or add "
                   "`vendor_baselines` to its manifest"));
}

void MeasuringJob::TakeFailure(const MeasureItem& item,
                               const JobDevice::Result& result, AtProblem* at) {
  if (result.sample || result.failure.empty()) return;
  if (!at->failed.emplace(item.configuration, result.failure).second) return;
  JobDevice::Result of_pair = result;
  of_pair.excluded = false;  // It counts here.
  failed_.Take(kernel_->spec, item, of_pair);
}

absl::Status MeasuringJob::MeasureUnrecorded(
    const std::vector<MeasureItem>& items, AtProblem* at) {
  std::vector<MeasureItem> tried;
  for (const MeasureItem& item : items) {
    const History& history =
        histories_[{item.problem.specialisation, item.configuration}];
    if (history.measured || history.crashes < kMostCrashes) {
      tried.push_back(item);
      continue;
    }
    TakeFailure(item,
                {.failure = absl::StrCat("not tried, as it crashed or hung at ",
                                         kMostCrashes, " problems before")},
                at);
  }
  ASSIGN_OR_RETURN(
      const auto results,
      device_.Measure(
          tried, [&](size_t, const JobDevice::Result&) { CountMeasured(1); }));
  Take(tried, results, /*remeasured=*/false, &at->measured);
  for (size_t i = 0; i < tried.size(); ++i) {
    TakeFailure(tried[i], results[i], at);
    History& history =
        histories_[{tried[i].problem.specialisation, tried[i].configuration}];
    history.measured |= results[i].sample.has_value();
    history.crashes += results[i].excluded ? 1 : 0;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Configuration>> MeasuringJob::MeasureAll(
    const Problem& problem, AtProblem* at) {
  ASSIGN_OR_RETURN(const std::vector<MeasureItem> items, LegalAt(problem));
  if (request_.record) {
    RETURN_IF_ERROR(recorder_.Record(RecordedSet::kJudged, items));
    for (const MeasureItem& item : items) {
      if (const Sample* const sample = recorder_.Find(item)) {
        at->measured[item.configuration] =
            ToMeasured(*sample, /*remeasured=*/false);
      } else if (pool_.IsUsable(problem.specialisation, item.configuration)) {
        at->failed[item.configuration] = "could not be recorded";
      }
    }
  } else {
    // Now it is known what compiles.
    work_[problem_index_].measurements =
        static_cast<int64_t>(items.size()) + InRounds();
    RETURN_IF_ERROR(MeasureUnrecorded(items, at));
  }
  for (const auto* missing : {&device_.unprepared(), &pool_.crashed()}) {
    for (const auto& [candidate, reason] : *missing) {
      if (candidate.first == problem.specialisation &&
          IsLegal(kernel_->spec.Of(problem.specialisation), candidate.second,
                  problem.View())) {
        at->failed.emplace(candidate.second, reason);
      }
    }
  }
  std::vector<Configuration> leaders;
  for (const MeasuredConfiguration& entry : FastestFirst(at->measured)) {
    if (leaders.size() == static_cast<size_t>(request_.remeasure_leaders))
      break;
    leaders.push_back(entry.configuration);
  }
  return leaders;
}

absl::StatusOr<MeasuringJob::Rounds> MeasuringJob::MeasureInRounds(
    const std::vector<MeasureItem>& items) {
  Rounds rounds{.medians = std::vector<JobDevice::Result>(items.size()),
                .latencies_us = std::vector<std::vector<double>>(
                    items.size(),
                    std::vector<double>(static_cast<size_t>(request_.rounds)))};
  std::vector<JobDevice::Result>& medians = rounds.medians;
  std::vector<std::vector<Sample>> samples(items.size());
  std::vector<size_t> left(items.size());  // Indices of what did not crash.
  std::iota(left.begin(), left.end(), size_t{0});
  for (int round = 0; round < request_.rounds; ++round) {
    std::vector<MeasureItem> batch;
    for (size_t i : left) batch.push_back(items[i]);
    ASSIGN_OR_RETURN(const auto results, device_.Measure(batch));
    CountMeasured(static_cast<int64_t>(batch.size()));
    for (size_t j = 0; j < left.size(); ++j) {
      if (results[j].sample) {
        samples[left[j]].push_back(*results[j].sample);
        rounds.latencies_us[left[j]][static_cast<size_t>(round)] =
            results[j].sample->latency_us;
      } else {
        medians[left[j]] = results[j];
      }
    }
    std::erase_if(left, [&](size_t i) { return medians[i].excluded; });
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (samples[i].empty() || medians[i].excluded) continue;
    medians[i] = {.sample = MedianSample(std::move(samples[i]))};
  }
  return rounds;
}

std::vector<Rival> MeasuringJob::RivalsAt(const Problem& problem) const {
  std::vector<Rival> rivals;
  if (measures_default()) rivals = EngineRivals(kernel_->spec, problem.View());
  const auto named = request_.rivals.find(problem);
  if (named == request_.rivals.end()) return rivals;
  for (const Rival& rival : named->second) {
    if (InSpace(kernel_->spec, rival.configuration) &&
        IsLegal(kernel_->spec, rival.configuration, problem.View()))
      rivals.push_back(rival);
  }
  return rivals;
}

absl::StatusOr<MeasuredProblem> MeasuringJob::MeasureAt(
    const Problem& problem) {
  MeasuredProblem result{.problem = problem};
  std::set<Configuration> named;
  std::optional<Configuration> chosen;
  if (table_ && (request_.chosen || exhaustive())) {
    const CompiledTable& table = *table_->serving.table;
    const Decision decision =
        table.Resolve(table.SubTableIndex(problem.specialisation),
                      problem.View(), table_->stale());
    chosen = decision.configuration;
    result.predicted_us = decision.latency_us;
    result.relative_bound = decision.relative_bound;
    result.source = decision.source;
    result.digest = table_->serving.record.digest;
    named.insert(*chosen);
  }
  const Configuration& default_configuration =
      kernel_->spec.default_configuration;
  if (measures_default()) named.insert(default_configuration);
  const std::vector<Rival> rivals = RivalsAt(problem);
  for (const Rival& rival : rivals) named.insert(rival.configuration);

  AtProblem at;
  Measured& measured = at.measured;
  if (exhaustive()) {
    ASSIGN_OR_RETURN(const std::vector<Configuration> leaders,
                     MeasureAll(problem, &at));
    named.insert(leaders.begin(), leaders.end());
  }
  std::vector<MeasureItem> items = ItemsAt(named, problem);
  if (request_.vendor_baselines) {
    const Implementation* const implementation =
        ImplementationFor(kernel_->spec, facts_).implementation;
    for (const VendorBaseline& baseline : implementation->vendor_baselines) {
      items.push_back(
          {.problem = problem, .vendor_baseline = baseline.library});
    }
  }
  ASSIGN_OR_RETURN(Rounds rounds, MeasureInRounds(items));
  std::vector<JobDevice::Result>& results = rounds.medians;
  result.vendor_baselines = VendorBaselines(items, results);
  items.resize(
      named.size());  // Vendor baselines come last, and are no candidates.
  results.resize(named.size());
  rounds.latencies_us.resize(named.size());
  Take(items, results, /*remeasured=*/exhaustive(), &measured);
  if (request_.record) {
    recorder_.Replace(RecordedSet::kJudged, items, results);
  } else {
    for (size_t i = 0; i < items.size(); ++i) {
      TakeFailure(items[i], results[i], &at);
      // What it took before it crashed is no answer.
      if (results[i].excluded) measured.erase(items[i].configuration);
    }
  }
  for (const auto& [configuration, reason] : at.failed) {
    result.failed.push_back({configuration, reason});
  }

  result.all = FastestFirst(measured);
  if (chosen) result.chosen = Find(measured, *chosen);
  if (measures_default()) {
    result.default_configuration = Find(measured, default_configuration);
  }
  for (const Rival& rival : rivals) {
    const std::optional<MeasuredConfiguration> entry =
        Find(measured, rival.configuration);
    if (!entry) continue;
    result.vendor_baselines.push_back(
        {.library = rival.name,
         .latency_us = entry->latency_us,
         .relative_spread = entry->relative_spread,
         .sm_clock_mhz = entry->sm_clock_mhz,
         .throttled = entry->throttled});
  }
  if (exhaustive()) {
    for (const MeasuredConfiguration& entry : result.all) {
      if (!entry.remeasured) continue;
      result.best = entry;
      break;
    }
  }
  if (result.best && result.chosen && result.chosen->remeasured) {
    result.regret = result.chosen->latency_us / result.best->latency_us - 1;
    result.held_out_fraction =
        HeldOutFraction(rounds.latencies_us, IndexIn(items, *chosen));
  }
  return result;
}

}  // namespace wavetune
