#include "server/jobs/profiling_job.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "fit/plan/predicted_cost.h"
#include "model/kernel/correctness_problems.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/exclusion.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table_codec.h"
#include "server/jobs/device_ratio.h"
#include "server/jobs/job_binding.h"
#include "server/jobs/profile_candidates.h"
#include "server/jobs/step_planner.h"
#include "server/jobs/stored_profile.h"

namespace wavetune {
namespace {

// The rest of a budget is for the batch that is under way when measuring ends,
// and for verification.
constexpr double kMeasuringShare = 0.98;

// Device time of the samples that a fit is made from; 0: no limit.
double MeasuringLimitUs(const JobRecord& job) {
  return job.options.budget_s * 1e6 * kMeasuringShare;
}

// Rounds of fit and verification: a candidate that crashes only when verified
// is left out in the next one.
constexpr int kMaxRounds = 4;

// Samples per candidate that a top-up may add: a quarter of a profile's.
constexpr int64_t kTopUpSamples = 8;

// Times that a candidate is compared again where others of its kernel are
// wrong. A race that is lost one time in three passes all nine checks one time
// in forty.
constexpr int32_t kRechecks = 8;

// Of the reason for an exclusion with the job; the whole is with the samples.
constexpr size_t kMaxShownReasonBytes = 1024;

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

// Leaders at a problem are compared with each other.
KeepTogether TogetherIn(ProfilePhase phase) {
  return phase == ProfilePhase::kRefining ? KeepTogether::kProblem
                                          : KeepTogether::kNothing;
}

int32_t LargestPortfolio(const Table& table) {
  size_t size = 0;
  for (const SubTable& sub : table.sub_tables) {
    size = std::max(size, sub.portfolio.size());
  }
  return static_cast<int32_t>(size);
}

}  // namespace

ProfilingJob::ProfilingJob(const JobServices& services, JobControl* control)
    : services_(services),
      control_(control),
      device_(services, control),
      outcome_(services, control, &incumbent_) {}

absl::Status ProfilingJob::Run() {
  absl::Status status = RunSteps();
  // What was excluded only while it was measured counts, too.
  services_.candidates_changed(control_->record().key);
  if (status.ok()) return status;
  std::string wrong;
  if (kernel_ != nullptr &&
      !absl::StrContains(status.message(), "wrong results")) {
    wrong = WrongText(CountChecked(kernel_->spec, input_.candidates));
  }
  if (wrong.empty() && withdrawn_.empty()) return status;
  absl::Status whole(status.code(),
                     absl::StrCat(status.message(), wrong, withdrawn_));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    whole.SetPayload(url, payload);
  });
  return whole;
}

absl::Status ProfilingJob::RunSteps() {
  RETURN_IF_ERROR(Bind());
  RETURN_IF_ERROR(LoadStored());
  const bool measure = !control_->record().options.refit_only;
  if (measure) {
    RETURN_IF_ERROR(Compile());
    RETURN_IF_ERROR(Recheck());
    services_.candidates_changed(control_->record().key);
  }
  RETURN_IF_ERROR(CheckCandidates());
  for (int round = 0; round < kMaxRounds; ++round) {
    if (measure) RETURN_IF_ERROR(MeasurePlanned());
    bool done = false;
    RETURN_IF_ERROR(FitAndVerify(&done));
    if (done) return absl::OkStatus();
    RETURN_IF_ERROR(CheckCandidates());
  }
  outcome_.Keep(
      absl::StrCat("in each of ", kMaxRounds,
                   " rounds another candidate crashed during verification; "
                   "the excluded ones are listed with the job",
                   Remarks()));
  return absl::OkStatus();
}

absl::StatusOr<DeviceFacts> ProfilingJob::Facts() {
  const JobRecord record = control_->record();
  if (!record.options.refit_only) return device_.Acquire();
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
  ASSIGN_OR_RETURN(const DeviceFacts device, Facts());
  ASSIGN_OR_RETURN(JobBinding bound, BindJob(services_, control_, device));
  kernel_ = std::move(bound.kernel);
  spec_ = std::move(bound.spec);
  input_ = std::move(bound.input);
  input_.spec = &spec_;
  incumbent_ = Incumbent(kernel_->spec,
                         services_.tables->Incumbent(control_->record().key));
  return absl::OkStatus();
}

absl::Status ProfilingJob::LoadStored() {
  const JobRecord record = control_->record();
  ASSIGN_OR_RETURN(StoredProfile stored,
                   LoadStoredProfile(*services_.samples, record));
  input_.candidates.assign(kernel_->spec.SpecialisationNames().size(), {});
  for (const CandidateRecord& candidate : stored.candidates) {
    TakeRecord(candidate);
    rechecks_[{candidate.specialisation, candidate.candidate.configuration}] =
        candidate.rechecks;
  }
  input_.samples = std::move(stored.samples);
  input_.earlier_samples = std::move(stored.earlier_samples);
  control_->Update([&](JobRecord& job) {
    job.samples = stored.own.samples;
    job.throttled_samples = stored.own.throttled_samples;
    job.device_time_us = stored.own.device_time_us;
  });
  if (record.options.top_up) RaiseSampleLimit(stored.of_other_jobs.samples);
  // The budget is the job's own: samples of earlier jobs come on top.
  const double budget_us = MeasuringLimitUs(record);
  input_.options.device_time_budget_us =
      budget_us > 0 ? budget_us + stored.of_other_jobs.device_time_us : 0;
  device_.Bind(kernel_, record.key, record.generation);
  device_.SetDeviceTimeLimit(budget_us);
  return absl::OkStatus();
}

void ProfilingJob::RaiseSampleLimit(int64_t of_other_jobs) {
  const int64_t usable = CountUsable(input_.candidates);
  if (usable == 0) return;  // Nothing to refine: an ordinary profile.
  const int64_t each = (of_other_jobs + usable - 1) / usable;
  input_.options.samples_per_candidate = static_cast<int>(each + kTopUpSamples);
  input_.options.refinement_samples = static_cast<int>(kTopUpSamples / 2);
}

void ProfilingJob::TakeRecord(const CandidateRecord& record) {
  if (!TakeCandidate(kernel_->spec, record, input_.candidates) ||
      !record.candidate.excluded()) {
    return;
  }
  control_->Update([&](JobRecord& job) {
    const auto same = [&](const CandidateRecord& r) {
      return r.specialisation == record.specialisation &&
             r.candidate.configuration == record.candidate.configuration;
    };
    std::erase_if(job.excluded, same);
    // The job is kept in memory and copied with each step of its progress.
    CandidateRecord shown = record;
    shown.candidate.excluded_reason =
        BoundedText(record.candidate.excluded_reason, kMaxShownReasonBytes);
    job.excluded.push_back(std::move(shown));
  });
  WithdrawIfWrong(record);
}

void ProfilingJob::WithdrawIfWrong(const CandidateRecord& record) {
  const Candidate& candidate = record.candidate;
  if (!IsWrong(candidate)) return;
  // What serves now: a job on an alike device may have promoted meanwhile.
  const Incumbent serving(kernel_->spec,
                          services_.tables->Incumbent(control_->record().key));
  if (!serving.Chooses(record.specialisation, candidate.configuration)) return;
  const TableRecord table = *serving.record();
  const std::string why =
      absl::StrCat("it chooses ",
                   FormatConfiguration(kernel_->spec, candidate.configuration),
                   ", which computes wrong results");
  outcome_.Withdraw(table, why);
  withdrawn_ = absl::StrCat("; table ", ShortDigest(table.digest),
                            " was withdrawn: ", why);
  // Nobody is to be compared with it.
  incumbent_ = Incumbent();
}

absl::Status ProfilingJob::Prepare(
    const std::string& specialisation,
    const std::vector<Configuration>& configurations,
    const std::function<void(CandidateRecord&)>& take) {
  absl::Status prepared = device_.Prepare(
      specialisation, configurations,
      DeclaredCorrectnessProblems(kernel_->spec, specialisation), take);
  // Once more, now that all is stored: a job on an alike device that has
  // promoted since either sees what is stored, or is seen here.
  for (const CandidateRecord& record : control_->record().excluded) {
    WithdrawIfWrong(record);
  }
  return prepared;
}

std::string ProfilingJob::Remarks() const {
  return absl::StrCat(failed_pairs_.Text(), device_.UnpreparedText(),
                      DefaultText(kernel_->spec, input_.candidates),
                      WrongText(CountChecked(kernel_->spec, input_.candidates)),
                      withdrawn_);
}

absl::Status ProfilingJob::Compile() {
  const std::vector<std::string> names = kernel_->spec.SpecialisationNames();
  const std::vector<std::vector<Configuration>> missing =
      MissingConfigurations(kernel_->spec, input_.candidates);
  int64_t total = 0;
  for (const auto& of_one : missing)
    total += static_cast<int64_t>(of_one.size());
  if (total == 0) return absl::OkStatus();
  control_->Update(
      [&](JobRecord& job) {
        job.phase = JobPhase::kCompiling;
        job.message.clear();
        job.done = 0;
        job.total = total;
        job.seconds_left = -1;
      },
      JobControl::Persist::kLazily);
  for (size_t i = 0; i < names.size(); ++i) {
    RETURN_IF_ERROR(Prepare(names[i], missing[i], [&](CandidateRecord& record) {
      TakeRecord(record);
      control_->Update([](JobRecord& job) { ++job.done; });
    }));
  }
  return absl::OkStatus();
}

std::vector<Configuration> ProfilingJob::DueForRecheck(
    size_t specialisation) const {
  const std::string name = kernel_->spec.SpecialisationNames()[specialisation];
  // Where nothing will be promoted, what serves is still to be trusted or not.
  const bool promotes =
      PromotesAlthoughWrong() ||
      !CountChecked(kernel_->spec, input_.candidates).many_wrong();
  std::vector<Configuration> due;
  for (const Candidate& candidate : input_.candidates[specialisation]) {
    const Configuration& configuration = candidate.configuration;
    const auto known = rechecks_.find({name, configuration});
    const int32_t rechecks = known == rechecks_.end() ? 0 : known->second;
    if (!candidate.excluded() && rechecks < kRechecks &&
        (promotes || incumbent_.Chooses(name, configuration))) {
      due.push_back(configuration);
    }
  }
  return due;
}

absl::Status ProfilingJob::Recheck() {
  if (CountChecked(kernel_->spec, input_.candidates).wrong == 0) {
    return absl::OkStatus();
  }
  const std::vector<std::string> names = kernel_->spec.SpecialisationNames();
  for (size_t i = 0; i < names.size(); ++i) {
    const auto take = [&](CandidateRecord& record) {
      if (!record.candidate.excluded()) {
        record.rechecks =
            ++rechecks_[{names[i], record.candidate.configuration}];
      }
      TakeRecord(record);
      control_->Update([](JobRecord& job) { ++job.done; });
    };
    // One batch a round: others run before, beside and behind each candidate,
    // as a race shows under other timing.
    for (int32_t round = 0; round < kRechecks; ++round) {
      const std::vector<Configuration> due = DueForRecheck(i);
      if (due.empty()) break;
      control_->Update(
          [&](JobRecord& job) {
            job.phase = JobPhase::kCompiling;
            job.message = absl::StrCat(
                "some candidates compute wrong results: those that were right "
                "are checked again, round ",
                round + 1, " of ", kRechecks);
            job.done = 0;
            job.total = static_cast<int64_t>(due.size());
            job.seconds_left = -1;
          },
          JobControl::Persist::kLazily);
      RETURN_IF_ERROR(Prepare(names[i], due, take));
    }
    if (const size_t left = DueForRecheck(i).size(); left > 0) {
      return absl::UnavailableError(absl::StrCat(
          left, " candidates of kernel ", kernel_->spec.name,
          ", of which others compute wrong results, could not be checked again",
          device_.UnpreparedText(), ". Reprofile again"));
    }
  }
  return absl::OkStatus();
}

bool ProfilingJob::PromotesAlthoughWrong() const {
  const JobRecord record = control_->record();
  if (record.options.promote_although_wrong) return true;
  // What a top-up refines was promoted by somebody's word.
  const TableRecord* const serving = incumbent_.record();
  return record.options.top_up && serving != nullptr &&
         serving->key == record.key;
}

absl::Status ProfilingJob::CheckCandidates() const {
  const absl::Status usable =
      CheckAnyUsable(kernel_->spec, input_.device.uuid, input_.candidates);
  if (!usable.ok() && !device_.unprepared().empty()) {
    return absl::UnavailableError(
        absl::StrCat("no candidate of kernel ", kernel_->spec.name,
                     " can be used", device_.UnpreparedText()));
  }
  RETURN_IF_ERROR(usable);
  if (!PromotesAlthoughWrong()) {
    RETURN_IF_ERROR(CheckFewWrong(kernel_->spec, input_.candidates));
  }
  if (!control_->record().options.refit_only ||
      CountChecked(kernel_->spec, input_.candidates).wrong == 0) {
    return absl::OkStatus();
  }
  size_t due = 0;
  for (size_t i = 0; i < input_.candidates.size(); ++i) {
    due += DueForRecheck(i).size();
  }
  if (due == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "some candidates of kernel ", kernel_->spec.name,
      " compute wrong results, and ", due,
      " of the others were checked too seldom to be trusted: reprofile "
      "it without refit-only"));
}

absl::Status ProfilingJob::MeasurePlanned() {
  const int64_t started_us = services_.clock->NowUs();
  const size_t samples_before = input_.samples.size();
  const double used_before_us = control_->record().device_time_us;
  StepPlanner planner(services_);
  for (;;) {
    RETURN_IF_ERROR(control_->CheckGoOn());
    input_.options.devices = device_.devices();
    const ProfileStep step = planner.Next(input_, failed_);
    if (step.items.empty() || device_.budget_spent()) return absl::OkStatus();
    if (input_.options.devices > 1) planner.PlanBeside(input_, failed_);
    ReportProgress(step, started_us, samples_before, used_before_us);
    const auto on_result = [&](size_t index, const DeviceTeam::Result& result) {
      const MeasureItem& item = planner.Done(index);
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
      ReportProgress(step, started_us, samples_before, used_before_us);
    };
    const auto more = [&]() -> DeviceTeam::Batch {
      const std::optional<ProfileStep> next = planner.TryNext(input_, failed_);
      if (!next) return {};
      planner.PlanBeside(input_, failed_);
      return {next->items, TogetherIn(next->phase)};
    };
    RETURN_IF_ERROR(
        device_.Measure(step.items, TogetherIn(step.phase), on_result, more)
            .status());
  }
}

void ProfilingJob::ReportProgress(const ProfileStep& step, int64_t started_us,
                                  size_t samples_before,
                                  double used_before_us) {
  const auto done = static_cast<int64_t>(input_.samples.size());
  const int64_t total = std::max(step.samples_planned, done);
  samples_planned_ = total;
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
    // Or until the device time is spent, whatever is planned.
    const double limit_us = MeasuringLimitUs(job);
    // Earlier rounds, and those before a restart, are not in `elapsed_s`.
    const double used_us = job.device_time_us - used_before_us;
    if (limit_us > 0 && used_us > 0) {
      job.seconds_left = std::min(
          job.seconds_left,
          elapsed_s * std::max(0.0, limit_us - job.device_time_us) / used_us);
    }
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
  const absl::StatusOr<FitResult> fitted =
      services_.profiling.fit_table(input_);
  if (!fitted.ok()) return FitFailed(fitted.status());
  const FitResult& fit = *fitted;
  control_->Update([&](JobRecord& job) { job.notes = fit.report.warnings; });
  ASSIGN_OR_RETURN(const std::string payload, EncodeTable(fit.table));
  ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledTable> table,
                   CompiledTable::Create(payload));
  const std::string coverage =
      CoverageText(fit.report, CountUsable(input_.candidates));
  if (fit.report.throttled_share > kMostThrottledShare) {
    outcome_.Keep(ThrottledText(fit.report, input_.samples) + coverage +
                  Remarks());
    return absl::OkStatus();
  }
  const JobRecord record = control_->record();
  // One from elsewhere is verified all the same: nobody here has done that.
  if (incumbent_.Is(record.key, table->digest()) &&
      !incumbent_.IsStaleFor(record.key)) {
    outcome_.Confirm("the fit gives the serving table again" + coverage +
                     Remarks());
    return absl::OkStatus();
  }
  const CompiledTable* const incumbent = incumbent_.comparable();
  ASSIGN_OR_RETURN(const std::vector<Sample> of_earlier_build,
                   SamplesOfEarlierBuild());
  VerificationPlan plan;
  std::vector<Sample> measured;
  if (record.options.refit_only) {
    plan = PlanStoredVerification(input_, *table, incumbent, &measured);
    PlanBuilds({incumbent, of_earlier_build}, {table.get(), input_.samples},
               /*measure=*/false, plan);
  } else {
    plan = services_.profiling.plan_verification(
        input_, fit.table, incumbent ? &incumbent->table() : nullptr);
    PlanBuilds({incumbent, of_earlier_build}, {table.get(), input_.samples},
               /*measure=*/true, plan);
    bool crashed = false;
    RETURN_IF_ERROR(MeasureForVerdict(plan.items, &measured, &crashed));
    if (crashed) {
      *done = false;
      return absl::OkStatus();
    }
  }
  plan.incumbent_is_stale = incumbent_.IsStaleFor(record.key);
  const Verdict verdict =
      services_.profiling.judge_verification(plan, measured);
  ShowRegrets(verdict);
  const std::string reason = verdict.reason + coverage + Remarks();
  FittedTable fitted_table{.table = fit.table,
                           .payload = payload,
                           .record = RecordOf(fit, reason),
                           .points = EvidenceOf(plan, measured)};
  // First, as it is why a table of this build loses, where it does.
  std::string slower = WhySlowerBuild(plan, measured);
  if (!slower.empty()) {
    absl::StrAppend(
        &slower, "; promote it all the same: wavetune reprofile --kernel ",
        record.kernel, " --promote-although-slower", coverage, Remarks());
    outcome_.Reject(std::move(fitted_table), slower);
    outcome_.Keep(slower);
    return absl::OkStatus();
  }
  if (!verdict.promote) {
    outcome_.Reject(std::move(fitted_table), reason);
    return outcome_.KeepIncumbent(verdict, reason);
  }
  return outcome_.Promote(kernel_->spec, std::move(fitted_table), Remarks());
}

absl::StatusOr<std::vector<Sample>> ProfilingJob::SamplesOfEarlierBuild()
    const {
  const JobRecord job = control_->record();
  const TableRecord* const serving = incumbent_.record();
  std::vector<Sample> samples;
  if (job.options.promote_although_slower ||
      incumbent_.comparable() == nullptr ||
      serving->key.fingerprint == job.key.fingerprint ||
      !serving->IsFor(job.key.environment_key)) {
    return samples;
  }
  // The last counts: under this driver, where it was carried over to that.
  for (const std::string& environment :
       {serving->measured_in(), job.key.environment_key}) {
    ProfileKey before = serving->key;
    before.environment_key = environment;
    ASSIGN_OR_RETURN(SampleSet stored,
                     LoadProfilesOf(*services_.samples, before));
    NormaliseByDevice(stored.samples, job.whole_class ? "" : job.device_uuid);
    for (const SampleRecord& record : stored.samples) {
      samples.push_back(record.sample);
    }
  }
  return samples;
}

void ProfilingJob::ShowRegrets(const Verdict& verdict) {
  control_->Update([&](JobRecord& job) {
    job.regret_before = verdict.regret_incumbent;
    job.regret_after =
        verdict.promote ? verdict.regret_chosen : verdict.regret_incumbent;
  });
}

absl::Status ProfilingJob::FitFailed(const absl::Status& status) const {
  const JobRecord job = control_->record();
  const bool spent =
      job.options.budget_s > 0 && job.device_time_us >= MeasuringLimitUs(job);
  if (!spent || !absl::IsFailedPrecondition(status)) return status;
  return absl::FailedPreconditionError(BudgetTooSmallText(
      job, samples_planned_, PredictTimeLeft(), std::string(status.message())));
}

TimeLeft ProfilingJob::PredictTimeLeft() const {
  ProfileInput rest = input_;
  rest.options.device_time_budget_us = 0;
  // All of the phase that is under way: with it there is a table.
  std::vector<MeasureItem> items;
  ProfileStep step = services_.profiling.plan_next(rest, failed_, {});
  for (const ProfilePhase phase = step.phase;
       step.phase == phase && !step.items.empty();
       step = services_.profiling.plan_next(rest, failed_, items)) {
    items.insert(items.end(), step.items.begin(), step.items.end());
  }
  if (items.empty()) return {};
  const double first_us = PredictedCostUs(input_, items);
  const auto later = static_cast<double>(std::max<int64_t>(
      0, samples_planned_ - static_cast<int64_t>(input_.samples.size()) -
             static_cast<int64_t>(items.size())));
  const double all_us =
      first_us * (1 + later / static_cast<double>(items.size()));
  // Verification has its share; what is predicted may be too little by half.
  constexpr double kHeadroom = 1.5 / kMeasuringShare;
  return {.first_table_s = first_us * kHeadroom * 1e-6,
          .all_s = all_us * kHeadroom * 1e-6};
}

TableRecord ProfilingJob::RecordOf(const FitResult& fit,
                                   const std::string& why) const {
  const JobRecord job = control_->record();
  TableRecord record{.key = job.key};
  record.promoted_at_us = services_.clock->NowUs();
  record.portfolio_size = LargestPortfolio(fit.table);
  record.device_label = input_.device.label;
  record.device_uuid = input_.device.uuid;
  record.notes = job.notes;
  record.compiler = ImplementationFor(kernel_->spec, input_.device).compiler;
  record.how = PromotionKind::kProfiled;
  record.job_id = job.id;
  record.by = job.by;
  record.why = why;
  record.fit_residual = fit.report.median_relative_error;
  return record;
}

absl::Status ProfilingJob::MeasureForVerdict(
    const std::vector<MeasureItem>& items, std::vector<Sample>* measured,
    bool* crashed) {
  control_->Update([&](JobRecord& job) {
    job.phase = JobPhase::kVerifying;
    job.done = 0;
    job.total = static_cast<int64_t>(items.size());
  });
  measured->resize(items.size());
  const auto on_result = [&](size_t index, const DeviceTeam::Result& result) {
    if (result.sample) {
      (*measured)[index] = *result.sample;
      input_.samples.push_back(*result.sample);
    }
    failed_pairs_.Take(kernel_->spec, items[index], result);
    if (result.excluded) {
      *crashed = true;
      const MeasureItem& item = items[index];
      Candidate candidate{.configuration = item.configuration};
      candidate.excluded_reason =
          absl::StrCat("crashed during verification: ", result.failure);
      TakeRecord({item.problem.specialisation, std::move(candidate)});
    }
    control_->Update([](JobRecord& job) { ++job.done; });
  };
  // It decides what serves: where a budget is tiny it may pass it.
  device_.SetDeviceTimeLimit(0);
  absl::Status status =
      device_.Measure(items, KeepTogether::kProblem, on_result).status();
  device_.SetDeviceTimeLimit(MeasuringLimitUs(control_->record()));
  return status;
}

}  // namespace wavetune
