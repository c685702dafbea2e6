// The problems at which a kernel's candidates are checked.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_CORRECTNESS_PROBLEMS_H_
#define WAVETUNE_MODEL_KERNEL_CORRECTNESS_PROBLEMS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Returns the manifest's correctness problems of a specialisation, each with
// its name; those that name none are for all. Cannot fail.
std::vector<Problem> DeclaredCorrectnessProblems(
    const KernelSpec& spec, const std::string& specialisation);

// Returns where one candidate is checked: those of `declared` that are legal
// for it, then the edges of its own tiles (edge_problems.h), each once. Where
// that is nothing, one problem with three ragged tiles of two iterations: never
// an empty list, as nothing would be compared then. Errors: as InvertMapping,
// where there is none either.
absl::StatusOr<std::vector<Problem>> CandidateProblems(
    const KernelSpec& spec, const std::string& specialisation,
    const Configuration& configuration, const std::vector<Problem>& declared);

// The same with the manifest's own.
absl::StatusOr<std::vector<Problem>> CorrectnessProblems(
    const KernelSpec& spec, const std::string& specialisation,
    const Configuration& configuration);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_CORRECTNESS_PROBLEMS_H_
