// Small problems at the edges of a candidate's own tiles.
//
// Why: a kernel that leaves out its tail, or writes beyond it, is right
// wherever extents are whole tiles. Which extents are whole depends on the
// candidate, so the edges do, too.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_EDGE_PROBLEMS_H_
#define WAVETUNE_MODEL_KERNEL_EDGE_PROBLEMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// Largest buffer of an edge problem, in elements: references are slow.
inline constexpr int64_t kMaxEdgeElements = int64_t{1} << 22;

// Returns problems that are legal for `configuration`, each once:
// - every extent 1;
// - every extent one tile - 1, of the loop as of the grid;
// - every extent one tile + 1;
// - per axis of the grid: this one 1, the others one tile + 1, and a loop of
//   three iterations of which the last one is half. (So it is where the loop
//   follows an axis, then along that.)
// A dimension with tiles of several sizes, as of an axis and the loop, has them
// all end together.
// If the mapping counts loop iterations singly, the step is unknown. Each
// parameter that neither `tiles` nor the loop names is tried as the step,
// largest first, until the problem is not too large; 1 at last.
// Where an axis or the loop has several dimensions (such as the pixels of a
// batch of images) their product is near the end of a tile. One of them is
// searched (mapping_structure.h). The others are as in a representative
// problem, at least 2, and halved while a tile has no room for that. So a tile
// less is a small image, a tile more are several. They are smaller still where
// the problem would be illegal or too large.
// Dimensions' ranges limit extents; a predicate moves them to the next legal
// one (down from one tile - 1, else up, where there is one). A repeated
// dimension has several elements, one of them 0 where its range allows it.
// Dimensions that drive neither grid nor loop are as InvertMapping has them.
// What exceeds the spec's limits or kMaxEdgeElements is left out, so that
// there may be none. Cannot fail. Cost: tens to hundreds of microseconds.
std::vector<Problem> EdgeProblems(const KernelSpec& kernel,
                                  const std::string& specialisation,
                                  const Configuration& configuration);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_EDGE_PROBLEMS_H_
