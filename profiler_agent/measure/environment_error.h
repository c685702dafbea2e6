// Faults of the environment, as opposed to those of a candidate: something of
// the host or the device ran out, or somebody else killed the worker.
//
// Such a failure says nothing about the candidate that was tried: it is tried
// again alone, and a second failure is reported but not stored.
//
//   return ExhaustedError(Resource::kDisk, "cannot write /cache/pocl");
//   ...
//   if (ExhaustedResource(status).has_value()) ...  // Try it again alone.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_ENVIRONMENT_ERROR_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_ENVIRONMENT_ERROR_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace wavetune {

enum class Resource { kMemory, kDisk, kProcesses, kKilled };

// Returns RESOURCE_EXHAUSTED that says which resource ran out.
absl::Status ExhaustedError(Resource resource, absl::string_view what);

// Returns the resource that ran out; memory where RESOURCE_EXHAUSTED names
// none; nothing for other statuses.
std::optional<Resource> ExhaustedResource(const absl::Status& status);

// Returns the resource that a line of a process's last words is about
// ("std::bad_alloc", "No space left on device"), if any.
std::optional<Resource> ResourceNamedIn(absl::string_view line);

// Returns "out of memory", "out of disk space", "out of processes" or "killed".
absl::string_view ExhaustedName(Resource resource);

// Returns what an operator can do about it.
absl::string_view ExhaustedAdvice(Resource resource);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_ENVIRONMENT_ERROR_H_
