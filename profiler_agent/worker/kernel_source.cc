#include "profiler_agent/worker/kernel_source.h"

#include <utility>

#include "model/kernel_validation.h"
#include "model/status_macros.h"
#include "proto/convert/kernel_spec.h"

namespace wavetune {

absl::StatusOr<LoadedKernel> LoadedKernelFromProto(
    const v1::KernelSource& proto, const std::string& specialisation) {
  LoadedKernel kernel;
  ASSIGN_OR_RETURN(kernel.spec, KernelSpecFromProto(proto.spec()));
  // What comes over a socket is not trusted: evaluating a spec that was never
  // validated may index out of range.
  RETURN_IF_ERROR(ValidateKernelSpec(kernel.spec));
  kernel.fingerprint = proto.fingerprint();
  kernel.specialisation = specialisation;
  kernel.source_bytes = proto.SerializeAsString();
  for (const v1::SourceFile& file : proto.files()) {
    kernel.files[file.name()] = file.content();
  }
  return kernel;
}

}  // namespace wavetune
