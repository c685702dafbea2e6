// What index buffers of grouped kernels hold: the rows of all elements (tokens
// of each expert) in an order in which each element fills whole blocks.
//
//   // Elements of 3, 0 and 2 rows, blocks of 2: rows 0..4, filled up with 5.
//   BlockValues(kPaddedOrder, {3, 0, 2}, 2, 6, seed)   // {0, 2, 3, 5, 1, 4}
//   BlockValues(kBlockElement, {3, 0, 2}, 2, 3, seed)  // {0, 0, 2}
//   BlockValues(kPaddedTotal, {3, 0, 2}, 2, 1, seed)   // {6}
//
// Thread safety: pure functions.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_ELEMENT_BLOCKS_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_ELEMENT_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/kernel/argument.h"

namespace wavetune {

// Returns the `elements` integers of a buffer, of which a shorter one has the
// first. `rows` are the elements of the repeated dimension, each >= 0; `block`
// >= 1. Which rows an element has follows from `rows` and `seed` alone; within
// an element they ascend. Cannot fail. Cost: about 10 ns a row.
std::vector<int64_t> BlockValues(ElementBlocks::Kind kind,
                                 const std::vector<int64_t>& rows,
                                 int64_t block, size_t elements, uint64_t seed);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_ELEMENT_BLOCKS_H_
