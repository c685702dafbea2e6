// Whether a table is of a kernel as it is here: a table is a file, and may be
// of another version of the kernel, or of none.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_TABLE_KERNEL_MATCH_H_
#define WAVETUNE_MODEL_TABLE_KERNEL_MATCH_H_

#include "absl/status/status.h"
#include "model/table/table.h"

namespace wavetune {

struct KernelSpec;

// Returns whether problems and configurations mean the same to a table and to
// the kernel. Cannot fail.
bool IsComparable(const KernelSpec& spec, const Table& table);

// Returns whether every choice of the table is one that the kernel can launch.
// Errors: INVALID_ARGUMENT where they are not comparable, and with a choice
// that the kernel does not declare.
absl::Status CheckChoices(const KernelSpec& spec, const Table& table);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_KERNEL_MATCH_H_
