// The exhaustive best, judged in rounds that did not pick it.
//
//   const double fraction = HeldOutFraction(latencies_us, chosen);
//
// Why: among equally fast configurations the luckiest in some rounds is the
// fastest of these rounds, and no search can keep that luck. Its time there
// tells of the noise, not of the best (docs/decisions/0025).
//
// Thread safety: pure function.
#ifndef WAVETUNE_SERVER_JOBS_HELD_OUT_BEST_H_
#define WAVETUNE_SERVER_JOBS_HELD_OUT_BEST_H_

#include <cstddef>
#include <vector>

namespace wavetune {

// Fewest rounds that a best is picked from.
inline constexpr size_t kFewestPickingRounds = 2;

// Returns the latency of the best over that of the chosen configuration, as the
// mean over the rounds. The best of a round is the configuration with the least
// median in the other ones. Above 1 where the chosen one is faster than such a
// pick; exactly 1 in rounds whose pick it is.
//
// Shapes: [configuration][round] latencies in microseconds, measured
// interleaved, as many rounds for each; 0 where a measurement failed. Rivals
// that failed in a round are left out. Returns 0 where the chosen one failed in
// one, or there are fewer than kFewestPickingRounds + 1. Cannot fail.
double HeldOutFraction(const std::vector<std::vector<double>>& latencies_us,
                       size_t chosen);

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_JOBS_HELD_OUT_BEST_H_
