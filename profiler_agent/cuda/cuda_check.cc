#include "profiler_agent/cuda/cuda_check.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/kernel_validation.h"
#include "model/mapping.h"
#include "model/status_macros.h"
#include "profiler_agent/buffer_values.h"
#include "profiler_agent/cuda/cuda_launch.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/cuda/cuda_program.h"

namespace wavetune {
namespace {

// Runs one kernel with poisoned outputs of its own.
class Run {
 public:
  Run(const CudaSession& session, const CudaCheck& check,
      const Problem& problem)
      : session_(session), check_(check), problem_(problem) {}

  // `implementation` nullptr: the reference, which takes no tensor maps.
  absl::Status Execute(CUfunction function,
                       const Implementation* implementation,
                       const CudaLaunchShape& shape, int64_t groups,
                       uint64_t seed) {
    const KernelSpec& spec = *check_.spec;
    ASSIGN_OR_RETURN(CudaArguments arguments,
                     CudaArguments::Create(spec, implementation,
                                           check_.configuration, problem_));
    for (size_t i = 0; i < spec.arguments.size(); ++i) {
      if (spec.arguments[i].role == ArgumentRole::kScalar) continue;
      RETURN_IF_ERROR(AddBuffer(i, seed + i));
      RETURN_IF_ERROR(
          arguments.SetBuffer(*session_.driver, i, buffers_.at(i).first.get()));
    }
    RETURN_IF_ERROR(Launch(session_, function, shape, groups, arguments));
    return Finish(session_);
  }

  // Content of an output, guard included.
  absl::StatusOr<std::string> Output(size_t argument) const {
    const auto& [memory, bytes] = buffers_.at(argument);
    return CopyToHost(session_, memory.get(), bytes);
  }

 private:
  absl::Status AddBuffer(size_t index, uint64_t seed) {
    const Argument& argument = check_.spec->arguments[index];
    ASSIGN_OR_RETURN(const size_t bytes,
                     BufferBytes(argument, problem_, check_.configuration));
    const size_t elements = bytes / ElementBytes(argument.type);
    const std::string content =
        argument.role == ArgumentRole::kOutput
            ? PoisonValues(argument.type, elements + kGuardElements)
            : InputValues(*check_.spec, argument, problem_, elements, seed);
    ASSIGN_OR_RETURN(CudaMemory memory, AllocateWith(session_, content));
    buffers_[index] = {std::move(memory), content.size()};
    return absl::OkStatus();
  }

  const CudaSession& session_;
  const CudaCheck& check_;
  const Problem& problem_;
  std::map<size_t, std::pair<CudaMemory, size_t>> buffers_;
};

}  // namespace

absl::Status CompareOutputs(const KernelSpec& spec, const Argument& argument,
                            const Problem& problem, absl::string_view out,
                            absl::string_view reference) {
  const size_t bytes =
      out.size() - kGuardElements * ElementBytes(argument.type);
  const std::string guard = PoisonValues(argument.type, kGuardElements);
  const std::string at = absl::StrCat(" of output '", argument.name, "' at ",
                                      FormatProblem(spec, problem));
  if (reference.substr(bytes) != guard) {
    return BrokenReference(
        absl::DataLossError(absl::StrCat("it writes past the end", at)));
  }
  if (out.substr(bytes) != guard) {
    return absl::DataLossError(absl::StrCat("writes past the end", at));
  }
  const double error = RelativeError(argument.type, out.substr(0, bytes),
                                     reference.substr(0, bytes));
  const double tolerance = spec.correctness->relative_tolerance;
  if (error <= tolerance) return absl::OkStatus();  // False for NaN.
  return absl::DataLossError(absl::StrCat(
      "relative error ", error, " exceeds ", tolerance, at,
      std::isnan(error) ? " (not every element was written, or one is NaN)"
                        : ""));
}

absl::Status CheckResults(const CudaSession& session, const CudaCheck& check,
                          const Problem& problem, uint64_t seed) {
  const KernelSpec& spec = *check.spec;
  const CudaLaunchShape reference_shape = ReferenceShape(Evaluate(
      spec.correctness->work_items, problem.View(), check.configuration));
  Run candidate(session, check, problem);
  Run reference(session, check, problem);
  RETURN_IF_ERROR(
      candidate.Execute(check.candidate, check.implementation, check.shape,
                        GroupsToLaunch(check.shape, check.capacity), seed));
  RETURN_IF_ERROR(BrokenReference(
      reference.Execute(check.reference, nullptr, reference_shape,
                        reference_shape.groups, seed)));
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    if (spec.arguments[i].role != ArgumentRole::kOutput) continue;
    ASSIGN_OR_RETURN(const std::string out, candidate.Output(i));
    ASSIGN_OR_RETURN(const std::string wanted, reference.Output(i));
    RETURN_IF_ERROR(
        CompareOutputs(spec, spec.arguments[i], problem, out, wanted));
  }
  return absl::OkStatus();
}

}  // namespace wavetune
