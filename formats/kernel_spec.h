// KernelSpec: wire <-> model. Names become indices; unknown names are reported
// here, meaning is checked by model/kernel/kernel_validation.h.
#ifndef WAVETUNE_FORMATS_KERNEL_SPEC_H_
#define WAVETUNE_FORMATS_KERNEL_SPEC_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/kernel_spec.h"
#include "proto/wavetune/v1/kernel.pb.h"

namespace wavetune {

// Returns the model's spec, grids multiplied out, defaults filled in. Errors:
// INVALID_ARGUMENT listing every unknown name, missing required field and
// duplicated name, one a line, each with the field's path
// (`mapping.tiles.product.factors[1]`). Does not call ValidateKernelSpec.
// `manifest` is the file that the message was read from, so that faults of
// texts have its lines; empty where it is not known.
absl::StatusOr<KernelSpec> KernelSpecFromProto(const v1::KernelSpec& proto,
                                               absl::string_view manifest = {});

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_KERNEL_SPEC_H_
