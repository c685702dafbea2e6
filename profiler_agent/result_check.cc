#include "profiler_agent/result_check.h"

#include "model/kernel/element_type.h"
#include "model/status_macros.h"
#include "profiler_agent/buffer_values.h"
#include "profiler_agent/output_comparison.h"

namespace wavetune {
namespace {

absl::Status RunOnce(const KernelSpec& spec, const Configuration& configuration,
                     const Problem& problem, uint64_t seed, CheckedRun& run) {
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    const Argument& argument = spec.arguments[i];
    if (argument.role == ArgumentRole::kScalar) continue;
    ASSIGN_OR_RETURN(const size_t bytes,
                     BufferBytes(argument, problem, configuration));
    const size_t elements = bytes / ElementBytes(argument.type);
    RETURN_IF_ERROR(run.AddBuffer(
        i, CheckedContent(spec, argument, problem, elements, seed + i)));
  }
  return run.Execute();
}

}  // namespace

absl::Status CheckResults(const KernelSpec& spec,
                          const Configuration& configuration,
                          const Problem& problem, uint64_t seed,
                          CheckedRun& candidate, CheckedRun& reference) {
  RETURN_IF_ERROR(RunOnce(spec, configuration, problem, seed, candidate));
  RETURN_IF_ERROR(
      BrokenReference(RunOnce(spec, configuration, problem, seed, reference)));
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    if (spec.arguments[i].role != ArgumentRole::kOutput) continue;
    ASSIGN_OR_RETURN(const std::string out, candidate.Content(i));
    ASSIGN_OR_RETURN(const std::string wanted, reference.Content(i));
    RETURN_IF_ERROR(
        CompareOutputs(spec, spec.arguments[i], problem, out, wanted));
  }
  return absl::OkStatus();
}

}  // namespace wavetune
