// Whether a kernel's table may become a file of an engine: the engine must
// launch this very kernel, with exactly the parameters that its file has.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_EXPORT_ENGINE_KERNEL_H_
#define WAVETUNE_CLI_EXPORT_ENGINE_KERNEL_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/table.h"

namespace wavetune::cli {

// Returns what the kernel's manifest says of the two products of an expert
// layer. Errors: FAILED_PRECONDITION with all that is missing, one a line: of
// the manifest, and of a table that is not of this manifest or lacks a product.
absl::StatusOr<ServedMoe> ExpertProducts(const KernelSpec& spec,
                                         const Table& table);

// As ExpertProducts, of a kernel that an engine launches. `engine`:
// "vllm", "sglang", as manifests name them. Errors: as there; also a manifest
// that does not name the engine, and parameters that its files do not have.
absl::StatusOr<ServedMoe> EngineKernel(const KernelSpec& spec,
                                       const Table& table,
                                       absl::string_view engine);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_EXPORT_ENGINE_KERNEL_H_
