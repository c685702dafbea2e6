#include "server/rpc/record_proto.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/printable_text.h"
#include "formats/types.h"
#include "model/kernel/exclusion.h"

namespace wavetune {
namespace {

v1::JobState ToProto(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return v1::QUEUED;
    case JobState::kRunning:
      return v1::RUNNING;
    case JobState::kSucceeded:
      return v1::SUCCEEDED;
    case JobState::kFailed:
      return v1::FAILED;
    case JobState::kCancelled:
      return v1::CANCELLED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::JobPhase ToProto(JobPhase phase) {
  switch (phase) {
    case JobPhase::kWaiting:
      return v1::WAITING;
    case JobPhase::kCompiling:
      return v1::COMPILING;
    case JobPhase::kScreening:
      return v1::SCREENING;
    case JobPhase::kSampling:
      return v1::SAMPLING;
    case JobPhase::kRefining:
      return v1::REFINING;
    case JobPhase::kFitting:
      return v1::FITTING;
    case JobPhase::kVerifying:
      return v1::VERIFYING;
    case JobPhase::kMeasuring:
      return v1::MEASURING;
    case JobPhase::kDone:
      return v1::DONE;
    case JobPhase::kDriftProbe:
      return v1::DRIFT_PROBE;
  }
  return v1::JOB_PHASE_UNSPECIFIED;
}

v1::DecisionSource ToProto(DecisionSource source) {
  static_assert(static_cast<int>(DecisionSource::kFitted) == v1::FITTED);
  static_assert(static_cast<int>(DecisionSource::kExtrapolated) ==
                v1::EXTRAPOLATED);
  static_assert(static_cast<int>(DecisionSource::kStale) == v1::STALE);
  static_assert(static_cast<int>(DecisionSource::kDefault) == v1::DEFAULT);
  return static_cast<v1::DecisionSource>(source);
}

v1::Promotion ToProto(PromotionKind how) {
  switch (how) {
    case PromotionKind::kProfiled:
      return v1::PROFILED;
    case PromotionKind::kRolledBack:
      return v1::ROLLED_BACK;
    case PromotionKind::kCarriedOver:
      return v1::CARRIED_OVER;
    case PromotionKind::kImported:
      return v1::IMPORTED;
    case PromotionKind::kShipped:
      return v1::SHIPPED;
    case PromotionKind::kFleet:
    case PromotionKind::kTrial:
      return v1::FLEET;
    case PromotionKind::kNotRecorded:
      break;
  }
  return v1::PROMOTION_UNSPECIFIED;
}

v1::DriftReport ToProto(const DriftReport& report) {
  static_assert(static_cast<int>(DriftAction::kProfile) ==
                v1::DriftReport::PROFILE);
  v1::DriftReport proto;
  GIVE_FIELDS(report, proto, from_environment, to_environment, digest, samples,
              seconds);
  for (const DriftRegime& regime : report.regimes) {
    v1::DriftRegime* const entry = proto.add_regimes();
    GIVE_FIELDS(regime, *entry, specialisation, name, pairs, median_ratio,
                worst_ratio, drifted);
  }
  proto.set_action(static_cast<v1::DriftReport::Action>(report.action));
  proto.set_reason(report.reason);
  return proto;
}

v1::MeasuredConfiguration ToProto(const MeasuredConfiguration& measured) {
  v1::MeasuredConfiguration proto;
  *proto.mutable_configuration() = ConfigurationToProto(measured.configuration);
  GIVE_FIELDS(measured, proto, latency_us, relative_spread, remeasured,
              sm_clock_mhz, throttled);
  return proto;
}

v1::RecordedSet ToProto(RecordedSet set) {
  switch (set) {
    case RecordedSet::kAnchors:
      return v1::ANCHORS;
    case RecordedSet::kRepresentative:
      return v1::REPRESENTATIVE;
    case RecordedSet::kJudged:
      return v1::JUDGED;
  }
  return v1::RECORDED_SET_UNSPECIFIED;
}

}  // namespace

std::string Shortened(const std::string& text) {
  return ShortenedText(text, kMaxExcludedReasonBytes);
}

v1::JobInfo JobRecordToProto(const JobRecord& record) {
  v1::JobInfo proto;
  GIVE_FIELDS(record, proto, id, kernel, device_uuid, reason, by, done, total,
              samples, device_time_us, message, created_at_us, finished_at_us,
              digest, seconds_left, waits_for, waits_since_us, priority,
              whole_class, not_meant_for_device, throttled_samples,
              regret_before, regret_after);
  GIVE_FIELDS(record.options, proto, even_if_busy, top_up,
              promote_although_wrong);
  proto.set_kind(record.kind == JobKind::kMeasure ? "measure" : "reprofile");
  proto.set_state(ToProto(record.state));
  proto.set_phase(ToProto(record.phase));
  proto.mutable_device_uuids()->Assign(record.device_uuids.begin(),
                                       record.device_uuids.end());
  proto.set_silicon_key(record.key.silicon_key);
  proto.set_used_problems(static_cast<int32_t>(record.used_problems.size()));
  proto.set_workload_problems(record.workload_problem_count);
  if (record.fleet_demand) {
    proto.mutable_fleet_demand()->set_nodes(record.fleet_demand->nodes);
    proto.mutable_fleet_demand()->set_workloads(record.fleet_demand->workloads);
  }
  proto.set_wrong_candidates(static_cast<int32_t>(std::count_if(
      record.excluded.begin(), record.excluded.end(),
      [](const CandidateRecord& r) { return IsWrong(r.candidate); })));
  proto.mutable_notes()->Assign(record.notes.begin(), record.notes.end());
  if (record.drift) *proto.mutable_drift() = ToProto(*record.drift);
  return proto;
}

v1::JobInfo DetailedJobRecordToProto(const JobRecord& record) {
  v1::JobInfo proto = JobRecordToProto(record);
  for (const CandidateRecord& excluded : record.excluded) {
    v1::ExcludedCandidate* const entry = proto.add_excluded();
    *entry->mutable_configuration() =
        ConfigurationToProto(excluded.candidate.configuration);
    entry->set_reason(Shortened(excluded.candidate.excluded_reason));
  }
  return proto;
}

v1::TableInfo TableRecordToProto(const TableRecord& record,
                                 const std::string& stale_reason) {
  v1::TableInfo proto;
  GIVE_FIELDS(record.key, proto, kernel, fingerprint, silicon_key);
  // An earlier client checks it against the payload's.
  proto.set_environment_key(record.measured_in());
  if (!record.carried_from.empty()) {
    proto.set_carried_to(record.key.environment_key);
  }
  GIVE_FIELDS(record, proto, digest, epoch, size_bytes, promoted_at_us,
              portfolio_size, device_label, device_uuid, withdrawn, compiler,
              job_id, by, why, unverified, fit_residual);
  proto.set_stale(!stale_reason.empty());
  proto.set_stale_reason(stale_reason);
  proto.mutable_notes()->Assign(record.notes.begin(), record.notes.end());
  proto.set_how(ToProto(record.how));
  return proto;
}

std::string PinText(const TableSnapshot& serving, const TableRecord& table) {
  const PinRecord* const pin =
      serving.PinOf(table.key.kernel, table.key.silicon_key);
  if (pin == nullptr || pin->digest != table.digest) return "";
  return absl::StrCat("by user ", pin->by,
                      pin->why.empty() ? "" : absl::StrCat(": ", pin->why));
}

v1::RejectedPoint RejectedPointToProto(const std::vector<Dimension>& dimensions,
                                       const RejectedPoint& point) {
  v1::RejectedPoint proto;
  *proto.mutable_problem() = ProblemToProto(dimensions, point.problem);
  GIVE_FIELDS(point, proto, chosen_us, incumbent_us, default_us);
  return proto;
}

v1::MeasuredProblem MeasuredProblemToProto(
    const std::vector<Dimension>& dimensions, const MeasuredProblem& measured) {
  v1::MeasuredProblem proto;
  *proto.mutable_problem() = ProblemToProto(dimensions, measured.problem);
  if (measured.chosen) *proto.mutable_chosen() = ToProto(*measured.chosen);
  if (!measured.digest.empty()) {
    proto.set_predicted_us(measured.predicted_us);
    proto.set_relative_bound(measured.relative_bound);
    proto.set_source(ToProto(measured.source));
  }
  if (measured.default_configuration) {
    *proto.mutable_default_configuration() =
        ToProto(*measured.default_configuration);
  }
  if (measured.best) *proto.mutable_best() = ToProto(*measured.best);
  proto.set_regret(measured.regret);
  proto.set_held_out_fraction(measured.held_out_fraction);
  for (const MeasuredConfiguration& entry : measured.all) {
    *proto.add_all() = ToProto(entry);
  }
  proto.set_digest(measured.digest);
  for (const MeasuredVendorBaseline& baseline : measured.vendor_baselines) {
    v1::MeasuredVendorBaseline* const entry = proto.add_vendor_baselines();
    GIVE_FIELDS(baseline, *entry, library, latency_us, relative_spread, failure,
                sm_clock_mhz, throttled);
  }
  for (const FailedConfiguration& failed : measured.failed) {
    v1::FailedConfiguration* const entry = proto.add_failed();
    *entry->mutable_configuration() =
        ConfigurationToProto(failed.configuration);
    entry->set_reason(Shortened(failed.reason));
  }
  return proto;
}

v1::RecordedSamples RecordedSamplesToProto(
    const std::vector<Dimension>& dimensions, const RecordedSamples& recorded) {
  v1::RecordedSamples proto;
  proto.set_set(ToProto(recorded.set));
  for (const Sample& sample : recorded.samples) {
    *proto.add_samples() = SampleToProto(dimensions, sample);
  }
  for (const RecordedFailure& failure : recorded.failures) {
    v1::RecordedFailure* const entry = proto.add_failures();
    *entry->mutable_configuration() =
        ConfigurationToProto(failure.item.configuration);
    *entry->mutable_problem() =
        ProblemToProto(dimensions, failure.item.problem);
    entry->set_reason(Shortened(failure.reason));
  }
  return proto;
}

v1::RecordedCandidate CandidateRecordToProto(const CandidateRecord& record) {
  v1::RecordedCandidate proto;
  proto.set_specialisation(record.specialisation);
  *proto.mutable_configuration() =
      ConfigurationToProto(record.candidate.configuration);
  if (record.candidate.excluded()) {
    proto.set_excluded_reason(Shortened(record.candidate.excluded_reason));
  } else {
    *proto.mutable_facts() = CandidateFactsToProto(record.candidate);
  }
  return proto;
}

v1::Recording RecordingToProto(const Recording& recording) {
  v1::Recording proto;
  *proto.mutable_device() = DeviceFactsToProto(recording.device);
  proto.set_fingerprint(recording.fingerprint);
  for (const CandidateRecord& record : recording.candidates) {
    *proto.add_candidates() = CandidateRecordToProto(record);
  }
  proto.set_samples_from_store(recording.samples_from_store);
  return proto;
}

}  // namespace wavetune
