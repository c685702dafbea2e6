// The space of a kernel that is taken to be valid: its configurations, all of
// them or a few that represent all. It knows which of them may run a problem,
// and how both are written.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_KERNEL_SPACE_H_
#define WAVETUNE_MODEL_KERNEL_KERNEL_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/kernel/relation.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Largest space that is enumerated.
inline constexpr int64_t kMaxConfigurations = 100000;

struct KernelSpace {
  // In lexicographic order of the parameters' value indices; at most
  // kMaxConfigurations + 1.
  std::vector<Configuration> configurations;
  int64_t count = 0;  // In all, also those beyond.
  // False: the search was given up, the space may be larger.
  bool complete = true;
};

// Returns the configurations that fulfil the constraints. A constraint is
// applied as soon as its last parameter has a value, so that a large cross
// product with few survivors is cheap. A search that visits too many partial
// configurations all the same is given up. Cannot fail.
KernelSpace EnumerateSpace(const KernelSpec& spec);

// The same as if the spec did not have constraint number `left_out`.
KernelSpace EnumerateSpaceWithout(const KernelSpec& spec, size_t left_out);

// Returns `size` configurations (all where there are no more). The default
// comes first, then such that every value of every parameter is among them as
// soon as possible, then others spread evenly over the space. Deterministic;
// distinct; size >= 1. Cannot fail. Cost: O(values * configurations) at worst.
std::vector<Configuration> SampleSpace(const KernelSpec& spec, size_t size);

// The same of a space that was enumerated.
std::vector<Configuration> SampleSpace(
    std::vector<Configuration> space, size_t size,
    const Configuration& default_configuration);

// Returns the values that `space` has and `sample` does not, as "BLOCK_M=256",
// in the order of their declaration. Cannot fail.
std::vector<std::string> ValuesLeftOut(const KernelSpec& spec,
                                       absl::Span<const Configuration> space,
                                       absl::Span<const Configuration> sample);

// Returns every configuration that fulfils the constraints, in lexicographic
// order of the parameters' value indices; at most kMaxConfigurations + 1.
// Cannot fail.
std::vector<Configuration> EnumerateConfigurations(const KernelSpec& spec);

// Returns whether `configuration` has a declared value for every parameter.
bool HasDeclaredValues(const KernelSpec& spec,
                       const Configuration& configuration);

// Returns whether `configuration` has declared values, is listed where the
// manifest lists configurations, and fulfils the constraints.
bool InSpace(const KernelSpec& spec, const Configuration& configuration);

// Returns whether `configuration` may run `problem`: extents in range and all
// predicates met.
bool IsLegal(const KernelSpec& spec, const Configuration& configuration,
             const ProblemView& problem);

// Returns what a problem must fulfil for `configuration` to run it, as
// relations over dimensions: preconditions, then predicates, each once. Cannot
// fail.
std::vector<Relation> ProblemRelations(const KernelSpec& spec,
                                       const Configuration& configuration);

// Returns whether `configuration` is legal for every problem that meets the
// preconditions. Decided
// from the predicates' structure, never by trying problems, and so for certain
// only (model/kernel/relation_proof.h). A predicate that is true for a subtler
// reason counts as not met.
bool IsLegalForEveryProblem(const KernelSpec& spec,
                            const Configuration& configuration);

// Returns OK if `problem` can be launched. It has the right number of extents,
// each in range, not zeros alone for a repeated dimension, and a known
// specialisation, and meets the preconditions. Errors: INVALID_ARGUMENT with
// the names of what is missing, extra or out of range.
absl::Status CheckProblem(const KernelSpec& spec, const Problem& problem);

// Return "BLOCK_M=64 BLOCK_N=32 …" and "m=1 n=576 k=576 [specialisation]".
// Cannot fail.
std::string FormatConfiguration(const KernelSpec& spec,
                                const Configuration& configuration);
std::string FormatProblem(const KernelSpec& spec, const Problem& problem);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_KERNEL_SPACE_H_
