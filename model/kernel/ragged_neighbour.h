// Ragged neighbours: problems beside those that a manifest names, as clients
// ask for them.
//
// Why: people name round numbers, so that each extent is a multiple of every
// tile. What a kernel does beside whole tiles and vectors is then never timed,
// and a table can be promoted that is slower than the default at most other
// problems (docs/decisions/0007).
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_RAGGED_NEIGHBOUR_H_
#define WAVETUNE_MODEL_KERNEL_RAGGED_NEIGHBOUR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Returns `problem` with each extent of a dimension that takes several values
// among `named` (a repeated one always may) 1.1 times as large and odd, within
// its range. Where the manifest's predicates, under its default if that runs
// `problem`, ask for it, extents move up to the next legal ones. Nothing where
// no extent changes, where that cannot be met, or beyond the limits of what
// planning may construct. `spec` as the problem's specialisation has it. Cannot
// fail.
std::optional<Problem> RaggedNeighbour(const KernelSpec& spec,
                                       const std::vector<Problem>& named,
                                       const Problem& problem);

// A dimension of which every named extent is a multiple of every tile along it.
struct RoundDimension {
  int32_t dimension = 0;
  // Parameters that its tiles are made of, ascending.
  std::vector<int32_t> parameters;
  int64_t ragged = 0;  // An extent that is none.
};

// Returns those of the representative problems, of which there must be two or
// more values, where a ragged one is legal. Cannot fail. Cost: an evaluation
// for each value of the parameters of a quotient.
std::vector<RoundDimension> RoundDimensions(const KernelSpec& spec);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_RAGGED_NEIGHBOUR_H_
