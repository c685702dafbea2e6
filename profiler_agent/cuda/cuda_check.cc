#include "profiler_agent/cuda/cuda_check.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "model/mapping.h"
#include "model/status_macros.h"
#include "profiler_agent/buffer_values.h"
#include "profiler_agent/cuda/cuda_launch.h"
#include "profiler_agent/cuda/cuda_memory.h"
#include "profiler_agent/output_comparison.h"

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
        CheckedContent(*check_.spec, argument, problem_, elements, seed);
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
