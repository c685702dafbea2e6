#include "server/registry/profiling_job.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/correctness_problems.h"
#include "model/kernel_validation.h"
#include "model/status_macros.h"
#include "model/table_codec.h"
#include "model/throttling.h"
#include "model/usage_weights.h"
#include "server/registry/stored_verification.h"

namespace wavetune {
namespace {

// Rounds of fit and verification: a candidate that crashes only when verified
// is left out in the next one.
constexpr int kMaxRounds = 4;

// Samples per candidate that a refinement may add: a quarter of a profile's.
constexpr int64_t kRefinementSamples = 8;

JobPhase ToJobPhase(ProfilePhase phase) {
  switch (phase) {
    case ProfilePhase::kScreening:
      return JobPhase::kScreening;
    case ProfilePhase::kSampling:
      return JobPhase::kSampling;
    case ProfilePhase::kRefining:
      return JobPhase::kRefining;
    case ProfilePhase::kDone:
      break;
  }
  return JobPhase::kFitting;
}

std::vector<std::string> ParameterNames(const KernelSpec& spec) {
  std::vector<std::string> names;
  for (const Parameter& parameter : spec.parameters) {
    names.push_back(parameter.name);
  }
  return names;
}

// A table of an older version of the kernel answers for this one only where
// problems and configurations mean the same.
bool Comparable(const KernelSpec& spec, const Table& table) {
  if (table.parameters != ParameterNames(spec)) return false;
  return std::equal(table.dimensions.begin(), table.dimensions.end(),
                    spec.dimensions.begin(), spec.dimensions.end(),
                    [](const Dimension& a, const Dimension& b) {
                      return a.name == b.name && a.repeated == b.repeated;
                    });
}

// What the fit rests on: "; 1843 samples of 120 candidates (15.4 each) and 1790
// of earlier profiles, 2410 at w <= 8"; nothing where it used none. Candidates
// are those that compile.
std::string Coverage(const FitReport& report,
                     const std::vector<std::vector<Candidate>>& candidates) {
  int64_t compiled = 0;
  for (const std::vector<Candidate>& of_one : candidates) {
    compiled += std::count_if(of_one.begin(), of_one.end(),
                              [](const Candidate& c) { return !c.excluded(); });
  }
  if (compiled == 0 || report.samples_used == 0) return "";
  const int64_t own = report.samples_used - report.earlier_samples;
  return absl::StrFormat(
      "; %d samples of %d candidates (%.1f each)%s, %d at w <= 8", own,
      compiled, static_cast<double>(own) / static_cast<double>(compiled),
      report.earlier_samples > 0 ? absl::StrCat(" and ", report.earlier_samples,
                                                " of earlier profiles")
                                 : "",
      report.samples_within_8_waves);
}

// Why a table of throttled samples does not serve, and what to do.
std::string Throttled(const FitReport& report,
                      const std::vector<Sample>& samples) {
  uint32_t reasons = 0;
  for (const Sample& sample : samples) {
    if (sample.throttled) reasons |= sample.throttle_reasons;
  }
  const std::string text = ThrottleText(reasons);
  return absl::StrFormat(
      "%.0f %% of what was measured was measured while the device was "
      "throttled%s, again and again. Look at its cooling and power, then "
      "reprofile: throttled samples are measured anew",
      100 * report.throttled_share, text.empty() ? "" : " (" + text + ")");
}

int32_t LargestPortfolio(const Table& table) {
  size_t size = 0;
  for (const SubTable& sub : table.sub_tables) {
    size = std::max(size, sub.portfolio.size());
  }
  return static_cast<int32_t>(size);
}

uint64_t LatestGeneration(const std::vector<uint64_t>& generations) {
  return generations.empty() ? 0 : generations.back();
}

}  // namespace

ProfilingJob::ProfilingJob(const JobServices& services, JobControl* control)
    : services_(services), control_(control), device_(services, control) {}

absl::Status ProfilingJob::Run() {
  RETURN_IF_ERROR(Bind());
  RETURN_IF_ERROR(LoadStored());
  const bool measure = !control_->record().refit_only;
  if (measure) RETURN_IF_ERROR(Compile());
  RETURN_IF_ERROR(CheckCandidates());
  for (int round = 0; round < kMaxRounds; ++round) {
    if (measure) RETURN_IF_ERROR(MeasurePlanned());
    bool done = false;
    RETURN_IF_ERROR(FitAndVerify(&done));
    if (done) return absl::OkStatus();
    RETURN_IF_ERROR(CheckCandidates());
  }
  Keep(absl::StrCat("in each of ", kMaxRounds,
                    " rounds another candidate crashed during verification; "
                    "the excluded ones are listed with the job"));
  return absl::OkStatus();
}

absl::StatusOr<DeviceFacts> ProfilingJob::Facts() {
  const JobRecord record = control_->record();
  if (!record.refit_only) return device_.Acquire();
  if (auto executor = services_.executors->Find(record.device_uuid, 0)) {
    return executor->device();
  }
  ASSIGN_OR_RETURN(const std::vector<DeviceRecord> devices,
                   services_.devices->List());
  for (const DeviceRecord& device : devices) {
    if (device.facts.uuid == record.device_uuid) return device.facts;
  }
  return absl::NotFoundError(
      absl::StrCat("device ", record.device_uuid,
                   " was never seen: attach its agent, then reprofile"));
}

absl::Status ProfilingJob::Bind() {
  const JobRecord record = control_->record();
  ASSIGN_OR_RETURN(input_.device, Facts());
  ASSIGN_OR_RETURN(kernel_,
                   services_.kernels->Get(record.kernel, input_.device));
  const ProfileKey key{record.kernel, kernel_->files.fingerprint,
                       SiliconKey(input_.device),
                       EnvironmentKey(input_.device)};
  uint64_t generation = record.generation;
  // Kernel or device changed since the job was queued: what is measured now
  // belongs to the new key.
  if (generation == 0 || key != record.key) {
    ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                     services_.samples->Generations(key));
    generation = std::max<uint64_t>(1, LatestGeneration(generations));
  }
  control_->Update(
      [&](JobRecord& job) {
        job.key = key;
        job.generation = generation;
        job.not_meant_for_device = kernel_->not_meant_for_device;
      },
      JobControl::Persist::kSynced);
  input_.spec = &kernel_->spec;
  input_.fingerprint = key.fingerprint;
  input_.options.samples_per_candidate = record.samples_per_candidate;
  input_.options.portfolio_size = record.portfolio_size;
  input_.representative_problems =
      WithUsage(kernel_->spec, record.used_problems);
  SetIncumbent();
  return absl::OkStatus();
}

void ProfilingJob::SetIncumbent() {
  incumbent_ = services_.tables->Incumbent(control_->record().key);
  incumbent_comparable_ =
      incumbent_ && Comparable(kernel_->spec, incumbent_->table->table());
  if (incumbent_comparable_) input_.incumbent = &incumbent_->table->table();
}

absl::Status ProfilingJob::LoadStored() {
  const JobRecord record = control_->record();
  ASSIGN_OR_RETURN(const SampleSet stored,
                   services_.samples->Load(record.key, record.generation));
  input_.candidates.assign(kernel_->spec.SpecialisationNames().size(), {});
  for (const CandidateRecord& candidate : stored.candidates) {
    TakeRecord(candidate);
  }
  int64_t of_earlier_jobs = 0;  // Of this generation, as all of `stored`.
  double of_earlier_jobs_us = 0;
  double own_us = 0;
  int64_t own = 0;
  int64_t own_throttled = 0;
  for (const SampleRecord& sample : stored.samples) {
    const bool is_own = sample.job_id == record.id;
    // Measured anew, now that the device may be cooler.
    if (sample.sample.throttled && !is_own && !record.refit_only) continue;
    input_.samples.push_back(sample.sample);
    own += is_own ? 1 : 0;
    of_earlier_jobs += is_own ? 0 : 1;
    own_throttled += is_own && sample.sample.throttled ? 1 : 0;
    (is_own ? own_us : of_earlier_jobs_us) += sample.sample.device_time_us;
  }
  RETURN_IF_ERROR(LoadEarlierGenerations());
  control_->Update([&](JobRecord& job) {
    job.samples = own;
    job.throttled_samples = own_throttled;
    job.device_time_us = own_us;
  });
  if (record.refinement) RaiseSampleLimit(of_earlier_jobs);
  // The budget is the job's own: samples of earlier jobs come on top.
  const double budget_us = record.budget_s * 1e6;
  input_.options.device_time_budget_us =
      budget_us > 0 ? budget_us + of_earlier_jobs_us : 0;
  device_.Bind(kernel_, record.key, record.generation);
  device_.SetDeviceTimeLimit(budget_us);
  return absl::OkStatus();
}

absl::Status ProfilingJob::LoadEarlierGenerations() {
  const JobRecord record = control_->record();
  ASSIGN_OR_RETURN(const std::vector<uint64_t> generations,
                   services_.samples->Generations(record.key));
  for (const uint64_t generation : generations) {
    if (generation == kMeasuredGeneration || generation >= record.generation) {
      continue;
    }
    ASSIGN_OR_RETURN(const SampleSet stored,
                     services_.samples->Load(record.key, generation));
    for (const SampleRecord& sample : stored.samples) {
      input_.earlier_samples.push_back(sample.sample);
    }
  }
  return absl::OkStatus();
}

void ProfilingJob::RaiseSampleLimit(int64_t of_earlier_jobs) {
  int64_t compiled = 0;
  for (const std::vector<Candidate>& of_one : input_.candidates) {
    compiled += std::count_if(of_one.begin(), of_one.end(),
                              [](const Candidate& c) { return !c.excluded(); });
  }
  if (compiled == 0) return;  // Nothing to refine: an ordinary profile.
  const int64_t each = (of_earlier_jobs + compiled - 1) / compiled;
  input_.options.samples_per_candidate =
      static_cast<int>(each + kRefinementSamples);
  input_.options.refinement_samples = static_cast<int>(kRefinementSamples / 2);
}

void ProfilingJob::TakeRecord(const CandidateRecord& record) {
  const std::vector<std::string> names = kernel_->spec.SpecialisationNames();
  const auto name =
      std::find(names.begin(), names.end(), record.specialisation);
  if (name == names.end()) return;  // Of an older version of the kernel.
  std::vector<Candidate>& candidates =
      input_.candidates[static_cast<size_t>(name - names.begin())];
  const auto known = std::find_if(
      candidates.begin(), candidates.end(), [&](const Candidate& c) {
        return c.configuration == record.candidate.configuration;
      });
  if (known == candidates.end()) {
    candidates.push_back(record.candidate);
  } else {
    *known = record.candidate;
  }
  if (!record.candidate.excluded()) return;
  control_->Update([&](JobRecord& job) {
    const auto same = [&](const CandidateRecord& r) {
      return r.specialisation == record.specialisation &&
             r.candidate.configuration == record.candidate.configuration;
    };
    std::erase_if(job.excluded, same);
    job.excluded.push_back(record);
  });
}

absl::Status ProfilingJob::Compile() {
  const std::vector<Configuration> space =
      EnumerateConfigurations(kernel_->spec);
  const std::vector<std::string> names = kernel_->spec.SpecialisationNames();
  std::vector<std::vector<Configuration>> missing(names.size());
  size_t total = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    std::set<Configuration> known;
    for (const Candidate& candidate : input_.candidates[i]) {
      known.insert(candidate.configuration);
    }
    for (const Configuration& configuration : space) {
      if (!known.contains(configuration)) missing[i].push_back(configuration);
    }
    total += missing[i].size();
  }
  if (total == 0) return absl::OkStatus();
  control_->Update(
      [&](JobRecord& job) {
        job.phase = JobPhase::kCompiling;
        job.message.clear();
        job.done = 0;
        job.total = static_cast<int64_t>(total);
        job.seconds_left = -1;
      },
      JobControl::Persist::kLazily);
  for (size_t i = 0; i < names.size(); ++i) {
    RETURN_IF_ERROR(
        device_.Prepare(names[i], missing[i],
                        DeclaredCorrectnessProblems(kernel_->spec, names[i]),
                        [&](const CandidateRecord& record) {
                          TakeRecord(record);
                          control_->Update([](JobRecord& job) { ++job.done; });
                        }));
  }
  return absl::OkStatus();
}

absl::Status ProfilingJob::CheckCandidates() const {
  size_t known = 0;
  std::string reason;
  for (const std::vector<Candidate>& candidates : input_.candidates) {
    for (const Candidate& candidate : candidates) {
      if (!candidate.excluded()) return absl::OkStatus();
      ++known;
      if (reason.empty()) {
        reason = absl::StrCat(
            FormatConfiguration(kernel_->spec, candidate.configuration), ": ",
            candidate.excluded_reason);
      }
    }
  }
  if (known == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing is stored of kernel ", kernel_->spec.name, " on device ",
        input_.device.uuid, ": reprofile it without refit-only first"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("all ", known, " candidates of kernel ", kernel_->spec.name,
                   " are excluded; the first: ", reason,
                   ". Correct the kernel, then reprofile"));
}

absl::Status ProfilingJob::MeasurePlanned() {
  const int64_t started_us = services_.clock->NowUs();
  const size_t samples_before = input_.samples.size();
  for (;;) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    const ProfileStep step = services_.profiling.plan_next(input_, failed_);
    if (step.items.empty() || device_.budget_spent()) return absl::OkStatus();
    ReportProgress(step, started_us, samples_before);
    const auto on_result = [&](size_t index, const JobDevice::Result& result) {
      const MeasureItem& item = step.items[index];
      if (result.sample) {
        input_.samples.push_back(*result.sample);
      } else {
        failed_.push_back(item);
        failed_pairs_.Take(kernel_->spec, item, result);
      }
      if (result.excluded) {
        Candidate crashed{.configuration = item.configuration};
        crashed.excluded_reason =
            result.failure.empty() ? "failed while measured" : result.failure;
        TakeRecord({item.problem.specialisation, std::move(crashed)});
      }
      ReportProgress(step, started_us, samples_before);
    };
    RETURN_IF_ERROR(device_.Measure(step.items, on_result).status());
  }
}

void ProfilingJob::ReportProgress(const ProfileStep& step, int64_t started_us,
                                  size_t samples_before) {
  const auto done = static_cast<int64_t>(input_.samples.size());
  const int64_t total = std::max(step.samples_planned, done);
  const auto fresh = done - static_cast<int64_t>(samples_before);
  const double elapsed_s =
      static_cast<double>(services_.clock->NowUs() - started_us) * 1e-6;
  control_->Update([&](JobRecord& job) {
    job.phase = ToJobPhase(step.phase);
    job.message.clear();
    job.done = done;
    job.total = total;
    job.seconds_left = fresh > 0 ? elapsed_s / static_cast<double>(fresh) *
                                       static_cast<double>(total - done)
                                 : -1;
  });
}

absl::Status ProfilingJob::FitAndVerify(bool* done) {
  *done = true;
  control_->Update(
      [](JobRecord& job) {
        job.phase = JobPhase::kFitting;
        job.message.clear();
        job.seconds_left = -1;
      },
      JobControl::Persist::kLazily);
  ASSIGN_OR_RETURN(const FitResult fit, services_.profiling.fit_table(input_));
  ASSIGN_OR_RETURN(const std::string payload, EncodeTable(fit.table));
  ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledTable> table,
                   CompiledTable::Create(payload));
  const std::string coverage = Coverage(fit.report, input_.candidates);
  if (fit.report.throttled_share > kMostThrottledShare) {
    Keep(Throttled(fit.report, input_.samples) + coverage);
    return absl::OkStatus();
  }
  const JobRecord record = control_->record();
  if (incumbent_ && incumbent_->record.key == record.key &&
      incumbent_->record.digest == table->digest()) {
    Keep("the fit gives the serving table again" + coverage +
         failed_pairs_.Text());
    return absl::OkStatus();
  }
  const CompiledTable* const incumbent =
      incumbent_comparable_ ? incumbent_->table.get() : nullptr;
  VerificationPlan plan;
  std::vector<Sample> measured;
  if (record.refit_only) {
    plan = PlanStoredVerification(kernel_->spec, input_.samples, *table,
                                  incumbent, &measured);
  } else {
    plan = services_.profiling.plan_verification(
        input_, fit.table, incumbent ? &incumbent->table() : nullptr);
    bool crashed = false;
    RETURN_IF_ERROR(MeasureVerification(plan, &measured, &crashed));
    if (crashed) {
      *done = false;
      return absl::OkStatus();
    }
  }
  const Verdict verdict =
      services_.profiling.judge_verification(plan, measured);
  if (!verdict.promote) {
    Keep(verdict.reason + coverage + failed_pairs_.Text());
    return absl::OkStatus();
  }
  return Promote(fit.table, payload,
                 verdict.reason + coverage + failed_pairs_.Text());
}

absl::Status ProfilingJob::MeasureVerification(const VerificationPlan& plan,
                                               std::vector<Sample>* measured,
                                               bool* crashed) {
  control_->Update([&](JobRecord& job) {
    job.phase = JobPhase::kVerifying;
    job.done = 0;
    job.total = static_cast<int64_t>(plan.items.size());
  });
  measured->resize(plan.items.size());
  const auto on_result = [&](size_t index, const JobDevice::Result& result) {
    if (result.sample) {
      (*measured)[index] = *result.sample;
      input_.samples.push_back(*result.sample);
    }
    failed_pairs_.Take(kernel_->spec, plan.items[index], result);
    if (result.excluded) {
      *crashed = true;
      const MeasureItem& item = plan.items[index];
      Candidate candidate{.configuration = item.configuration};
      candidate.excluded_reason =
          absl::StrCat("crashed during verification: ", result.failure);
      TakeRecord({item.problem.specialisation, std::move(candidate)});
    }
    control_->Update([](JobRecord& job) { ++job.done; });
  };
  // Verification is short and decides what serves: it may pass the budget.
  device_.SetDeviceTimeLimit(0);
  const absl::Status status = device_.Measure(plan.items, on_result).status();
  device_.SetDeviceTimeLimit(control_->record().budget_s * 1e6);
  return status;
}

absl::Status ProfilingJob::Promote(const Table& table,
                                   const std::string& payload,
                                   const std::string& reason) {
  // After this point a cancelled job would promote all the same.
  RETURN_IF_ERROR(control_->CheckGoOn());
  const ProfileKey key = control_->record().key;
  TableRecord record{.key = key};
  record.promoted_at_us = services_.clock->NowUs();
  record.portfolio_size = LargestPortfolio(table);
  record.device_label = input_.device.label;
  record.device_uuid = input_.device.uuid;
  ASSIGN_OR_RETURN(const TableRecord promoted,
                   services_.tables->Promote(std::move(record), payload));
  control_->Update([&](JobRecord& job) {
    job.digest = promoted.digest;
    job.message = reason;
  });
  const absl::Status pruned =
      services_.samples->Prune(key, services_.generations_kept);
  if (!pruned.ok()) {
    services_.warn(absl::StrCat("old samples of kernel ", key.kernel,
                                " stay: ", pruned.message()));
  }
  return absl::OkStatus();
}

void ProfilingJob::Keep(const std::string& reason) {
  const std::string serving =
      incumbent_
          ? absl::StrCat("table ", incumbent_->record.digest.substr(0, 8),
                         " serves on")
          : std::string("the default configuration serves on");
  control_->Update([&](JobRecord& job) {
    job.message = absl::StrCat("not promoted, ", serving, ": ", reason);
  });
}

}  // namespace wavetune
