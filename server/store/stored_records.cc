#include "server/store/stored_records.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
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

v1::StoredDrift DriftToStored(const DriftReport& report) {
  v1::StoredDrift stored;
  stored.set_from_environment(report.from_environment);
  stored.set_to_environment(report.to_environment);
  stored.set_digest(report.digest);
  stored.set_samples(report.samples);
  stored.set_seconds(report.seconds);
  for (const DriftRegime& regime : report.regimes) {
    v1::StoredDriftRegime* const entry = stored.add_regimes();
    entry->set_specialisation(regime.specialisation);
    entry->set_name(regime.name);
    entry->set_pairs(regime.pairs);
    entry->set_median_ratio(regime.median_ratio);
    entry->set_worst_ratio(regime.worst_ratio);
    entry->set_drifted(regime.drifted);
  }
  stored.set_action(static_cast<int32_t>(report.action));
  stored.set_reason(report.reason);
  return stored;
}

// An action of a later daemon is kUndecided.
DriftReport DriftFromStored(const v1::StoredDrift& stored) {
  DriftReport report{.from_environment = stored.from_environment(),
                     .to_environment = stored.to_environment(),
                     .digest = stored.digest(),
                     .samples = stored.samples(),
                     .seconds = stored.seconds()};
  for (const v1::StoredDriftRegime& entry : stored.regimes()) {
    report.regimes.push_back({.specialisation = entry.specialisation(),
                              .name = entry.name(),
                              .pairs = entry.pairs(),
                              .median_ratio = entry.median_ratio(),
                              .worst_ratio = entry.worst_ratio(),
                              .drifted = entry.drifted()});
  }
  report.action = ActionFromStored(stored.action());
  report.reason = stored.reason();
  return report;
}

v1::StoredProfileKey KeyToStored(const ProfileKey& key) {
  v1::StoredProfileKey stored;
  stored.set_kernel(key.kernel);
  stored.set_fingerprint(key.fingerprint);
  stored.set_silicon_key(key.silicon_key);
  stored.set_environment_key(key.environment_key);
  return stored;
}

ProfileKey KeyFromStored(const v1::StoredProfileKey& stored) {
  return {.kernel = stored.kernel(),
          .fingerprint = stored.fingerprint(),
          .silicon_key = stored.silicon_key(),
          .environment_key = stored.environment_key()};
}

v1::StoredCandidate CandidateToStored(const CandidateRecord& record) {
  const Candidate& candidate = record.candidate;
  v1::StoredCandidate stored;
  stored.set_format(kStoredFormat);
  stored.set_specialisation(record.specialisation);
  for (int64_t value : candidate.configuration.values()) {
    stored.add_configuration(value);
  }
  stored.set_tiles_per_wave(candidate.tiles_per_wave);
  stored.set_blocks_per_multiprocessor(candidate.blocks_per_multiprocessor);
  stored.set_registers(candidate.registers);
  stored.set_shared_memory_bytes(candidate.shared_memory_bytes);
  stored.set_excluded_reason(candidate.excluded_reason);
  stored.set_rechecks(record.rechecks);
  return stored;
}

absl::StatusOr<CandidateRecord> CandidateFromStored(
    const v1::StoredCandidate& stored) {
  CandidateRecord record;
  record.specialisation = stored.specialisation();
  ASSIGN_OR_RETURN(record.candidate.configuration,
                   ConfigurationFromStored(stored.configuration()));
  record.candidate.tiles_per_wave = stored.tiles_per_wave();
  record.candidate.blocks_per_multiprocessor =
      stored.blocks_per_multiprocessor();
  record.candidate.registers = stored.registers();
  record.candidate.shared_memory_bytes = stored.shared_memory_bytes();
  record.candidate.excluded_reason = stored.excluded_reason();
  record.rechecks = stored.rechecks();
  return record;
}

v1::StoredTableRecord TableRecordToStored(const TableRecord& record) {
  v1::StoredTableRecord stored;
  stored.set_format(kStoredFormat);
  *stored.mutable_key() = KeyToStored(record.key);
  stored.set_digest(record.digest);
  stored.set_epoch(record.epoch);
  stored.set_revision(record.revision);
  stored.set_promoted_at_us(record.promoted_at_us);
  stored.set_size_bytes(record.size_bytes);
  stored.set_portfolio_size(record.portfolio_size);
  stored.set_device_label(record.device_label);
  stored.set_device_uuid(record.device_uuid);
  stored.set_withdrawn(record.withdrawn);
  stored.mutable_notes()->Assign(record.notes.begin(), record.notes.end());
  stored.set_compiler(record.compiler);
  stored.set_how(static_cast<int32_t>(record.how));
  stored.set_job_id(record.job_id);
  stored.set_by(record.by);
  stored.set_why(record.why);
  stored.set_carried_from(record.carried_from);
  stored.set_unverified(record.unverified);
  stored.set_fit_residual(record.fit_residual);
  return stored;
}

// A later daemon's may be one that this one does not know.
PromotionKind OriginFromStored(int32_t how) {
  constexpr auto kLast = static_cast<int32_t>(PromotionKind::kTrial);
  return how >= 0 && how <= kLast ? static_cast<PromotionKind>(how)
                                  : PromotionKind::kNotRecorded;
}

TableRecord TableRecordFromStored(const v1::StoredTableRecord& stored) {
  return {.key = KeyFromStored(stored.key()),
          .digest = stored.digest(),
          .epoch = stored.epoch(),
          .revision = stored.revision(),
          .promoted_at_us = stored.promoted_at_us(),
          .size_bytes = stored.size_bytes(),
          .portfolio_size = stored.portfolio_size(),
          .device_label = stored.device_label(),
          .device_uuid = stored.device_uuid(),
          .withdrawn = stored.withdrawn(),
          .notes = {stored.notes().begin(), stored.notes().end()},
          .compiler = stored.compiler(),
          .how = OriginFromStored(stored.how()),
          .job_id = stored.job_id(),
          .by = stored.by(),
          .why = stored.why(),
          .carried_from = stored.carried_from(),
          .unverified = stored.unverified(),
          .fit_residual = stored.fit_residual()};
}

// Sets what a job was asked to do.
void AddRequest(const JobRecord& record, v1::StoredJob& stored) {
  stored.set_kind(EnumToStored(record.kind));
  stored.set_kernel(record.kernel);
  stored.set_device_uuid(record.device_uuid);
  stored.set_whole_class(record.whole_class);
  stored.set_priority(record.priority);
  stored.set_reason(record.reason);
  stored.set_by(record.by);
#define WAVETUNE_GIVE(field) stored.set_##field(record.options.field);
  WAVETUNE_REQUESTED_OPTIONS(WAVETUNE_GIVE)
#undef WAVETUNE_GIVE
  *stored.mutable_key() = KeyToStored(record.key);
  stored.set_generation(record.generation);
  stored.set_top_up(record.options.top_up);
  stored.set_drift_probe(record.options.drift_probe);
  stored.set_against_digest(record.options.against_digest);
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
  record.kernel = stored.kernel();
  record.device_uuid = stored.device_uuid();
  record.whole_class = stored.whole_class();
  record.priority = stored.priority();
  record.reason = stored.reason();
  record.by = stored.by();
  TakeRequested(stored, record.options);
  record.key = KeyFromStored(stored.key());
  record.generation = stored.generation();
  record.options.top_up = stored.top_up();
  record.options.drift_probe = stored.drift_probe();
  record.options.against_digest = stored.against_digest();
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

// Sets where a job stands.
void AddProgress(const JobRecord& record, v1::StoredJob& stored) {
  stored.set_state(EnumToStored(record.state));
  stored.set_phase(EnumToStored(record.phase));
  stored.set_done(record.done);
  stored.set_total(record.total);
  stored.set_samples(record.samples);
  stored.set_throttled_samples(record.throttled_samples);
  stored.set_device_time_us(record.device_time_us);
  stored.set_seconds_left(record.seconds_left);
  stored.mutable_device_uuids()->Assign(record.device_uuids.begin(),
                                        record.device_uuids.end());
  stored.set_message(record.message);
  stored.mutable_notes()->Assign(record.notes.begin(), record.notes.end());
  for (const CandidateRecord& candidate : record.excluded) {
    *stored.add_excluded() = CandidateToStored(candidate);
  }
  stored.set_not_meant_for_device(record.not_meant_for_device);
  stored.set_digest(record.digest);
  stored.set_regrets(record.regret_before >= 0 || record.regret_after >= 0);
  if (stored.regrets()) {
    stored.set_regret_before(record.regret_before);
    stored.set_regret_after(record.regret_after);
  }
  if (record.drift) *stored.mutable_drift() = DriftToStored(*record.drift);
  stored.set_created_at_us(record.created_at_us);
  stored.set_finished_at_us(record.finished_at_us);
}

absl::Status ReadProgress(const v1::StoredJob& stored, JobRecord& record) {
  ASSIGN_OR_RETURN(record.state,
                   EnumFromStored(stored.state(), JobState::kCancelled));
  ASSIGN_OR_RETURN(record.phase,
                   EnumFromStored(stored.phase(), JobPhase::kDriftProbe));
  record.done = stored.done();
  record.total = stored.total();
  record.samples = stored.samples();
  record.throttled_samples = stored.throttled_samples();
  record.device_time_us = stored.device_time_us();
  record.seconds_left = stored.seconds_left();
  record.device_uuids.assign(stored.device_uuids().begin(),
                             stored.device_uuids().end());
  record.message = stored.message();
  record.notes.assign(stored.notes().begin(), stored.notes().end());
  for (const v1::StoredCandidate& excluded : stored.excluded()) {
    ASSIGN_OR_RETURN(CandidateRecord candidate, CandidateFromStored(excluded));
    record.excluded.push_back(std::move(candidate));
  }
  record.not_meant_for_device = stored.not_meant_for_device();
  record.digest = stored.digest();
  if (stored.regrets()) {
    record.regret_before = stored.regret_before();
    record.regret_after = stored.regret_after();
  }
  if (stored.has_drift()) record.drift = DriftFromStored(stored.drift());
  record.created_at_us = stored.created_at_us();
  record.finished_at_us = stored.finished_at_us();
  return absl::OkStatus();
}

}  // namespace

std::string EncodeStoredDevice(const DeviceRecord& record) {
  const DeviceFacts& facts = record.facts;
  v1::StoredDevice stored;
  stored.set_format(kStoredFormat);
  stored.set_uuid(facts.uuid);
  stored.set_label(facts.label);
  stored.set_backend(facts.backend);
  stored.set_architecture(facts.architecture);
  stored.set_multiprocessors(facts.multiprocessors);
  stored.set_memory_bytes(facts.memory_bytes);
  stored.set_partition(facts.partition);
  stored.set_driver(facts.driver);
  stored.set_runtime(facts.runtime);
  stored.set_power_limit_w(facts.power_limit_w);
  stored.set_compiler(facts.compiler);
  stored.set_last_level_cache_bytes(facts.last_level_cache_bytes);
  stored.set_max_group_size(facts.max_group_size);
  stored.set_max_shared_memory_bytes(facts.max_shared_memory_bytes);
  stored.set_triton(facts.triton);
  stored.set_python(facts.python);
  stored.set_last_seen_us(record.last_seen_us);
  return stored.SerializeAsString();
}

absl::StatusOr<DeviceRecord> DecodeStoredDevice(absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredDevice stored,
                   ParseStored<v1::StoredDevice>(bytes));
  DeviceRecord record;
  record.facts = {.uuid = stored.uuid(),
                  .label = stored.label(),
                  .backend = stored.backend(),
                  .architecture = stored.architecture(),
                  .multiprocessors = stored.multiprocessors(),
                  .memory_bytes = stored.memory_bytes(),
                  .partition = stored.partition(),
                  .driver = stored.driver(),
                  .runtime = stored.runtime(),
                  .power_limit_w = stored.power_limit_w(),
                  .compiler = stored.compiler(),
                  .last_level_cache_bytes = stored.last_level_cache_bytes(),
                  .max_group_size = stored.max_group_size(),
                  .max_shared_memory_bytes = stored.max_shared_memory_bytes(),
                  .triton = stored.triton(),
                  .python = stored.python()};
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
  stored.set_device_uuid(record.device_uuid);
  stored.set_measured_at_us(record.measured_at_us);
  stored.set_job_id(record.job_id);
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
  record.device_uuid = stored.device_uuid();
  record.measured_at_us = stored.measured_at_us();
  record.job_id = stored.job_id();
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
  stored.set_samples(record.samples);
  stored.set_size_bytes(record.size_bytes);
  stored.set_next_sequence(record.next_sequence);
  return stored.SerializeAsString();
}

absl::StatusOr<GenerationRecord> DecodeStoredGeneration(
    absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredGeneration stored,
                   ParseStored<v1::StoredGeneration>(bytes));
  return GenerationRecord{.samples = stored.samples(),
                          .size_bytes = stored.size_bytes(),
                          .next_sequence = stored.next_sequence()};
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
  stored.set_kernel(record.kernel);
  stored.set_silicon_key(record.silicon_key);
  stored.set_digest(record.digest);
  stored.set_by(record.by);
  stored.set_why(record.why);
  stored.set_at_us(record.at_us);
  return stored.SerializeAsString();
}

absl::StatusOr<PinRecord> DecodeStoredPin(absl::string_view bytes) {
  ASSIGN_OR_RETURN(v1::StoredPin stored, ParseStored<v1::StoredPin>(bytes));
  return PinRecord{.kernel = stored.kernel(),
                   .silicon_key = stored.silicon_key(),
                   .digest = stored.digest(),
                   .by = stored.by(),
                   .why = stored.why(),
                   .at_us = stored.at_us()};
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
    entry->set_chosen_us(point.chosen_us);
    entry->set_incumbent_us(point.incumbent_us);
    entry->set_default_us(point.default_us);
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
    table.points.push_back({.problem = std::move(entry.problem),
                            .weight = entry.weight,
                            .chosen_us = point.chosen_us(),
                            .incumbent_us = point.incumbent_us(),
                            .default_us = point.default_us()});
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
