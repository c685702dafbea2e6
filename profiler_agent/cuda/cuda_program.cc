#include "profiler_agent/cuda/cuda_program.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/compile_options.h"
#include "profiler_agent/measure/kernel_checks.h"
#include "profiler_agent/measure/output_comparison.h"

namespace wavetune {

namespace {

// Why what Triton made is not worth measuring; empty where it is.
std::string UnfitReason(const TritonKernel& kernel) {
  if (kernel.spilled_bytes > 0) {
    return absl::StrCat("registers spill: each thread stores and loads ",
                        kernel.spilled_bytes,
                        " bytes of local memory, says ptxas");
  }
  if (kernel.serialised.empty()) return "";
  return absl::StrCat("ptxas runs wgmma one after the other: ",
                      kernel.serialised);
}

absl::Status CheckSources(const LoadedKernel& kernel,
                          const Implementation& implementation) {
  for (const std::string& source : implementation.sources) {
    if (kernel.files.contains(source)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("source file '", source, "' was not sent with kernel ",
                     kernel.spec.name, "; put it into the kernel's folder"));
  }
  if (!implementation.sources.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("kernel ", kernel.spec.name,
                   " names no sources for CUDA; list them in its manifest"));
}

}  // namespace

absl::Status CudaProgram::Load(LoadedKernel kernel) {
  auto taken = std::make_unique<const LoadedKernel>(std::move(kernel));
  ASSIGN_OR_RETURN(const Implementation* const implementation,
                   FindImplementation(taken->spec, facts_));
  RETURN_IF_ERROR(CheckSources(*taken, *implementation));
  std::unique_ptr<TritonCompiler> triton;
  if (TraitsOf(implementation->backend).language == KernelLanguage::kTriton) {
    ASSIGN_OR_RETURN(
        triton,
        TritonCompiler::Load({.python = facts_.python,
                              .name = facts_.triton,
                              .capability = compiler_.architecture().capability,
                              .cache_dir = cache_dir_},
                             *taken, *implementation));
  }
  triton_ = std::move(triton);  // The one before refers to its kernel.
  kernel_ = std::move(taken);
  implementation_ = implementation;
  return absl::OkStatus();
}

TritonForm CudaProgram::FormAt(const Configuration& configuration,
                               const Problem& problem) const {
  return triton_ == nullptr ? "" : triton_->FormAt(configuration, problem);
}

std::map<TritonForm, CudaProgram::UsualForm> CudaProgram::UsualForms(
    const Configuration& configuration) const {
  const Problem smallest = SmallestProblem(spec());
  std::map<TritonForm, UsualForm> forms;
  if (!has_forms()) return {{"", {.problem = smallest}}};
  for (const WeightedProblem& weighted : spec().representative_problems) {
    const Problem& problem = weighted.problem;
    const bool of_ours = problem.specialisation.empty() ||
                         problem.specialisation == specialisation();
    if (!of_ours || !IsLegal(spec(), configuration, problem.View())) continue;
    const TritonForm form = FormAt(configuration, problem);
    forms.try_emplace(form, UsualForm{.problem = problem})
        .first->second.weight += weighted.weight;
  }
  if (forms.empty()) {
    forms[FormAt(configuration, smallest)] = {.problem = smallest};
  }
  return forms;
}

absl::StatusOr<Cubin> CudaProgram::Compile(const Configuration& configuration,
                                           const TritonForm& form) const {
  if (!IsMeantFor(kernel_->spec, configuration, facts_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the manifest's device_predicates exclude it from ",
                     facts_.architecture));
  }
  if (triton_ != nullptr) return CompileTriton(configuration, form);
  // Of its own sources only, so that an edit of the reference leaves compiled
  // candidates in the cache.
  CudaSource source = {.name = implementation_->sources.front()};
  for (const std::string& name : implementation_->sources) {
    source.files[name] = kernel_->files.at(name);
  }
  return compiler_.Compile(
      source,
      CompileOptions(kernel_->spec, &configuration, kernel_->specialisation,
                     implementation_->compile_options),
      implementation_->entry);
}

absl::StatusOr<Cubin> CudaProgram::CompileTriton(
    const Configuration& configuration, const TritonForm& form) const {
  ASSIGN_OR_RETURN(TritonKernel kernel, triton_->Compile(configuration, form));
  if (kernel.tensor_memory_excess > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("it wants ", kernel.tensor_memory_excess,
                     " columns of tensor memory more than there are"));
  }
  const std::string unfit = UnfitReason(kernel);
  return Cubin{.code = std::move(kernel.code),
               .entry = std::move(kernel.entry),
               .key = std::move(kernel.key),
               .from_disk = kernel.from_disk,
               .triton = std::move(kernel.launch),
               .unfit = unfit};
}

Problem SmallestProblem(const KernelSpec& spec) {
  Problem problem;
  for (const Dimension& dimension : spec.dimensions) {
    problem.extents.push_back(dimension.min);
    if (dimension.repeated) {
      problem.repeated = {std::max<int64_t>(1, dimension.min)};
    }
  }
  return problem;
}

absl::StatusOr<Cubin> CudaProgram::CompileReference() const {
  const std::optional<Correctness>& correctness = kernel_->spec.correctness;
  if (!correctness.has_value()) {
    return absl::UnimplementedError(
        absl::StrCat("kernel ", kernel_->spec.name,
                     " declares no reference to check its results against; add "
                     "'correctness' to its manifest"));
  }
  absl::StatusOr<Cubin> cubin = compiler_.Compile(
      {.name = correctness->source, .files = kernel_->files},
      CompileOptions(kernel_->spec, nullptr, kernel_->specialisation,
                     correctness->compile_options),
      correctness->entry);
  if (!cubin.ok()) return BrokenReference(cubin.status());
  return cubin;
}

}  // namespace wavetune
