// Problems, configurations, devices, candidates, samples, decisions: wire <->
// model. Functions without StatusOr cannot fail.
#ifndef WAVETUNE_FORMATS_TYPES_H_
#define WAVETUNE_FORMATS_TYPES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/decide/compiled_table.h"
#include "model/kernel/device.h"
#include "model/kernel/sample.h"
#include "proto/wavetune/v1/decision_service.pb.h"
#include "proto/wavetune/v1/types.pb.h"
#include "wavetune/configuration.h"
#include "wavetune/decision.h"
#include "wavetune/dimension.h"
#include "wavetune/problem.h"

namespace wavetune {

// By name, any order. Errors: INVALID_ARGUMENT naming every missing, unknown,
// repeated-twice or wrongly shaped dimension, with what the kernel has. Ranges
// are not checked (CheckProblem does). `dimensions` are a spec's or a table's.
absl::StatusOr<Problem> ProblemFromProto(
    const std::vector<Dimension>& dimensions, const v1::Problem& proto);
v1::Problem ProblemToProto(const std::vector<Dimension>& dimensions,
                           const Problem& problem);

// Errors: INVALID_ARGUMENT when the number of values is not `parameter_count`.
absl::StatusOr<Configuration> ConfigurationFromProto(
    int parameter_count, const v1::Configuration& proto);
v1::Configuration ConfigurationToProto(const Configuration& configuration);

DeviceFacts DeviceFactsFromProto(const v1::DeviceFacts& proto);
v1::DeviceFacts DeviceFactsToProto(const DeviceFacts& facts);

DeviceState DeviceStateFromProto(const v1::DeviceState& proto);
v1::DeviceState DeviceStateToProto(const DeviceState& state);

Candidate CandidateFromProto(const Configuration& configuration,
                             const v1::CandidateFacts& proto);
v1::CandidateFacts CandidateFactsToProto(const Candidate& candidate);

// Errors: as ProblemFromProto and ConfigurationFromProto. device_uuid and
// measured_at_us are not part of the model's Sample.
absl::StatusOr<Sample> SampleFromProto(const std::vector<Dimension>& dimensions,
                                       int parameter_count,
                                       const v1::Sample& proto);
v1::Sample SampleToProto(const std::vector<Dimension>& dimensions,
                         const Sample& sample);

// `parameters`: names in order. `reason` is filled for kDefault and kStale;
// `stale_reason` says what differs there.
v1::Decision DecisionToProto(const std::vector<std::string>& parameters,
                             const Decision& decision,
                             const std::string& stale_reason = "");
v1::ExplainedGroup ExplainedGroupToProto(
    const std::vector<std::string>& parameters, const ExplainedGroup& row);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_TYPES_H_
