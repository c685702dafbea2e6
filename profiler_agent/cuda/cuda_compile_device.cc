#include "profiler_agent/cuda/cuda_compile_device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "profiler_agent/cuda/launch_shape.h"
#include "profiler_agent/cuda/nvrtc.h"
#include "profiler_agent/cuda/triton/triton_installation.h"
#include "profiler_agent/measure/kernel_checks.h"

namespace wavetune {

absl::StatusOr<std::unique_ptr<CudaCompileDevice>> CudaCompileDevice::Open(
    const std::string& architecture, const std::string& cache_dir,
    const std::string& python) {
  ASSIGN_OR_RETURN(const CudaArchitecture target,
                   ParseCudaArchitecture(architecture));
  const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Load();
  if (!nvrtc.ok()) return absl::UnavailableError(nvrtc.status().message());
  RETURN_IF_ERROR(
      CheckArchitecture(target, (*nvrtc)->capabilities(), (*nvrtc)->version()));
  DeviceFacts facts;
  facts.uuid = absl::StrCat("compile-only:", target.target);
  facts.label = absl::StrCat(target.target, ", compiled only");
  facts.backend = "cuda";
  facts.architecture = CudaArchitectureName(target.capability);
  facts.compiler = (*nvrtc)->version();
  facts.max_shared_memory_bytes = MaxSharedMemoryOf(target.capability);
  AddTriton(FindTriton(python), facts);
  return std::unique_ptr<CudaCompileDevice>(new CudaCompileDevice(
      std::move(facts), CudaCompiler(**nvrtc, target, cache_dir), cache_dir));
}

CudaCompileDevice::CudaCompileDevice(DeviceFacts facts,
                                     const CudaCompiler& compiler,
                                     const std::string& cache_dir)
    : facts_(std::move(facts)),
      compiler_(compiler),
      program_(compiler_, facts_, cache_dir) {}

absl::Status CudaCompileDevice::Load(LoadedKernel kernel) {
  RETURN_IF_ERROR(program_.Load(std::move(kernel)));
  reference_compiles_ = !program_.spec().correctness.has_value();
  return absl::OkStatus();
}

absl::StatusOr<Candidate> CudaCompileDevice::Prepare(
    const Configuration& configuration, const std::vector<Problem>&) {
  if (!program_.loaded()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckConfiguration(program_.spec(), configuration));
  RETURN_IF_ERROR(CheckFit(configuration));
  if (!reference_compiles_) {
    RETURN_IF_ERROR(program_.CompileReference().status());
    reference_compiles_ = true;
  }
  return Candidate{.configuration = configuration};
}

absl::Status CudaCompileDevice::CheckFit(
    const Configuration& configuration) const {
  for (const auto& [form, usual] : program_.UsualForms(configuration)) {
    ASSIGN_OR_RETURN(const Cubin cubin, program_.Compile(configuration, form));
    if (!cubin.unfit.empty()) return absl::InvalidArgumentError(cubin.unfit);
    if (!cubin.triton.has_value()) continue;
    RETURN_IF_ERROR(CudaShapeOf(program_.spec(), program_.implementation(),
                                program_.specialisation(), configuration,
                                usual.problem, facts_, cubin.triton)
                        .status());
  }
  return absl::OkStatus();
}

absl::StatusOr<Cubin> CudaCompileDevice::Compile(
    const Configuration& configuration) const {
  if (!program_.loaded()) return NoKernelLoaded();
  RETURN_IF_ERROR(CheckConfiguration(program_.spec(), configuration));
  return program_.Compile(configuration,
                          program_.UsualForms(configuration).begin()->first);
}

absl::StatusOr<LaunchTimes> CudaCompileDevice::Measure(const Configuration&,
                                                       const Problem&, int,
                                                       int) {
  return absl::FailedPreconditionError(
      absl::StrCat(facts_.label,
                   ": measuring needs a GPU; open the cuda backend without an "
                   "architecture"));
}

}  // namespace wavetune
