#include "server/jobs/drift_job.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/kernel/correctness_problems.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/key_difference.h"
#include "server/catalog/table_staleness.h"
#include "server/jobs/carry_over.h"
#include "server/jobs/job_binding.h"
#include "server/jobs/profile_candidates.h"
#include "server/jobs/profiling_job.h"
#include "server/jobs/stored_profile.h"

namespace wavetune {
namespace {

// The key that a table's samples are stored under.
ProfileKey MeasuredKey(const TableRecord& table) {
  ProfileKey key = table.key;
  key.environment_key = table.measured_in();
  return key;
}

bool IsKnown(const std::vector<Candidate>& candidates,
             const Configuration& configuration) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const Candidate& candidate) {
                       return candidate.configuration == configuration;
                     });
}

}  // namespace

DriftJob::DriftJob(const JobServices& services, JobControl* control)
    : services_(services), control_(control), device_(services, control) {}

absl::Status DriftJob::Run() {
  RETURN_IF_ERROR(Bind());
  if (!control_->record().options.verify_digest.empty()) return Verify();
  const TableRecord* const serving = incumbent_.record();
  if (serving != nullptr && !incumbent_.IsStaleFor(control_->record().key)) {
    return SetMessage("is current: there is no drift to look for");
  }
  if (CanJudge()) {
    ASSIGN_OR_RETURN(const DriftReport report, Report());
    if (report.action == DriftAction::kCarryOver) {
      return CarryOver(services_, control_, incumbent_, report.reason);
    }
    if (report.action == DriftAction::kUndecided) return NotJudged(report);
  }
  return ProfilingJob(services_, control_).Run();
}

absl::Status DriftJob::Verify() {
  const JobRecord job = control_->record();
  const TableRecord* const serving = incumbent_.record();
  if (serving == nullptr || serving->digest != job.options.verify_digest) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", ShortDigest(job.options.verify_digest),
        " is not what answers for ", job.kernel, " on device ", job.device_uuid,
        ": ",
        serving == nullptr
            ? "nothing serves"
            : absl::StrCat("that is table ", ShortDigest(serving->digest)),
        "; wavetune tables list shows what serves"));
  }
  const std::string profile =
      absl::StrCat("wavetune reprofile --kernel ", job.kernel);
  if (incumbent_.comparable() == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", ShortDigest(serving->digest),
        " is of another version of the kernel, with other parameters or "
        "dimensions: only a profile can judge it: ",
        profile));
  }
  ASSIGN_OR_RETURN(const DriftReport report, Report());
  if (report.action == DriftAction::kUndecided) return NotJudged(report);
  if (report.action != DriftAction::kCarryOver) {
    return absl::FailedPreconditionError(
        absl::StrCat("table ", ShortDigest(serving->digest),
                     " does NOT hold here, it serves on: ", report.reason,
                     ". Profile: ", profile));
  }
  if (!incumbent_.IsStaleFor(job.key)) {
    return SetMessage(absl::StrCat("holds, and was current: ", report.reason));
  }
  if (serving->key.fingerprint != job.key.fingerprint) {
    return SetMessage(
        absl::StrCat("holds: ", report.reason,
                     "; it stays stale, as it is of another version of "
                     "the kernel or its compiler: ",
                     profile));
  }
  if (StaysWithAttached(*services_.executors, *serving,
                        job.key.environment_key)) {
    return SetMessage(
        absl::StrCat("holds: ", report.reason,
                     "; it stays stale here, as it was carried over to "
                     "attached devices with another driver: ",
                     profile));
  }
  RETURN_IF_ERROR(CarryOver(services_, control_, incumbent_, report.reason));
  // Who asked whether it holds is told by the job's end, not by its text alone.
  const JobRecord ended = control_->record();
  if (ended.digest.empty()) return absl::AbortedError(ended.message);
  return absl::OkStatus();
}

absl::Status DriftJob::SetMessage(const std::string& message) {
  control_->Update([&](JobRecord& job) {
    job.digest = incumbent_.record()->digest;
    job.message = absl::StrCat("table ", ShortDigest(job.digest), " ", message);
  });
  return absl::OkStatus();
}

absl::Status DriftJob::NotJudged(const DriftReport& report) const {
  const JobRecord job = control_->record();
  return absl::FailedPreconditionError(absl::StrCat(
      "table ", ShortDigest(report.digest),
      " could not be judged, it serves on: ", report.reason, ". Try again: ",
      job.options.verify_digest.empty()
          ? absl::StrCat("wavetune reprofile --drift --kernel ", job.kernel)
          : absl::StrCat("wavetune tables verify ", job.kernel)));
}

absl::Status DriftJob::Bind() {
  ASSIGN_OR_RETURN(const DeviceFacts device, device_.Acquire());
  const ProfileKey asked = control_->record().key;
  ASSIGN_OR_RETURN(JobBinding bound, BindJob(services_, control_, device));
  kernel_ = std::move(bound.kernel);
  spec_ = std::move(bound.spec);
  input_ = std::move(bound.input);
  input_.spec = &spec_;
  input_.candidates.assign(spec_.SpecialisationNames().size(), {});
  const JobRecord job = control_->record();
  device_.Bind(kernel_, job.key, job.generation);
  incumbent_ = Incumbent(kernel_->spec, services_.tables->Incumbent(job.key));
  if (!job.options.against_digest.empty()) {
    // One that is gone, or of another version, is compared with nothing.
    auto against = services_.tables->Get(job.options.against_digest);
    if (against.ok()) against_ = Incumbent(kernel_->spec, *std::move(against));
  }
  // A report of an earlier run holds for what was judged then alone: this build
  // of the kernel, on this class of devices, and the table that serves.
  if (job.drift && (job.key != asked || incumbent_.record() == nullptr ||
                    job.drift->digest != incumbent_.record()->digest)) {
    control_->Update([](JobRecord& record) { record.drift.reset(); },
                     JobControl::Persist::kSynced);
  }
  if (incumbent_.record() == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(stored_, LoadProfilesOf(*services_.samples,
                                           MeasuredKey(*incumbent_.record())));
  stored_ratios_ = DeviceRatios(stored_.samples);
  return absl::OkStatus();
}

bool DriftJob::CanJudge() const {
  return incumbent_.comparable() != nullptr &&
         incumbent_.record()->key.fingerprint ==
             control_->record().key.fingerprint;
}

absl::StatusOr<DriftReport> DriftJob::Report() {
  const JobRecord job = control_->record();
  if (job.drift) return *job.drift;
  DriftReport report;
  std::string judge;
  RETURN_IF_ERROR(device_.OnOneDevice(
      [this](std::vector<std::string>& devices) { OrderDevices(devices); },
      [&](const std::string& uuid, JobDevice& device) -> absl::Status {
        judge = uuid;
        ASSIGN_OR_RETURN(report, Probe(uuid, device));
        return absl::OkStatus();
      }));
  report.from_environment = incumbent_.record()->measured_in();
  report.to_environment = job.key.environment_key;
  report.digest = incumbent_.record()->digest;
  control_->Update(
      [&](JobRecord& record) {
        record.drift = report;
        record.device_uuid = judge;
      },
      JobControl::Persist::kSynced);
  services_.probe_judged(control_->record());
  return report;
}

void DriftJob::OrderDevices(std::vector<std::string>& devices) const {
  const auto deviates = [&](const std::string& uuid) {
    const auto it = stored_ratios_.find(uuid);
    return it != stored_ratios_.end() && it->second.deviates();
  };
  if (!std::all_of(devices.begin(), devices.end(), deviates)) {
    std::erase_if(devices, deviates);
  }
  std::stable_partition(
      devices.begin(), devices.end(),
      [&](const std::string& uuid) { return stored_ratios_.contains(uuid); });
}

absl::StatusOr<DriftReport> DriftJob::Probe(const std::string& uuid,
                                            JobDevice& device) {
  crashed_.clear();
  before_ = BeforeOf(uuid);
  ASSIGN_OR_RETURN(const std::string unusable, PrepareMembers(device));
  services_.candidates_changed(control_->record().key);
  if (!unusable.empty()) {
    return DriftReport{.action = DriftAction::kProfile, .reason = unusable};
  }
  const Plan plan = MakePlan();
  // Of what the drift probe takes, not of waiting until the device may be used.
  const Clock::Duration begin = services_.clock->SteadyNow();
  const double waited_s = device.waited_s();
  ASSIGN_OR_RETURN(const std::vector<Sample> measured,
                   MeasurePlan(plan, device));
  DriftReport report = Judge(plan, measured);
  report.seconds = ToSeconds(services_.clock->SteadyNow() - begin) -
                   (device.waited_s() - waited_s);
  report.samples = static_cast<int32_t>(
      std::count_if(measured.begin(), measured.end(),
                    [](const Sample& s) { return s.latency_us > 0; }));
  return report;
}

absl::StatusOr<std::string> DriftJob::PrepareMembers(JobDevice& device) {
  ASSIGN_OR_RETURN(const StoredProfile known,
                   LoadStoredProfile(*services_.samples, control_->record()));
  for (const CandidateRecord& record : known.candidates) {
    TakeCandidate(kernel_->spec, record, input_.candidates);
  }
  control_->Update(
      [&](JobRecord& job) {
        job.phase = JobPhase::kDriftProbe;
        job.message = "preparing what the table may choose";
        job.done = 0;
        job.total = 0;
        job.seconds_left = -1;
      },
      JobControl::Persist::kLazily);
  const std::vector<std::string> names = kernel_->spec.SpecialisationNames();
  for (size_t i = 0; i < names.size(); ++i) {
    RETURN_IF_ERROR(PrepareMembersOf(i, device));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    for (const Candidate& candidate : input_.candidates[i]) {
      if (candidate.excluded() &&
          incumbent_.Chooses(names[i], candidate.configuration)) {
        return UnusableText(candidate.configuration, candidate.excluded_reason);
      }
    }
  }
  if (!device.unprepared().empty()) {
    return absl::StrCat("what the table may choose could not be prepared",
                        device.UnpreparedText());
  }
  return std::string();
}

std::string DriftJob::UnusableText(const Configuration& member,
                                   const std::string& why) const {
  return absl::StrCat("it may choose ",
                      FormatConfiguration(kernel_->spec, member),
                      ", which cannot be used any more: ", why);
}

absl::Status DriftJob::PrepareMembersOf(size_t specialisation,
                                        JobDevice& device) {
  const std::string name = kernel_->spec.SpecialisationNames()[specialisation];
  std::set<Configuration> members = {kernel_->spec.default_configuration};
  for (const Incumbent* table : {&incumbent_, &against_}) {
    if (table->comparable() == nullptr) continue;
    for (const SubTable& sub : table->comparable()->table().sub_tables) {
      if (sub.specialisation != name) continue;
      for (const TableCandidate& member : sub.portfolio) {
        members.insert(member.configuration);
      }
    }
  }
  std::vector<Configuration> missing;
  for (const Configuration& member : members) {
    if (!IsKnown(input_.candidates[specialisation], member)) {
      missing.push_back(member);
    }
  }
  if (missing.empty()) return absl::OkStatus();
  control_->Update([&](JobRecord& job) {
    job.total += static_cast<int64_t>(missing.size());
  });
  return device.Prepare(
      name, missing, DeclaredCorrectnessProblems(kernel_->spec, name),
      [&](CandidateRecord& record) {
        TakeCandidate(kernel_->spec, record, input_.candidates);
        control_->Update([](JobRecord& job) { ++job.done; });
      });
}

DriftJob::Plan DriftJob::MakePlan() const {
  Plan plan;
  ProfileInput input = input_;
  input.samples = before_;
  // Pairs of before are worth more than what was not measured before.
  plan.verification = WithoutRagged(services_.profiling.plan_verification(
      input, incumbent_.comparable()->table(),
      against_.comparable() == nullptr ? nullptr
                                       : &against_.comparable()->table()));
  // As good as what it replaces is good enough.
  plan.verification.incumbent_is_stale = true;
  plan.pairs =
      PlanDriftProbe({.table = incumbent_.comparable(), .before = before_},
                     plan.verification.items, {.measurements = kMostSamples});
  for (const DriftProbePair& pair : plan.pairs) plan.items.push_back(pair.item);
  for (const MeasureItem& item : plan.verification.items) {
    if (plan.items.size() < kMostSamples &&
        std::find(plan.items.begin(), plan.items.end(), item) ==
            plan.items.end()) {
      plan.items.push_back(item);
    }
  }
  return plan;
}

absl::StatusOr<std::vector<Sample>> DriftJob::MeasurePlan(const Plan& plan,
                                                          JobDevice& device) {
  control_->Update(
      [&](JobRecord& job) {
        job.phase = JobPhase::kDriftProbe;
        job.message.clear();
        job.done = 0;
        job.total = static_cast<int64_t>(plan.items.size());
      },
      JobControl::Persist::kLazily);
  std::vector<Sample> measured(plan.items.size());
  const auto on_result = [&](size_t index, const JobDevice::Result& result) {
    if (result.sample) measured[index] = *result.sample;
    const MeasureItem& item = plan.items[index];
    if (result.excluded &&
        incumbent_.Chooses(item.problem.specialisation, item.configuration)) {
      crashed_ = UnusableText(item.configuration, result.failure);
    }
    control_->Update([](JobRecord& job) { ++job.done; });
  };
  RETURN_IF_ERROR(device.Measure(plan.items, on_result).status());
  return measured;
}

DriftReport DriftJob::Judge(const Plan& plan,
                            const std::vector<Sample>& measured) {
  if (!crashed_.empty()) {
    return {.action = DriftAction::kProfile, .reason = crashed_};
  }
  const JobRecord job = control_->record();
  // A table that came from elsewhere is compared with the default alone: there
  // are no samples of before, or those of an earlier verification.
  const bool compared =
      job.options.verify_digest.empty() || plan.pairs.size() >= kFewestCompared;
  DriftReport report = compared
                           ? JudgeDriftProbe(plan.pairs, measured)
                           : DriftReport{.action = DriftAction::kCarryOver};
  if (report.action != DriftAction::kCarryOver) return report;
  std::vector<Sample> verified;
  for (const MeasureItem& item : plan.verification.items) {
    const auto at = std::find(plan.items.begin(), plan.items.end(), item);
    verified.push_back(
        at == plan.items.end()
            ? Sample()
            : measured[static_cast<size_t>(at - plan.items.begin())]);
  }
  Verdict verdict =
      services_.profiling.judge_verification(plan.verification, verified);
  if (against_.record() != nullptr) {
    verdict.reason = absl::StrReplaceAll(
        verdict.reason,
        {{"the incumbent",
          absl::StrCat("table ", ShortDigest(against_.record()->digest),
                       ", which it is to replace")}});
  }
  control_->Update([&](JobRecord& record) {
    record.regret_before = against_.comparable() == nullptr
                               ? verdict.regret_chosen
                               : verdict.regret_incumbent;
    record.regret_after = verdict.regret_chosen;
  });
  if (!verdict.judged) {
    report.action = DriftAction::kUndecided;
    report.reason = std::string(absl::StripPrefix(verdict.reason, "refused: "));
    return report;
  }
  if (!verdict.promote) report.action = DriftAction::kProfile;
  if (!compared) {
    report.reason =
        std::string(absl::StripPrefix(verdict.reason, "promoted: "));
  } else if (!verdict.promote) {
    absl::StrAppend(&report.reason, "; but ", verdict.reason);
  }
  return report;
}

std::vector<Sample> DriftJob::BeforeOf(const std::string& device_uuid) const {
  SampleSet before = stored_;
  NormaliseByDevice(before.samples, device_uuid);
  return SamplesOf(before);
}

}  // namespace wavetune
