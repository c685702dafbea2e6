#include "profiler_agent/worker/kernel_source.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "formats/kernel_spec.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "model/kernel/kernel_validation.h"

namespace wavetune {
namespace {

// Equal bytes for equal messages, also where they hold maps: a worker is told
// of a kernel again, and compiles anew, only where these differ.
std::string DeterministicBytes(const v1::KernelSource& proto) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    proto.SerializeToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<LoadedKernel> LoadedKernelFromProto(
    const v1::KernelSource& proto, const std::string& specialisation) {
  LoadedKernel kernel;
  ASSIGN_OR_RETURN(kernel.spec, KernelSpecFromProto(proto.spec()));
  // What comes over a socket is not trusted: evaluating a spec that was never
  // validated may index out of range.
  RETURN_IF_ERROR(ValidateKernelSpec(kernel.spec));
  kernel.fingerprint = proto.fingerprint();
  kernel.specialisation = specialisation;
  kernel.source_bytes = DeterministicBytes(proto);
  for (const v1::SourceFile& file : proto.files()) {
    kernel.files[file.name()] = file.content();
  }
  return kernel;
}

}  // namespace wavetune
