#include "formats/kernel_spec.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/kernel_binder.h"

namespace wavetune {

absl::StatusOr<KernelSpec> KernelSpecFromProto(const v1::KernelSpec& proto,
                                               absl::string_view manifest) {
  KernelBinder binder(proto, manifest);
  KernelSpec spec = binder.Bind();
  if (binder.faults().empty()) return spec;
  return absl::InvalidArgumentError(
      absl::StrCat("kernel \"", proto.name(), "\":\n  ",
                   absl::StrJoin(binder.faults(), "\n  ")));
}

}  // namespace wavetune
