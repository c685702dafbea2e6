#include "server/fleet/lent_batch.h"

#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "formats/measured_fields.h"
#include "formats/types.h"
#include "model/kernel/kernel_space.h"

namespace wavetune {
namespace {

using IfBusy = MeasurementExecutor::IfBusy;

absl::Status CheckKernel(const TunableKernel& kernel,
                         const v1::KernelSource& wanted) {
  if (wanted.fingerprint() == kernel.files.fingerprint) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("kernel ", kernel.files.name, " is another one there"));
}

absl::StatusOr<Configuration> ReadConfiguration(
    const TunableKernel& kernel, const v1::Configuration& proto) {
  return ConfigurationFromProto(static_cast<int>(kernel.spec.parameters.size()),
                                proto);
}

absl::StatusOr<Problem> ReadProblem(const TunableKernel& kernel,
                                    const v1::Problem& proto) {
  ASSIGN_OR_RETURN(Problem problem,
                   ProblemFromProto(kernel.files.dimensions, proto));
  RETURN_IF_ERROR(CheckProblem(kernel.spec, problem));
  return problem;
}

absl::Status RunPrepare(MeasurementExecutor& executor,
                        const TunableKernel& kernel,
                        const v1::PrepareBatch& batch,
                        CompiledCandidates& compiled,
                        const std::function<bool(v1::AttachRequest)>& report) {
  std::vector<Configuration> configurations;
  std::map<Configuration, int32_t> indices;
  for (const v1::Configuration& proto : batch.configurations()) {
    ASSIGN_OR_RETURN(configurations.emplace_back(),
                     ReadConfiguration(kernel, proto));
    indices.emplace(configurations.back(),
                    static_cast<int32_t>(configurations.size()) - 1);
  }
  std::vector<Problem> problems;
  for (const v1::Problem& proto : batch.correctness_problems()) {
    ASSIGN_OR_RETURN(problems.emplace_back(), ReadProblem(kernel, proto));
  }
  return executor.Prepare(
      kernel.files, batch.specialisation(), configurations, problems,
      IfBusy::kYield, [&](const MeasurementExecutor::Preparation& prepared) {
        const Candidate& candidate = prepared.candidate;
        compiled.emplace(batch.specialisation(), candidate.configuration);
        v1::AttachRequest message;
        v1::CandidateReport* const one = message.mutable_candidate();
        one->set_batch_id(batch.batch_id());
        one->set_index(indices.at(candidate.configuration));
        *one->mutable_facts() = CandidateFactsToProto(candidate);
        one->set_excluded_reason(candidate.excluded_reason);
        one->set_environment(prepared.environment);
        return report(std::move(message));
      });
}

// What other boards compiled is compiled by all of this board's workers, and
// not by the one that measures.
absl::Status Compile(MeasurementExecutor& executor, const TunableKernel& kernel,
                     const std::vector<MeasureItem>& items,
                     CompiledCandidates& compiled,
                     const std::function<bool(v1::AttachRequest)>& report) {
  std::map<std::string, std::vector<Configuration>> missing;
  for (const MeasureItem& item : items) {
    if (item.vendor_baseline.empty() &&
        compiled.emplace(item.problem.specialisation, item.configuration)
            .second) {
      missing[item.problem.specialisation].push_back(item.configuration);
    }
  }
  for (const auto& [specialisation, configurations] : missing) {
    RETURN_IF_ERROR(executor.Prepare(
        kernel.files, specialisation, configurations, {}, IfBusy::kYield,
        [&](const MeasurementExecutor::Preparation&) {
          return report({});  // Whether to go on.
        }));
  }
  return absl::OkStatus();
}

absl::Status RunMeasure(MeasurementExecutor& executor,
                        const TunableKernel& kernel,
                        const v1::MeasureBatch& batch,
                        CompiledCandidates& compiled,
                        const std::function<bool(v1::AttachRequest)>& report) {
  std::vector<MeasureItem> items;
  for (const v1::MeasureItem& proto : batch.requests()) {
    MeasureItem item{.vendor_baseline = proto.vendor_baseline()};
    if (item.vendor_baseline.empty()) {
      ASSIGN_OR_RETURN(item.configuration,
                       ReadConfiguration(kernel, proto.configuration()));
    }
    ASSIGN_OR_RETURN(item.problem, ReadProblem(kernel, proto.problem()));
    items.push_back(std::move(item));
  }
  RETURN_IF_ERROR(Compile(executor, kernel, items, compiled, report));
  return executor.Measure(
      kernel.files, items, IfBusy::kYield,
      [&](const MeasurementExecutor::Outcome& outcome) {
        v1::AttachRequest message;
        if (outcome.sample != nullptr) {
          v1::SampleReport* const one = message.mutable_sample();
          one->set_batch_id(batch.batch_id());
          one->set_index(static_cast<int32_t>(outcome.index));
          GiveMeasured(*outcome.sample, *one->mutable_sample());
        } else {
          v1::FailureReport* const one = message.mutable_failure();
          one->set_batch_id(batch.batch_id());
          one->set_index(static_cast<int32_t>(outcome.index));
          one->set_reason(outcome.failure);
          one->set_exclude_candidate(outcome.exclude);
        }
        return report(std::move(message));
      });
}

}  // namespace

absl::Status RunLentBatch(
    MeasurementExecutor& executor, const TunableKernel& kernel,
    const v1::FleetBatchContent& batch, CompiledCandidates& compiled,
    const std::function<bool(v1::AttachRequest)>& report) {
  if (batch.has_prepare()) {
    RETURN_IF_ERROR(CheckKernel(kernel, batch.prepare().kernel()));
    return RunPrepare(executor, kernel, batch.prepare(), compiled, report);
  }
  RETURN_IF_ERROR(CheckKernel(kernel, batch.measure().kernel()));
  return RunMeasure(executor, kernel, batch.measure(), compiled, report);
}

}  // namespace wavetune
