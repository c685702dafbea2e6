// What an export of a kernel holds, before anything is compiled.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_COMMANDS_EXPORT_PLAN_H_
#define WAVETUNE_PROFILER_AGENT_COMMANDS_EXPORT_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "launch/launch_file.h"
#include "model/table/table.h"

namespace wavetune {

struct KernelSpec;

// Returns the compute capability times ten that a table is for: 90. Errors:
// FAILED_PRECONDITION for a table that is not CUDA's.
absl::StatusOr<int> CapabilityOf(const Table& table);

// Returns the launches of every configuration that decisions from `table` can
// answer, for one specialisation or (empty) all of them; code is still missing,
// but files are named: "03.cubin", "causal.default.cubin". Errors:
// INVALID_ARGUMENT where the kernel has no CUDA implementation or the table no
// such specialisation. FAILED_PRECONDITION where the table is not one of this
// kernel's manifest, or chooses a configuration outside of it (CheckChoices).
absl::StatusOr<LaunchFile> PlanExport(const KernelSpec& spec,
                                      const Table& table,
                                      const std::string& specialisation);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_COMMANDS_EXPORT_PLAN_H_
