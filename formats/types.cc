#include "formats/types.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/copy_fields.h"
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
  TakeFacts(proto, facts);
  facts.multiprocessors = std::max(facts.multiprocessors, 1);
  return facts;
}

v1::DeviceFacts DeviceFactsToProto(const DeviceFacts& facts) {
  v1::DeviceFacts proto;
  GiveFacts(facts, proto);
  return proto;
}

DeviceState DeviceStateFromProto(const v1::DeviceState& proto) {
  DeviceState state;
  TAKE_FIELDS(proto, state, looked_at_us, sm_clock_mhz, throttle_reasons,
              memory_used_bytes, memory_total_bytes, own_workers, power_limit_w,
              busy, temperature_c);
  if (proto.has_utilisation_percent()) {
    state.utilisation_percent = proto.utilisation_percent();
  }
  if (proto.has_other_processes()) {
    state.other_processes = proto.other_processes();
  }
  return state;
}

v1::DeviceState DeviceStateToProto(const DeviceState& state) {
  v1::DeviceState proto;
  GIVE_FIELDS(state, proto, looked_at_us, sm_clock_mhz, throttle_reasons,
              memory_used_bytes, memory_total_bytes, own_workers, power_limit_w,
              busy, temperature_c);
  if (state.utilisation_percent.has_value()) {
    proto.set_utilisation_percent(*state.utilisation_percent);
  }
  if (state.other_processes.has_value()) {
    proto.set_other_processes(*state.other_processes);
  }
  return proto;
}

Candidate CandidateFromProto(const Configuration& configuration,
                             const v1::CandidateFacts& proto) {
  Candidate candidate;
  candidate.configuration = configuration;
  TAKE_FIELDS(proto, candidate, tiles_per_wave, blocks_per_multiprocessor,
              registers, shared_memory_bytes);
  candidate.tiles_per_wave = std::max<int64_t>(candidate.tiles_per_wave, 1);
  candidate.blocks_per_multiprocessor =
      std::max(candidate.blocks_per_multiprocessor, 1);
  return candidate;
}

v1::CandidateFacts CandidateFactsToProto(const Candidate& candidate) {
  v1::CandidateFacts proto;
  GIVE_FIELDS(candidate, proto, tiles_per_wave, blocks_per_multiprocessor,
              registers, shared_memory_bytes);
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
  GIVE_FIELDS(row, proto, latency_us, relative_bound, legal, chosen,
              extrapolated);
  if (!row.legal)
    proto.set_reason("a problem predicate of the manifest excludes it here");
  return proto;
}

}  // namespace wavetune
