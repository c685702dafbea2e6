#include "fit/plan/challenges.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "fit/models/neighbours.h"
#include "fit/models/profile_state.h"

namespace wavetune {
namespace {

constexpr size_t kNobody = SIZE_MAX;

struct Challenge {
  double claim;
  size_t candidate;
  size_t problem;
};

class Challenges {
 public:
  Challenges(const SpecialisationState& wider, size_t count,
             const LatencyMatrix& latencies, const std::vector<size_t>& members,
             const FailedProblems& failed)
      : wider_(wider),
        count_(count),
        latencies_(latencies),
        members_(members),
        failed_(failed) {}

  // The largest claims first.
  std::vector<Challenge> All() const {
    std::vector<Challenge> all;
    for (size_t p = 0; p < count_; ++p) {
      if (!IsHeldOut(p, count_)) AddOf(p, all);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Challenge& a, const Challenge& b) {
                       return a.claim > b.claim;
                     });
    return all;
  }

 private:
  // Of the neighbours of one problem.
  void AddOf(size_t p, std::vector<Challenge>& all) const {
    for (size_t q = FirstNeighbour(count_, p);
         q < FirstNeighbour(count_, p + 1); ++q) {
      constexpr double kUnreached = std::numeric_limits<double>::infinity();
      size_t winner = kNobody;
      double least_us = kUnreached;
      double known_us = kUnreached;
      for (const size_t i : members_) {
        if (latencies_[i][q] < least_us) {
          least_us = latencies_[i][q];
          winner = i;
        }
        if (IsMeasured(wider_.candidates[i], wider_.representatives[p])) {
          known_us = std::min(known_us, latencies_[i][q]);
        }
      }
      // Where nobody was measured the leaders come first.
      if (known_us == kUnreached || !MayMeasure(winner, p)) continue;
      all.push_back({(known_us / least_us - 1) * wider_.weights[q], winner, p});
    }
  }

  bool MayMeasure(size_t i, size_t p) const {
    const CandidateState& c = wider_.candidates[i];
    const Problem& problem = wider_.representatives[p];
    return c.legal[p] && !IsMeasured(c, problem) &&
           !std::binary_search(failed_[i].begin(), failed_[i].end(), problem);
  }

  const SpecialisationState& wider_;
  const size_t count_;
  const LatencyMatrix& latencies_;
  const std::vector<size_t>& members_;
  const FailedProblems& failed_;
};

}  // namespace

std::vector<MeasureItem> ChallengeItems(const SpecialisationState& wider,
                                        size_t count,
                                        const LatencyMatrix& latencies,
                                        const std::vector<size_t>& members,
                                        const FailedProblems& failed,
                                        size_t most) {
  std::vector<MeasureItem> items;
  if (wider.representatives.size() == count) return items;
  std::set<std::pair<size_t, size_t>> taken;
  for (const Challenge& c :
       Challenges(wider, count, latencies, members, failed).All()) {
    if (items.size() == most) break;
    if (!taken.emplace(c.candidate, c.problem).second) continue;
    items.push_back({wider.candidates[c.candidate].candidate->configuration,
                     wider.representatives[c.problem]});
  }
  return items;
}

}  // namespace wavetune
