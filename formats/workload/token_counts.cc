#include "formats/workload/token_counts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

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

// Spreads `left` evenly over the experts that have room below `tokens`.
void FillUp(int64_t tokens, int64_t left, std::vector<int64_t>& slots) {
  while (left > 0) {
    const auto with_room = std::count_if(slots.begin(), slots.end(),
                                         [&](int64_t n) { return n < tokens; });
    const int64_t share = std::max<int64_t>(1, left / with_room);
    for (int64_t& n : slots) {
      const int64_t more = std::min({share, tokens - n, left});
      n += more;
      left -= more;
    }
  }
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

std::vector<int64_t> BalancedSlots(int64_t tokens, int64_t top_k,
                                   int64_t experts, int64_t local) {
  const int64_t slots = tokens * top_k;
  std::vector<int64_t> result(static_cast<size_t>(local), slots / experts);
  const int64_t larger = std::min(slots % experts, local);
  for (int64_t i = 0; i < larger; ++i) ++result[static_cast<size_t>(i)];
  return result;
}

std::vector<int64_t> SkewedSlots(int64_t tokens, int64_t top_k, int64_t experts,
                                 int64_t local) {
  double sum = 0;
  for (int64_t r = 1; r <= experts; ++r) {
    sum += 1 / std::sqrt(static_cast<double>(r));
  }
  const auto slots = static_cast<double>(tokens * top_k);
  std::vector<int64_t> all;
  int64_t left = tokens * top_k;
  for (int64_t r = 1; r <= experts; ++r) {
    const double share = slots / sum / std::sqrt(static_cast<double>(r));
    all.push_back(std::min({static_cast<int64_t>(share), tokens, left}));
    left -= all.back();
  }
  FillUp(tokens, left, all);
  std::vector<int64_t> result;
  for (size_t i = 0; result.size() < static_cast<size_t>(local);
       i += static_cast<size_t>(experts / local)) {
    result.push_back(all[i]);
  }
  return result;
}

}  // namespace wavetune
