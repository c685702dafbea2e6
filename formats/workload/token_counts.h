// Token counts at which a workload's layers are profiled and judged, and how a
// mixture of experts spreads them.
//
// Why two ladders: quality is judged on problems that nobody fitted. The two
// have no count in common, whatever the largest is.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_FORMATS_WORKLOAD_TOKEN_COUNTS_H_
#define WAVETUNE_FORMATS_WORKLOAD_TOKEN_COUNTS_H_

#include <cstdint>
#include <vector>

namespace wavetune {

enum class TokenCounts {
  kProfiled,  // 1, 2, 3, 5, 8, 11, 17, 26, ...: each half as large again.
  kJudged,    // 4, 6, 9, 14, 21, 31, ...: between them.
};

// Returns the counts of a ladder up to `most`, rising; the profiled ones end
// with `most` unless another workload could be judged there. `most` >= 1.
// Cannot fail.
std::vector<int64_t> TokenLadder(TokenCounts counts, int64_t most);

// Returns the slots of the first `local` of `experts` experts where `tokens`
// tokens go to `top_k` of them each, evenly: they differ by at most one, the
// larger first. 1 <= top_k <= experts; sums stay below 2^63. Cannot fail.
std::vector<int64_t> BalancedSlots(int64_t tokens, int64_t top_k,
                                   int64_t experts, int64_t local);

// As BalancedSlots, but experts are asked for unequally: the r-th most wanted
// in proportion to 1 / sqrt(r), no expert by more than all tokens. The local
// experts are every (experts / local)-th, so that they are like all.
std::vector<int64_t> SkewedSlots(int64_t tokens, int64_t top_k, int64_t experts,
                                 int64_t local);

}  // namespace wavetune

#endif  // WAVETUNE_FORMATS_WORKLOAD_TOKEN_COUNTS_H_
