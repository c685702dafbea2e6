// Where the tiles of a dimension end: what an edge problem's extents are made
// from.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_KERNEL_EDGE_STEPS_H_
#define WAVETUNE_MODEL_KERNEL_EDGE_STEPS_H_

#include <cstdint>
#include <vector>

#include "wavetune/configuration.h"
#include "wavetune/problem.h"

namespace wavetune {

struct Mapping;

// Where an extent lies in its tile.
enum class Edge : uint8_t { kOne, kTileLess, kTileMore, kRagged };

// A tile ends where `coefficient` times the extent is a multiple of `divisor`:
// both are at least 1. In ceil_div(batch * h * w, 32) the batch has a divisor
// of 32, and h * w as coefficient.
struct EdgeStep {
  int64_t divisor = 1;
  int64_t coefficient = 1;
  bool of_parameter = false;  // A parameter of the mapping sizes the tile.

  friend bool operator==(const EdgeStep&, const EdgeStep&) = default;
};

// Returns the step of `dimension` in a mapping. Factors beside it count as
// coefficient where they are numbers, or of `companions` alone, whose extents
// are those of `problem`. Steps of several sizes, as of an axis and the loop,
// are one that ends where all of them end, if that is not much longer than the
// longest. Else they are the longest. A parameter of 1 sizes a tile as any
// other: the dimension is not counted one by one. Cannot fail. Cost: some
// allocations.
EdgeStep StepOf(const Mapping& mapping, int32_t dimension,
                const std::vector<int32_t>& companions, const Problem& problem,
                const Configuration& configuration);

// Returns the extent at an edge: 1, the largest less than a tile, the smallest
// more than a tile, or the smallest of at least two and a half tiles. It may be
// 0 where no extent is less than a tile.
int64_t ExtentAt(const EdgeStep& step, Edge edge);

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_KERNEL_EDGE_STEPS_H_
