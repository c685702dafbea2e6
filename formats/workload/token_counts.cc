#include "formats/workload/token_counts.h"

namespace wavetune {
namespace {

bool IsJudged(int64_t count) {
  while (count % 2 == 0) count /= 2;
  return count == 5 || count == 7;
}

}  // namespace

std::vector<int64_t> TokenLadder(TokenCounts counts, int64_t most) {
  const bool profiled = counts == TokenCounts::kProfiled;
  std::vector<int64_t> ladder;
  if (profiled) ladder.push_back(1);
  for (int64_t octave = 1; octave <= most; octave *= 2) {
    for (const int64_t step : {profiled ? 2 : 5, profiled ? 3 : 7}) {
      if (octave * step <= most) ladder.push_back(octave * step);
    }
  }
  // A full batch is what a busy engine launches most.
  if (profiled && ladder.back() != most && !IsJudged(most))
    ladder.push_back(most);
  return ladder;
}

}  // namespace wavetune
