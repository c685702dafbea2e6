// Semantic checks of a kernel spec: what its fields mean together.
#ifndef WAVETUNE_MODEL_KERNEL_KERNEL_VALIDATION_H_
#define WAVETUNE_MODEL_KERNEL_KERNEL_VALIDATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Returns OK if the spec can be tuned. Errors: INVALID_ARGUMENT; the message
// lists every fault, one a line, each with the field, what is wrong and what to
// do: names malformed or used twice; too many dimensions or parameters; a
// parameter without values; ranges upside down; a mapping that cannot be
// inverted; a space that is empty or above kMaxConfigurations; a default
// outside of the space; no configuration legal for every problem; correctness
// missing; representative problems out of range or with missing dimensions; an
// argument without a size (an empty product); a micro parameter in a mapping;
// sources outside of the kernel's folder; launch sizes that are 0 somewhere in
// the space, fields that a backend does not support (implementation_faults.h).
absl::Status ValidateKernelSpec(const KernelSpec& spec);

// Largest space that is enumerated.
inline constexpr int64_t kMaxConfigurations = 100000;

// Returns every configuration that fulfils the constraints, in lexicographic
// order of the parameters' value indices; at most kMaxConfigurations + 1.
// Cannot fail.
std::vector<Configuration> EnumerateConfigurations(const KernelSpec& spec);

// Returns whether `configuration` has a declared value for every parameter and
// fulfils the constraints.
bool InSpace(const KernelSpec& spec, const Configuration& configuration);

// Returns whether `configuration` may run `problem`: extents in range and all
// predicates met.
bool IsLegal(const KernelSpec& spec, const Configuration& configuration,
             const ProblemView& problem);

// Returns whether `configuration` is legal for every problem in range. Decided
// from the predicates' structure, never by trying problems, and so for certain
// only (model/kernel/relation_proof.h). A predicate that is true for a subtler
// reason counts as not met.
bool IsLegalForEveryProblem(const KernelSpec& spec,
                            const Configuration& configuration);

// Returns OK if `problem` can be launched: it has the right number of extents,
// each in range, not zeros alone for a repeated dimension, and a known
// specialisation. Errors: INVALID_ARGUMENT with the names of what is missing,
// extra or out of range.
absl::Status CheckProblem(const KernelSpec& spec, const Problem& problem);

// Return "BLOCK_M=64 BLOCK_N=32 …" and "m=1 n=576 k=576 [specialisation]".
// Cannot fail.
std::string FormatConfiguration(const KernelSpec& spec,
                                const Configuration& configuration);
std::string FormatProblem(const KernelSpec& spec, const Problem& problem);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_KERNEL_VALIDATION_H_
