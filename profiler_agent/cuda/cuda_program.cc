#include "profiler_agent/cuda/cuda_program.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/kernel/device_implementation.h"
#include "model/kernel/device_space.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/measure/compile_options.h"
#include "profiler_agent/measure/kernel_checks.h"
#include "profiler_agent/measure/output_comparison.h"

namespace wavetune {

absl::Status CudaProgram::Load(LoadedKernel kernel) {
  const absl::StatusOr<const Implementation*> implementation =
      FindImplementation(kernel.spec, facts_);
  if (!implementation.ok()) return implementation.status();
  for (const std::string& source : (*implementation)->sources) {
    if (kernel.files.contains(source)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("source file '", source, "' was not sent with kernel ",
                     kernel.spec.name, "; put it into the kernel's folder"));
  }
  if ((*implementation)->sources.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", kernel.spec.name,
                     " names no sources for CUDA; list them in its manifest"));
  }
  kernel_ = std::move(kernel);
  implementation_ = ImplementationFor(kernel_->spec, facts_).implementation;
  return absl::OkStatus();
}

absl::StatusOr<Cubin> CudaProgram::Compile(
    const Configuration& configuration) const {
  if (!IsMeantFor(kernel_->spec, configuration, facts_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the manifest's device_predicates exclude it from ",
                     facts_.architecture));
  }
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
