#include "formats/workload/token_counts.h"

#include <algorithm>
#include <cmath>

namespace wavetune {
namespace {

constexpr double kStep = 1.5;
// Where the judged ladder begins between two steps of the other.
constexpr double kBetween = 1.224744871391589;  // sqrt(1.5)

// Powers of 1.5 are exact in double up to 2^53, and so the same everywhere.
std::vector<int64_t> Rounded(double first, int64_t most) {
  std::vector<int64_t> counts;
  for (double at = first; at < static_cast<double>(most) + 0.5; at *= kStep) {
    const auto count = static_cast<int64_t>(std::llround(at));
    if (count > most) break;
    if (counts.empty() || counts.back() != count) counts.push_back(count);
  }
  return counts;
}

// All counts between those that are profiled, up to `most`.
std::vector<int64_t> JudgedCounts(int64_t most) {
  const std::vector<int64_t> profiled = Rounded(1, most);
  std::vector<int64_t> judged = Rounded(kBetween, most);
  std::erase_if(judged, [&](int64_t count) {
    return std::binary_search(profiled.begin(), profiled.end(), count);
  });
  return judged;
}

}  // namespace

std::vector<int64_t> TokenLadder(TokenCounts counts, int64_t most) {
  std::vector<int64_t> judged = JudgedCounts(most);
  if (counts == TokenCounts::kJudged) return judged;
  std::vector<int64_t> profiled = Rounded(1, most);
  // A full batch is what a busy engine launches most.
  if (profiled.back() != most && (judged.empty() || judged.back() != most)) {
    profiled.push_back(most);
  }
  return profiled;
}

}  // namespace wavetune
