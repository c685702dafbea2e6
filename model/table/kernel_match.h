// Whether a table is of a kernel as it is here. A table is a file, and may be
// of another version of the kernel, or of none, or made by somebody who means
// harm.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_TABLE_KERNEL_MATCH_H_
#define WAVETUNE_MODEL_TABLE_KERNEL_MATCH_H_

#include "absl/status/status.h"
#include "model/table/table.h"

namespace wavetune {

struct DeviceFacts;
struct KernelSpec;

// Returns whether problems and configurations mean the same to a table and to
// the kernel. Cannot fail.
bool IsComparable(const KernelSpec& spec, const Table& table);

// Returns OK where the kernel can launch every answer of the table, at every
// problem at which the table gives it (IsLegal). Extents are in the manifest's
// ranges; candidates and default are in the space of their specialisation. Each
// condition that the manifest asks of a problem under a configuration either
// always holds or is among the predicates of each group that answers the
// configuration. Beside that the default must be legal for every problem, if it
// is not the manifest's.
//
// With `device`, `spec` is the kernel as it tunes it (SpecForDevice), and
// candidates and such a default also keep its limits (CheckLimits). Without
// one device predicates are not looked at.
//
// Errors: INVALID_ARGUMENT with the first choice that is wrong, why, and what
// to do. `table` passes CheckTable. Cost: a millisecond for the largest tables
// that are fitted; bounded by what a payload holds, 2^16 candidates and members
// of groups at most.
absl::Status CheckChoices(const KernelSpec& spec, const Table& table,
                          const DeviceFacts* device = nullptr);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_KERNEL_MATCH_H_
