#include "formats/types.h"

#include <limits>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "formats/measured_fields.h"

namespace wavetune {
namespace {

void AppendValues(const std::vector<std::string>& parameters,
                  const Configuration& configuration,
                  google::protobuf::RepeatedPtrField<v1::ParameterValue>* out) {
  for (int i = 0;
       i < configuration.size() && i < static_cast<int>(parameters.size());
       ++i) {
    v1::ParameterValue* value = out->Add();
    value->set_name(parameters[static_cast<size_t>(i)]);
    value->set_value(configuration[i]);
  }
}

std::string DecisionReason(const Decision& decision,
                           const std::string& stale_reason) {
  switch (decision.source) {
    case DecisionSource::kDefault:
      return std::string(ToString(decision.reason));
    case DecisionSource::kStale:
      return absl::StrCat("the table is stale: ",
                          stale_reason.empty()
                              ? "it was measured under another environment, or "
                                "for another version of the kernel"
                              : stale_reason,
                          "; reprofile this device");
    default:
      return "";
  }
}

}  // namespace

absl::StatusOr<Problem> ProblemFromProto(
    const std::vector<Dimension>& dimensions, const v1::Problem& proto) {
  std::map<std::string, const v1::Problem::Extents*> given;
  std::vector<std::string> faults;
  for (const v1::Problem::Extents& extents : proto.extents()) {
    if (!given.emplace(extents.dimension(), &extents).second) {
      faults.push_back(absl::StrCat("dimension \"", extents.dimension(),
                                    "\" is given twice"));
    }
  }
  Problem problem;
  problem.specialisation = proto.specialisation();
  std::vector<std::string> names;
  for (const Dimension& dimension : dimensions) {
    names.push_back(dimension.name);
    problem.extents.push_back(0);
    auto it = given.find(dimension.name);
    if (it == given.end()) {
      faults.push_back(
          absl::StrCat("dimension \"", dimension.name, "\" is missing"));
      continue;
    }
    const auto& values = it->second->values();
    given.erase(it);
    if (dimension.repeated) {
      if (values.empty())
        faults.push_back(absl::StrCat("dimension \"", dimension.name,
                                      "\" needs a list of extents"));
      problem.repeated.assign(values.begin(), values.end());
    } else if (values.size() != 1) {
      faults.push_back(absl::StrCat("dimension \"", dimension.name,
                                    "\" takes one extent, not ",
                                    values.size()));
    } else {
      problem.extents.back() = values[0];
    }
  }
  for (const auto& [name, extents] : given)
    faults.push_back(absl::StrCat("unknown dimension \"", name, "\""));
  if (!faults.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "problem: ", absl::StrJoin(faults, "; "),
        ". The kernel's dimensions are: ", absl::StrJoin(names, ", ")));
  }
  return problem;
}

v1::Problem ProblemToProto(const std::vector<Dimension>& dimensions,
                           const Problem& problem) {
  v1::Problem proto;
  proto.set_specialisation(problem.specialisation);
  for (size_t i = 0; i < dimensions.size() && i < problem.extents.size(); ++i) {
    v1::Problem::Extents* extents = proto.add_extents();
    extents->set_dimension(dimensions[i].name);
    if (dimensions[i].repeated) {
      extents->mutable_values()->Add(problem.repeated.begin(),
                                     problem.repeated.end());
    } else {
      extents->add_values(problem.extents[i]);
    }
  }
  return proto;
}

absl::StatusOr<Configuration> ConfigurationFromProto(
    int parameter_count, const v1::Configuration& proto) {
  if (proto.values_size() != parameter_count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "configuration has ", proto.values_size(), " values; the kernel has ",
        parameter_count, " parameters"));
  }
  return Configuration(absl::MakeConstSpan(
      proto.values().data(), static_cast<size_t>(proto.values_size())));
}

v1::Configuration ConfigurationToProto(const Configuration& configuration) {
  v1::Configuration proto;
  proto.mutable_values()->Add(configuration.values().begin(),
                              configuration.values().end());
  return proto;
}

DeviceFacts DeviceFactsFromProto(const v1::DeviceFacts& proto) {
  DeviceFacts facts;
  facts.uuid = proto.uuid();
  facts.label = proto.label();
  facts.backend = proto.backend();
  facts.architecture = proto.architecture();
  facts.multiprocessors =
      proto.multiprocessors() < 1 ? 1 : proto.multiprocessors();
  facts.memory_bytes = proto.memory_bytes();
  facts.partition = proto.partition();
  facts.driver = proto.driver();
  facts.runtime = proto.runtime();
  facts.power_limit_w = proto.power_limit_w();
  facts.compiler = proto.compiler();
  facts.last_level_cache_bytes = proto.last_level_cache_bytes();
  facts.max_group_size = proto.max_group_size();
  facts.max_shared_memory_bytes = proto.max_shared_memory_bytes();
  facts.triton = proto.triton();
  facts.python = proto.python();
  return facts;
}

v1::DeviceFacts DeviceFactsToProto(const DeviceFacts& facts) {
  v1::DeviceFacts proto;
  proto.set_uuid(facts.uuid);
  proto.set_label(facts.label);
  proto.set_backend(facts.backend);
  proto.set_architecture(facts.architecture);
  proto.set_multiprocessors(facts.multiprocessors);
  proto.set_memory_bytes(facts.memory_bytes);
  proto.set_partition(facts.partition);
  proto.set_driver(facts.driver);
  proto.set_runtime(facts.runtime);
  proto.set_power_limit_w(facts.power_limit_w);
  proto.set_compiler(facts.compiler);
  proto.set_last_level_cache_bytes(facts.last_level_cache_bytes);
  proto.set_max_group_size(facts.max_group_size);
  proto.set_max_shared_memory_bytes(facts.max_shared_memory_bytes);
  proto.set_triton(facts.triton);
  proto.set_python(facts.python);
  return proto;
}

DeviceState DeviceStateFromProto(const v1::DeviceState& proto) {
  DeviceState state;
  state.looked_at_us = proto.looked_at_us();
  state.sm_clock_mhz = proto.sm_clock_mhz();
  state.throttle_reasons = proto.throttle_reasons();
  if (proto.has_utilisation_percent()) {
    state.utilisation_percent = proto.utilisation_percent();
  }
  if (proto.has_other_processes()) {
    state.other_processes = proto.other_processes();
  }
  state.memory_used_bytes = proto.memory_used_bytes();
  state.memory_total_bytes = proto.memory_total_bytes();
  state.own_workers = proto.own_workers();
  state.power_limit_w = proto.power_limit_w();
  state.busy = proto.busy();
  state.temperature_c = proto.temperature_c();
  return state;
}

v1::DeviceState DeviceStateToProto(const DeviceState& state) {
  v1::DeviceState proto;
  proto.set_looked_at_us(state.looked_at_us);
  proto.set_sm_clock_mhz(state.sm_clock_mhz);
  proto.set_throttle_reasons(state.throttle_reasons);
  if (state.utilisation_percent.has_value()) {
    proto.set_utilisation_percent(*state.utilisation_percent);
  }
  if (state.other_processes.has_value()) {
    proto.set_other_processes(*state.other_processes);
  }
  proto.set_memory_used_bytes(state.memory_used_bytes);
  proto.set_memory_total_bytes(state.memory_total_bytes);
  proto.set_own_workers(state.own_workers);
  proto.set_power_limit_w(state.power_limit_w);
  proto.set_busy(state.busy);
  proto.set_temperature_c(state.temperature_c);
  return proto;
}

Candidate CandidateFromProto(const Configuration& configuration,
                             const v1::CandidateFacts& proto) {
  Candidate candidate;
  candidate.configuration = configuration;
  candidate.tiles_per_wave =
      proto.tiles_per_wave() < 1 ? 1 : proto.tiles_per_wave();
  candidate.blocks_per_multiprocessor = proto.blocks_per_multiprocessor() < 1
                                            ? 1
                                            : proto.blocks_per_multiprocessor();
  candidate.registers = proto.registers();
  candidate.shared_memory_bytes = proto.shared_memory_bytes();
  return candidate;
}

v1::CandidateFacts CandidateFactsToProto(const Candidate& candidate) {
  v1::CandidateFacts proto;
  proto.set_tiles_per_wave(candidate.tiles_per_wave);
  proto.set_blocks_per_multiprocessor(candidate.blocks_per_multiprocessor);
  proto.set_registers(candidate.registers);
  proto.set_shared_memory_bytes(candidate.shared_memory_bytes);
  return proto;
}

absl::StatusOr<Sample> SampleFromProto(const std::vector<Dimension>& dimensions,
                                       int parameter_count,
                                       const v1::Sample& proto) {
  absl::StatusOr<Configuration> configuration =
      ConfigurationFromProto(parameter_count, proto.configuration());
  if (!configuration.ok()) return configuration.status();
  absl::StatusOr<Problem> problem =
      ProblemFromProto(dimensions, proto.problem());
  if (!problem.ok()) return problem.status();
  Sample sample;
  sample.configuration = *configuration;
  sample.problem = *std::move(problem);
  TakeMeasured(proto, sample);
  return sample;
}

v1::Sample SampleToProto(const std::vector<Dimension>& dimensions,
                         const Sample& sample) {
  v1::Sample proto;
  *proto.mutable_configuration() = ConfigurationToProto(sample.configuration);
  *proto.mutable_problem() = ProblemToProto(dimensions, sample.problem);
  GiveMeasured(sample, proto);
  return proto;
}

v1::Decision DecisionToProto(const std::vector<std::string>& parameters,
                             const Decision& decision,
                             const std::string& stale_reason) {
  static_assert(static_cast<int>(DecisionSource::kFitted) == v1::FITTED);
  static_assert(static_cast<int>(DecisionSource::kExtrapolated) ==
                v1::EXTRAPOLATED);
  static_assert(static_cast<int>(DecisionSource::kStale) == v1::STALE);
  static_assert(static_cast<int>(DecisionSource::kDefault) == v1::DEFAULT);
  v1::Decision proto;
  AppendValues(parameters, decision.configuration,
               proto.mutable_configuration());
  proto.set_latency_us(decision.latency_us);
  proto.set_relative_bound(decision.relative_bound);
  proto.set_source(static_cast<v1::DecisionSource>(decision.source));
  if (decision.digest_prefix != 0)
    proto.set_digest_prefix(absl::StrFormat("%016x", decision.digest_prefix));
  proto.set_reason(DecisionReason(decision, stale_reason));
  return proto;
}

v1::ExplainedGroup ExplainedGroupToProto(
    const std::vector<std::string>& parameters, const ExplainedGroup& row) {
  v1::ExplainedGroup proto;
  AppendValues(parameters, row.configuration, proto.mutable_configuration());
  proto.set_tiles(row.coordinates.tiles);
  proto.set_iterations(row.coordinates.iterations);
  proto.set_waves(row.waves);
  proto.set_tiles_per_wave(row.tiles_per_wave);
  std::string regime =
      row.row_regime.max_rows == std::numeric_limits<int64_t>::max()
          ? "any rows"
          : absl::StrCat("rows<=", row.row_regime.max_rows);
  if (row.row_regime.max_fill < 1)
    absl::StrAppend(&regime, " fill<=", row.row_regime.max_fill);
  proto.set_row_regime(regime);
  proto.set_latency_us(row.latency_us);
  proto.set_relative_bound(row.relative_bound);
  proto.set_legal(row.legal);
  proto.set_chosen(row.chosen);
  proto.set_extrapolated(row.extrapolated);
  if (!row.legal)
    proto.set_reason("a problem predicate of the manifest excludes it here");
  return proto;
}

}  // namespace wavetune
