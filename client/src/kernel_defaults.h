// KernelDefaults: what must be known of a kernel to answer its default.
//
// Thread safety: plain values and pure functions, but for reading files.
#ifndef WAVETUNE_CLIENT_SRC_KERNEL_DEFAULTS_H_
#define WAVETUNE_CLIENT_SRC_KERNEL_DEFAULTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table.h"
#include "proto/wavetune/v1/kernel.pb.h"
#include "wavetune/configuration.h"
#include "wavetune/decision.h"
#include "wavetune/dimension.h"
#include "wavetune/kernel_argument.h"

namespace wavetune {

struct KernelDefaults {
  std::vector<std::string> parameters;
  std::vector<Dimension> dimensions;
  Configuration configuration;
  // What a decision without a table says.
  DefaultReason reason = DefaultReason::kNoTable;
};

// Return the defaults of a kernel, on devices (none: the manifest's), as a
// manifest or a table has them. Errors: NOT_FOUND for a specialisation that it
// does not have (lists those it has); FAILED_PRECONDITION as DefaultForDevices;
// INVALID_ARGUMENT for a manifest that is not valid, or of another kernel.
absl::StatusOr<KernelDefaults> DefaultsOf(const v1::KernelSpec& kernel,
                                          absl::Span<const DeviceFacts> devices,
                                          const std::string& specialisation);
absl::StatusOr<KernelDefaults> DefaultsOf(const KernelSpec& spec,
                                          absl::Span<const DeviceFacts> devices,
                                          const std::string& specialisation);
absl::StatusOr<KernelDefaults> DefaultsOf(const Table& table,
                                          const std::string& specialisation);

// Returns what a manifest declares; `path` is a kernel's folder, or its
// manifest. Errors: as ReadTextFile; INVALID_ARGUMENT for one that is not
// valid, or of another kernel.
absl::StatusOr<KernelSpec> SpecOfManifest(const std::string& path,
                                          const std::string& kernel);

// Returns the kernel's arguments, in order. Cannot fail.
std::vector<KernelArgument> ArgumentsOf(const KernelSpec& spec);

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_KERNEL_DEFAULTS_H_
