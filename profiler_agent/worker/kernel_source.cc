#include "profiler_agent/worker/kernel_source.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
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

// `bytes` are those of `proto`.
absl::StatusOr<LoadedKernel> Bind(const v1::KernelSource& proto,
                                  std::string bytes) {
  LoadedKernel kernel;
  ASSIGN_OR_RETURN(kernel.spec, KernelSpecFromProto(proto.spec()));
  // What comes over a socket is not trusted: evaluating a spec that was never
  // validated may index out of range.
  RETURN_IF_ERROR(ValidateKernelSpec(kernel.spec));
  kernel.fingerprint = proto.fingerprint();
  kernel.source_bytes = std::make_shared<const std::string>(std::move(bytes));
  for (const v1::SourceFile& file : proto.files()) {
    kernel.files[file.name()] = file.content();
  }
  return kernel;
}

}  // namespace

absl::StatusOr<LoadedKernel> LoadedKernelFromProto(
    const v1::KernelSource& proto) {
  return Bind(proto, DeterministicBytes(proto));
}

bool NamesKernel(const v1::KernelSource& proto) {
  return !proto.has_spec() && proto.files().empty() &&
         !proto.fingerprint().empty();
}

absl::StatusOr<std::shared_ptr<const LoadedKernel>> KeptKernels::Take(
    const v1::KernelSource& proto) {
  const std::shared_ptr<const LoadedKernel>* const kept =
      kernels_.Find(proto.fingerprint());
  if (NamesKernel(proto)) {
    if (kept != nullptr) return *kept;
    return absl::NotFoundError(absl::StrCat(
        "kernel ", proto.fingerprint(), " is not kept here: send it whole"));
  }
  std::string bytes = DeterministicBytes(proto);
  if (kept != nullptr && *(*kept)->source_bytes == bytes) return *kept;
  ASSIGN_OR_RETURN(LoadedKernel bound, Bind(proto, std::move(bytes)));
  auto kernel = std::make_shared<const LoadedKernel>(std::move(bound));
  if (!proto.fingerprint().empty()) kernels_.Put(proto.fingerprint(), kernel);
  return kernel;
}

}  // namespace wavetune
