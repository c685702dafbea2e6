#include "formats/kernel_spec.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/kernel_binder.h"

namespace wavetune {
namespace {

absl::Status FaultsOf(const v1::KernelSpec& proto, const KernelBinder& binder) {
  return absl::InvalidArgumentError(
      absl::StrCat("kernel \"", proto.name(), "\":\n  ",
                   absl::StrJoin(binder.faults(), "\n  ")));
}

}  // namespace

absl::StatusOr<KernelSpec> KernelSpecFromProto(const v1::KernelSpec& proto,
                                               absl::string_view manifest) {
  KernelBinder binder(proto, manifest);
  KernelSpec spec = binder.Bind();
  if (!binder.faults().empty()) return FaultsOf(proto, binder);
  if (!binder.has_constants()) return spec;
  for (const Specialisation& specialisation : spec.specialisations) {
    KernelBinder own(proto, manifest, specialisation.name);
    spec.own[specialisation.name] =
        std::make_shared<const KernelSpec>(own.Bind());
    if (!own.faults().empty()) return FaultsOf(proto, own);
  }
  return spec;
}

}  // namespace wavetune
