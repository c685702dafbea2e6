// One self-contained source out of a kernel's files.
#ifndef WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_SOURCE_H_
#define WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "wavetune/configuration.h"

namespace wavetune {

struct KernelSpec;

// Returns the content of file `name` with every `#include "other"` of a file in
// `files` replaced by that file, once each, with #line directives. Why not -I:
// kernels come over the wire, and drivers do not agree on how -I paths with
// spaces are written. A driver's own cache does not see included files change.
// Errors: INVALID_ARGUMENT when `name` is not in `files`, or a file includes
// one that is not (CheckNoIncludes).
absl::StatusOr<std::string> ExpandSource(
    const std::map<std::string, std::string>& files, const std::string& name);

// Returns CompileOptions as one text. Cannot fail.
std::string BuildOptions(const KernelSpec& spec,
                         const Configuration* configuration,
                         const std::string& specialisation,
                         const std::vector<std::string>& options);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_OPENCL_OPENCL_SOURCE_H_
