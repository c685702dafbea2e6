#include "fit/models/portfolio.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "model/kernel/kernel_spec.h"
#include "model/table/table_check.h"

namespace wavetune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRegretCap = 1;
constexpr double kLeastDrop = 1e-12;
constexpr size_t kNone = SIZE_MAX;

class Selection {
 public:
  Selection(const SpecialisationState& specialisation,
            const LatencyMatrix& latencies, const std::vector<bool>& eligible)
      : specialisation_(specialisation),
        candidates_(specialisation.candidates),
        eligible_(eligible),
        regret_(latencies),
        current_(specialisation.representatives.size(), kRegretCap) {
    for (size_t p = 0; p < current_.size(); ++p) SetRegrets(latencies, p);
  }

  std::vector<size_t> Choose(size_t size) {
    while (chosen_.size() < size) {
      const size_t next = Next();
      if (next == kNone) break;
      Take(next);
    }
    EnsureUniversal(size);
    return chosen_;
  }

 private:
  // Near ties within a macro configuration, then regrets against the best.
  void SetRegrets(const LatencyMatrix& latencies, size_t p) {
    const std::vector<size_t> winner = Winners(latencies, p);
    double best = kInfinity;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (eligible_[i]) best = std::min(best, latencies[i][p]);
    }
    for (size_t i = 0; i < candidates_.size(); ++i) {
      regret_[i][p] = kRegretCap;
      if (!eligible_[i] || latencies[i][p] == kInfinity) continue;
      const size_t macro = static_cast<size_t>(candidates_[i].macro_class);
      double latency_us = fastest_[macro];
      if (winner[macro] != i) {
        latency_us = std::max(latencies[i][p], latency_us * (1 + kMicroTie));
      }
      regret_[i][p] = std::min(latency_us / best - 1, kRegretCap);
    }
  }

  // Who takes the best prediction of each macro class; sets fastest_.
  std::vector<size_t> Winners(const LatencyMatrix& latencies, size_t p) {
    fastest_.assign(candidates_.size(), kInfinity);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      double& fastest =
          fastest_[static_cast<size_t>(candidates_[i].macro_class)];
      if (eligible_[i]) fastest = std::min(fastest, latencies[i][p]);
    }
    std::vector<size_t> winner(candidates_.size(), kNone);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const auto macro = static_cast<size_t>(candidates_[i].macro_class);
      if (!eligible_[i] || winner[macro] != kNone) continue;
      if (latencies[i][p] <= fastest_[macro] * (1 + kMicroTie)) {
        winner[macro] = i;
      }
    }
    return winner;
  }

  // Weighted mean regret after adding candidate i.
  double CostWith(size_t i) const {
    double cost = 0;
    for (size_t p = 0; p < current_.size(); ++p) {
      cost += specialisation_.weights[p] * std::min(current_[p], regret_[i][p]);
    }
    return cost;
  }

  bool IsChosen(size_t i) const {
    return std::find(chosen_.begin(), chosen_.end(), i) != chosen_.end();
  }

  // The candidate to add, or kNone where none gains anything.
  size_t Next() const {
    double before = 0;
    for (size_t p = 0; p < current_.size(); ++p) {
      before += specialisation_.weights[p] * current_[p];
    }
    size_t best = kNone;
    double best_cost = kInfinity;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (!eligible_[i] || IsChosen(i)) continue;
      const double cost = CostWith(i);
      if (cost < best_cost) {
        best_cost = cost;
        best = i;
      }
    }
    const bool gains = best_cost < before - kLeastDrop;
    // The first is taken even where every regret is at its cap.
    if (best == kNone || (!gains && !chosen_.empty())) return kNone;
    return best;
  }

  void Take(size_t i) {
    chosen_.push_back(i);
    for (size_t p = 0; p < current_.size(); ++p) {
      current_[p] = std::min(current_[p], regret_[i][p]);
    }
  }

  void EnsureUniversal(size_t size) {
    for (const size_t i : chosen_) {
      if (candidates_[i].universal) return;
    }
    size_t best = kNone;
    double best_cost = kInfinity;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (!eligible_[i] || !candidates_[i].universal) continue;
      // Judged alone: it stands in where no other member is legal.
      double cost = 0;
      for (size_t p = 0; p < current_.size(); ++p) {
        cost += specialisation_.weights[p] * regret_[i][p];
      }
      if (cost < best_cost) {
        best_cost = cost;
        best = i;
      }
    }
    if (best == kNone) return;
    if (chosen_.size() >= size) chosen_.resize(size - 1);
    chosen_.push_back(best);
  }

  const SpecialisationState& specialisation_;
  const std::vector<CandidateState>& candidates_;
  const std::vector<bool>& eligible_;
  LatencyMatrix regret_;  // [candidate][representative problem]
  std::vector<double> current_;
  std::vector<double> fastest_;
  std::vector<size_t> chosen_;
};

}  // namespace

size_t PortfolioSize(const ProfileInput& input) {
  const int wanted = input.options.portfolio_size > 0
                         ? input.options.portfolio_size
                         : input.spec->portfolio_size;
  return static_cast<size_t>(std::min(wanted, static_cast<int>(kMaxPortfolio)));
}

std::vector<size_t> SelectPortfolio(const SpecialisationState& specialisation,
                                    const LatencyMatrix& latencies,
                                    const std::vector<bool>& eligible,
                                    size_t size) {
  if (size == 0) return {};
  return Selection(specialisation, latencies, eligible).Choose(size);
}

}  // namespace wavetune
