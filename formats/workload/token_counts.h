// Token counts at which a workload's layers are profiled and judged.
//
// Why two ladders: quality is judged on problems that nobody fitted. The two
// have no count in common, whatever the largest is. Why powers of two: engines
// capture graphs and choose configurations at them, so a table is profiled and
// verified there and between them.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_TOKEN_COUNTS_H_
#define WAVETUNE_FORMATS_WORKLOAD_TOKEN_COUNTS_H_

#include <cstdint>
#include <vector>

namespace wavetune {

enum class TokenCounts {
  kProfiled,  // 1, 2, 3, 4, 6, 8, 12, ...: powers of two, and half of the way.
  kJudged,    // 5, 7, 10, 14, 20, ...: half of the way between these.
};

// Returns the counts of a ladder up to `most`, rising; the profiled ones end
// with `most` unless another workload could be judged there. `most` >= 1.
// Cannot fail.
std::vector<int64_t> TokenLadder(TokenCounts counts, int64_t most);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_TOKEN_COUNTS_H_
