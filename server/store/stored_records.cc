#include "server/store/stored_records.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/copy_fields.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "formats/measured_fields.h"
#include "proto/wavetune/v1/store.pb.h"
#include "server/store/stored_format.h"
#include "server/store/stored_usage.h"

namespace wavetune {
namespace {

// Stored numbers are part of the format: they are not the enums' values.
constexpr int kEnumOffset = 1;

template <typename Enum>
int32_t EnumToStored(Enum value) {
  return static_cast<int32_t>(value) + kEnumOffset;
}

template <typename Enum>
absl::StatusOr<Enum> EnumFromStored(int32_t stored, Enum last) {
  const int32_t value = stored - kEnumOffset;
  if (value < 0 || value > static_cast<int32_t>(last)) {
    return absl::DataLossError(absl::StrCat("unknown enum value ", stored));
  }
  return static_cast<Enum>(value);
}

static_assert(static_cast<int>(JobKind::kMeasure) == 1 &&
                  static_cast<int>(JobState::kCancelled) == 4 &&
                  static_cast<int>(JobPhase::kDriftProbe) == 9,
              "stored numbers follow the enums' order: see StoredJob");

absl::StatusOr<Configuration> ConfigurationFromStored(
    const google::protobuf::RepeatedField<int64_t>& values) {
  if (values.size() > kMaxParameters) {
    return absl::DataLossError(
        absl::StrCat("a configuration of ", values.size(), " values"));
  }
  return Configuration(
      absl::MakeConstSpan(values.data(), static_cast<size_t>(values.size())));
}

DriftAction ActionFromStored(int32_t action) {
  // Of a daemon that refitted with some of the samples: the table did not hold.
  constexpr int32_t kRefit = 2;
  switch (action) {
    case static_cast<int32_t>(DriftAction::kCarryOver):
      return DriftAction::kCarryOver;
    case kRefit:
    case static_cast<int32_t>(DriftAction::kProfile):
      return DriftAction::kProfile;
    default:
      return DriftAction::kUndecided;
  }
}

#define WAVETUNE_DRIFT_FIELDS \
  from_environment, to_environment, digest, samples, seconds, reason
#define WAVETUNE_DRIFT_REGIME_FIELDS \
  specialisation, name, pairs, median_ratio, worst_ratio, drifted

v1::StoredDrift DriftToStored(const DriftReport& report) {
  v1::StoredDrift stored;
  GIVE_FIELDS(report, stored, WAVETUNE_DRIFT_FIELDS);
  for (const DriftRegime& regime : report.regimes) {
    v1::StoredDriftRegime& entry = *stored.add_regimes();
    GIVE_FIELDS(regime, entry, WAVETUNE_DRIFT_REGIME_FIELDS);
  }
  stored.set_action(static_cast<int32_t>(report.action));
  return stored;
}

// An action of a later daemon is kUndecided.
DriftReport DriftFromStored(const v1::StoredDrift& stored) {
  DriftReport report;
  TAKE_FIELDS(stored, report, WAVETUNE_DRIFT_FIELDS);
  for (const v1::StoredDriftRegime& entry : stored.regimes()) {
    DriftRegime& regime = report.regimes.emplace_back();
    TAKE_FIELDS(entry, regime, WAVETUNE_DRIFT_REGIME_FIELDS);
  }
  report.action = ActionFromStored(stored.action());
  return report;
}

v1::StoredProfileKey KeyToStored(const ProfileKey& key) {
  v1::StoredProfileKey stored;
  GIVE_FIELDS(key, stored, kernel, fingerprint, silicon_key, environment_key);
  return stored;
}

ProfileKey KeyFromStored(const v1::StoredProfileKey& stored) {
  ProfileKey key;
  TAKE_FIELDS(stored, key, kernel, fingerprint, silicon_key, environment_key);
  return key;
}

v1::StoredCandidate CandidateToStored(const CandidateRecord& record) {
  const Candidate& candidate = record.candidate;
  v1::StoredCandidate stored;
  stored.set_format(kStoredFormat);
  stored.set_specialisation(record.specialisation);
  for (int64_t value : candidate.configuration.values()) {
    stored.add_configuration(value);
  }
  GIVE_FIELDS(candidate, stored, tiles_per_wave, blocks_per_multiprocessor,
              registers, shared_memory_bytes, excluded_reason);
  stored.set_rechecks(record.rechecks);
  return stored;
}

absl::StatusOr<CandidateRecord> CandidateFromStored(
    const v1::StoredCandidate& stored) {
  CandidateRecord record;
  record.specialisation = stored.specialisation();
  ASSIGN_OR_RETURN(record.candidate.configuration,
                   ConfigurationFromStored(stored.configuration()));
  TAKE_FIELDS(stored, record.candidate, tiles_per_wave,
              blocks_per_multiprocessor, registers, shared_memory_bytes,
              excluded_reason);
  record.rechecks = stored.rechecks();
  return record;
}

#define WAVETUNE_TABLE_FIELDS                                          \
  digest, epoch, revision, promoted_at_us, size_bytes, portfolio_size, \
      device_label, device_uuid, withdrawn, compiler, job_id, by, why, \
      carried_from, unverified, fit_residual

v1::StoredTableRecord TableRecordToStored(const TableRecord& record) {
  v1::StoredTableRecord stored;
  stored.set_format(kStoredFormat);
  *stored.mutable_key() = KeyToStored(record.key);
  GIVE_FIELDS(record, stored, WAVETUNE_TABLE_FIELDS);
  stored.mutable_notes()->Assign(record.notes.begin(), record.notes.end());
  stored.set_how(static_cast<int32_t>(record.how));
  return stored;
}

// A later daemon's may be one that this one does not know.
PromotionKind OriginFromStored(int32_t how) {
  constexpr auto kLast = static_cast<int32_t>(PromotionKind::kTrial);
  return how >= 0 && how <= kLast ? static_cast<PromotionKind>(how)
                                  : PromotionKind::kNotRecorded;
}

TableRecord TableRecordFromStored(const v1::StoredTableRecord& stored) {
  TableRecord record;
  record.key = KeyFromStored(stored.key());
  TAKE_FIELDS(stored, record, WAVETUNE_TABLE_FIELDS);
  record.notes.assign(stored.notes().begin(), stored.notes().end());
  record.how = OriginFromStored(stored.how());
  return record;
}

#define WAVETUNE_REQUEST_FIELDS \
  kernel, device_uuid, whole_class, priority, reason, by, generation
#define WAVETUNE_JOB_OPTIONS \
  WAVETUNE_REQUESTED_OPTIONS, top_up, drift_probe, against_digest

// Sets what a job was asked to do.
void AddRequest(const JobRecord& record, v1::StoredJob& stored) {
  stored.set_kind(EnumToStored(record.kind));
  GIVE_FIELDS(record, stored, WAVETUNE_REQUEST_FIELDS);
  GIVE_FIELDS(record.options, stored, WAVETUNE_JOB_OPTIONS);
  *stored.mutable_key() = KeyToStored(record.key);
  for (const WeightedProblem& used : record.used_problems) {
    *stored.add_used_problems() =
        UsedProblemToStored({.problem = used.problem, .weight = used.weight});
  }
  for (const WeightedProblem& declared : record.workload_problems.get()) {
    v1::StoredUsedProblem& one = *stored.add_workload_problems();
    one = UsedProblemToStored(
        {.problem = declared.problem, .weight = declared.weight});
    for (const Rival& rival : declared.rivals) {
      v1::StoredRival& file = *one.add_rivals();
      file.set_name(rival.name);
      file.set_device(rival.device);
      for (const int64_t value : rival.configuration.values())
        file.add_configuration(value);
    }
  }
  stored.set_workload_problem_count(record.workload_problem_count);
  if (record.fleet_demand) {
    stored.mutable_fleet_demand()->set_nodes(record.fleet_demand->nodes);
    stored.mutable_fleet_demand()->set_workloads(
        record.fleet_demand->workloads);
  }
}

absl::Status ReadRequest(const v1::StoredJob& stored, JobRecord& record) {
  ASSIGN_OR_RETURN(record.kind,
                   EnumFromStored(stored.kind(), JobKind::kMeasure));
  TAKE_FIELDS(stored, record, WAVETUNE_REQUEST_FIELDS);
  TAKE_FIELDS(stored, record.options, WAVETUNE_JOB_OPTIONS);
  record.key = KeyFromStored(stored.key());
  for (const v1::StoredUsedProblem& used : stored.used_problems()) {
    ASSIGN_OR_RETURN(HeavyHitters::Entry entry, UsedProblemFromStored(used));
    record.used_problems.push_back({std::move(entry.problem), entry.weight});
  }
  std::vector<WeightedProblem> declared;
  for (const v1::StoredUsedProblem& one : stored.workload_problems()) {
    ASSIGN_OR_RETURN(HeavyHitters::Entry entry, UsedProblemFromStored(one));
    declared.push_back({std::move(entry.problem), entry.weight});
    for (const v1::StoredRival& file : one.rivals()) {
      ASSIGN_OR_RETURN(const Configuration configuration,
                       ConfigurationFromStored(file.configuration()));
      declared.back().rivals.push_back(
          {file.name(), configuration, file.device()});
    }
  }
  record.workload_problems = SharedProblems(std::move(declared));
  record.workload_problem_count = stored.workload_problem_count();
  if (stored.has_fleet_demand()) {
    record.fleet_demand = {.nodes = stored.fleet_demand().nodes(),
                           .workloads = stored.fleet_demand().workloads()};
  }
  return absl::OkStatus();
}

#define WAVETUNE_PROGRESS_FIELDS                                         \
  done, total, samples, throttled_samples, device_time_us, seconds_left, \
      message, not_meant_for_device, digest, created_at_us, finished_at_us

// Sets where a job stands.
void AddProgress(const JobRecord& record, v1::StoredJob& stored) {
  stored.set_state(EnumToStored(record.state));
  stored.set_phase(EnumToStored(record.phase));
  GIVE_FIELDS(record, stored, WAVETUNE_PROGRESS_FIELDS);
  stored.mutable_device_uuids()->Assign(record.device_uuids.begin(),
                                        record.device_uuids.end());
  stored.mutable_notes()->Assign(record.notes.begin(), record.notes.end());
  for (const CandidateRecord& candidate : record.excluded) {
    *stored.add_excluded() = CandidateToStored(candidate);
  }
  stored.set_regrets(record.regret_before >= 0 || record.regret_after >= 0);
  if (stored.regrets()) {
    stored.set_regret_before(record.regret_before);
    stored.set_regret_after(record.regret_after);
  }
  if (record.drift) *stored.mutable_drift() = DriftToStored(*record.drift);
}

absl::Status ReadProgress(const v1::StoredJob& stored, JobRecord& record) {
  ASSIGN_OR_RETURN(record.state,
                   EnumFromStored(stored.state(), JobState::kCancelled));
  ASSIGN_OR_RETURN(record.phase,
                   EnumFromStored(stored.phase(), JobPhase::kDriftProbe));
  TAKE_FIELDS(stored, record, WAVETUNE_PROGRESS_FIELDS);
  record.device_uuids.assign(stored.device_uuids().begin(),
                             stored.device_uuids().end());
  record.notes.assign(stored.notes().begin(), stored.notes().end());
  for (const v1::StoredCandidate& excluded : stored.excluded()) {
    ASSIGN_OR_RETURN(CandidateRecord candidate, CandidateFromStored(excluded));
    record.excluded.push_back(std::move(candidate));
  }
  if (stored.regrets()) {
    record.regret_before = stored.regret_before();
    record.regret_after = stored.regret_after();
  }
  if (stored.has_drift()) record.drift = DriftFromStored(stored.drift());
  return absl::OkStatus();
}

}  // namespace

std::string EncodeStoredDevice(const DeviceRecord& record) {
  v1::StoredDevice stored;
  stored.set_format(kStoredFormat);
  GiveFacts(record.facts, stored);
  stored.set_last_seen_us(record.last_seen_us);
  return stored.SerializeAsString();
}

absl::StatusOr<DeviceRecord> DecodeStoredDevice(absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredDevice stored,
                   ParseStored<v1::StoredDevice>(bytes));
  DeviceRecord record;
  TakeFacts(stored, record.facts);
  record.last_seen_us = stored.last_seen_us();
  return record;
}

std::string EncodeStoredSample(const SampleRecord& record) {
  const Sample& sample = record.sample;
  v1::StoredSample stored;
  stored.set_format(kStoredFormat);
  for (int64_t value : sample.configuration.values()) {
    stored.add_configuration(value);
  }
  SetStoredProblem(sample.problem, stored);
  GiveMeasured(sample, stored);
  GIVE_FIELDS(record, stored, device_uuid, measured_at_us, job_id);
  return stored.SerializeAsString();
}

absl::StatusOr<SampleRecord> DecodeStoredSample(absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredSample stored,
                   ParseStored<v1::StoredSample>(bytes));
  SampleRecord record;
  Sample& sample = record.sample;
  ASSIGN_OR_RETURN(sample.configuration,
                   ConfigurationFromStored(stored.configuration()));
  sample.problem = ProblemFromStored(stored);
  if (!std::isfinite(stored.latency_us()) || !std::isfinite(stored.min_us())) {
    return absl::DataLossError("StoredSample has no finite latency");
  }
  TakeMeasured(stored, sample);
  TAKE_FIELDS(stored, record, device_uuid, measured_at_us, job_id);
  return record;
}

std::string EncodeStoredCandidate(const CandidateRecord& record) {
  return CandidateToStored(record).SerializeAsString();
}

absl::StatusOr<CandidateRecord> DecodeStoredCandidate(absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredCandidate stored,
                   ParseStored<v1::StoredCandidate>(bytes));
  return CandidateFromStored(stored);
}

std::string EncodeStoredGeneration(const GenerationRecord& record) {
  v1::StoredGeneration stored;
  stored.set_format(kStoredFormat);
  GIVE_FIELDS(record, stored, samples, size_bytes, next_sequence);
  return stored.SerializeAsString();
}

absl::StatusOr<GenerationRecord> DecodeStoredGeneration(
    absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredGeneration stored,
                   ParseStored<v1::StoredGeneration>(bytes));
  GenerationRecord record;
  TAKE_FIELDS(stored, record, samples, size_bytes, next_sequence);
  return record;
}

std::string EncodeStoredTableRecord(const TableRecord& record) {
  return TableRecordToStored(record).SerializeAsString();
}

absl::StatusOr<TableRecord> DecodeStoredTableRecord(absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredTableRecord stored,
                   ParseStored<v1::StoredTableRecord>(bytes));
  return TableRecordFromStored(stored);
}

std::string EncodeStoredPin(const PinRecord& record) {
  v1::StoredPin stored;
  stored.set_format(kStoredFormat);
  GIVE_FIELDS(record, stored, kernel, silicon_key, digest, by, why, at_us);
  return stored.SerializeAsString();
}

absl::StatusOr<PinRecord> DecodeStoredPin(absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredPin stored, ParseStored<v1::StoredPin>(bytes));
  PinRecord record;
  TAKE_FIELDS(stored, record, kernel, silicon_key, digest, by, why, at_us);
  return record;
}

std::string EncodeStoredRejected(const RejectedTable& table) {
  v1::StoredRejected stored;
  stored.set_format(kStoredFormat);
  *stored.mutable_record() = TableRecordToStored(table.record);
  stored.set_reason(table.reason);
  stored.set_at_us(table.at_us);
  for (const RejectedPoint& point : table.points) {
    v1::StoredRejectedPoint* const entry = stored.add_points();
    *entry->mutable_problem() =
        UsedProblemToStored({.problem = point.problem, .weight = point.weight});
    GIVE_FIELDS(point, *entry, chosen_us, incumbent_us, default_us);
  }
  return stored.SerializeAsString();
}

absl::StatusOr<RejectedTable> DecodeStoredRejected(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const v1::StoredRejected stored,
                   ParseStored<v1::StoredRejected>(bytes));
  RejectedTable table{.record = TableRecordFromStored(stored.record()),
                      .reason = stored.reason(),
                      .at_us = stored.at_us()};
  for (const v1::StoredRejectedPoint& point : stored.points()) {
    ASSIGN_OR_RETURN(HeavyHitters::Entry entry,
                     UsedProblemFromStored(point.problem()));
    RejectedPoint& added = table.points.emplace_back();
    added.problem = std::move(entry.problem);
    added.weight = entry.weight;
    TAKE_FIELDS(point, added, chosen_us, incumbent_us, default_us);
  }
  return table;
}

std::string EncodeStoredTable(const TableRecord& record,
                              absl::string_view payload) {
  v1::StoredTable stored;
  stored.set_format(kStoredFormat);
  *stored.mutable_record() = TableRecordToStored(record);
  stored.set_payload(payload.data(), payload.size());
  return stored.SerializeAsString();
}

absl::StatusOr<StoredPayload> DecodeStoredTable(absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredTable stored, ParseStored<v1::StoredTable>(bytes));
  StoredPayload table = {.record = TableRecordFromStored(stored.record()),
                         .payload = std::move(*stored.mutable_payload())};
  const std::string digest = Sha256Hex(table.payload);
  if (digest != table.record.digest) {
    return absl::DataLossError(
        absl::StrCat("the payload's digest is ", digest, ", not ",
                     absl::CHexEscape(table.record.digest)));
  }
  return table;
}

std::string EncodeStoredJob(const JobRecord& record) {
  v1::StoredJob stored;
  stored.set_format(kStoredFormat);
  stored.set_id(record.id);
  AddRequest(record, stored);
  AddProgress(record, stored);
  return stored.SerializeAsString();
}

absl::StatusOr<JobRecord> DecodeStoredJob(absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredJob stored, ParseStored<v1::StoredJob>(bytes));
  JobRecord record;
  record.id = stored.id();
  RETURN_IF_ERROR(ReadRequest(stored, record));
  RETURN_IF_ERROR(ReadProgress(stored, record));
  return record;
}

}  // namespace wavetune
