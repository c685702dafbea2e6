#include "fit/plan/refinement.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "fit/models/decision_models.h"
#include "fit/models/eligibility.h"
#include "fit/models/expected_regret.h"
#include "fit/models/latency_matrix.h"
#include "fit/models/portfolio.h"
#include "fit/models/profile_state.h"
#include "model/kernel/measure_item.h"

namespace wavetune {
namespace {

constexpr size_t kLeastShortlist = 64;
constexpr size_t kLeaders = 12;
// Leaders of each problem: four everywhere before eight anywhere, and so on.
// However early samples or time end, no problem goes without for the sake of
// another's twelfth leader (docs/decisions/0004).
constexpr size_t kDepths[] = {kLeaders / 3, 2 * kLeaders / 3, kLeaders};
// Candidates measured at a problem, in leaders: those of a first round, and as
// many that it brings up.
constexpr size_t kRoundsInAll = 2;
constexpr size_t kMostPerProblem = kRoundsInAll * kLeaders;
constexpr double kLeaderMargin = 0.2;
// What is kept for refinement: a share of the profile's samples, and the least,
// the leaders of eight problems.
constexpr int64_t kBudgetShare = 4;
constexpr int64_t kLeastBudget = 8 * kLeaders;

bool Contains(const std::vector<Problem>& sorted, const Problem& problem) {
  return std::binary_search(sorted.begin(), sorted.end(), problem);
}

std::vector<size_t> Sorted(std::vector<size_t> indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

class Refiner {
 public:
  // A copy of the specialisation: its observations get an importance.
  Refiner(const ProfileInput& input, SpecialisationState specialisation,
          const SpecialisationState& wider, const FailedProblems& failed)
      : state_(std::move(specialisation)),
        wider_(wider),
        failed_(failed),
        models_(FitDecisionModels(input, state_)),
        latencies_(PredictMatrix(wider_, models_)),
        shortlist_(Sorted(SelectPortfolio(
            wider_, latencies_, EligibleCandidates(state_),
            std::max(kLeastShortlist, PortfolioSize(input))))) {}

  // Over the problems that may be measured: the others cannot improve.
  bool BelowTarget(double target) const {
    double regret = 0;
    double weight = 0;
    const size_t count = state_.representatives.size();
    for (size_t p = 0; p < count; ++p) {
      if (IsHeldOut(p, count)) continue;
      regret += state_.weights[p] *
                ExpectedRegretAt(state_, models_, latencies_, shortlist_, p);
      weight += state_.weights[p];
    }
    return weight == 0 || regret / weight < target;
  }

  // With `fill` few are joined by deeper leaders: several devices measure a
  // handful in less time than it takes to plan it.
  std::vector<MeasureItem> Items(size_t most, bool fill) const {
    const std::vector<Uncertain> problems = ByRegret();
    std::vector<MeasureItem> items;
    for (const size_t depth : kDepths) {
      for (MeasureItem& item : ItemsOf(problems, depth, most)) {
        if (items.size() == most) break;
        if (std::find(items.begin(), items.end(), item) == items.end()) {
          items.push_back(std::move(item));
        }
      }
      if (items.size() >= (fill ? most / 2 : 1)) break;
    }
    return items;
  }

 private:
  struct Uncertain {
    double regret;  // Times weight.
    size_t problem;
    std::vector<size_t> leaders;  // Those that compete, the fastest first.
  };

  // The problems that may be measured and may gain, the largest regret first.
  std::vector<Uncertain> ByRegret() const {
    std::vector<Uncertain> problems;
    const size_t count = state_.representatives.size();
    for (size_t p = 0; p < count; ++p) {
      if (IsHeldOut(p, count)) continue;
      const double regret =
          state_.weights[p] *
          ExpectedRegretAt(state_, models_, latencies_, shortlist_, p);
      if (regret > 0) problems.push_back({regret, p, LeadersAt(p)});
    }
    std::stable_sort(problems.begin(), problems.end(),
                     [](const Uncertain& a, const Uncertain& b) {
                       return a.regret > b.regret;
                     });
    return problems;
  }

  std::vector<size_t> LeadersAt(size_t p) const {
    double best = std::numeric_limits<double>::infinity();
    for (const size_t i : shortlist_) best = std::min(best, latencies_[i][p]);
    std::vector<size_t> leaders;
    for (const size_t i : shortlist_) {
      if (latencies_[i][p] < std::numeric_limits<double>::infinity() &&
          latencies_[i][p] <= best * (1 + kLeaderMargin)) {
        leaders.push_back(i);
      }
    }
    std::stable_sort(leaders.begin(), leaders.end(), [&](size_t a, size_t b) {
      return latencies_[a][p] < latencies_[b][p];
    });
    return leaders;
  }

  std::vector<MeasureItem> ItemsOf(const std::vector<Uncertain>& problems,
                                   size_t depth, size_t most) const {
    std::vector<MeasureItem> items;
    for (const Uncertain& u : problems) {
      const std::vector<size_t> missing = MissingLeaders(u, depth);
      // A problem's leaders go together, but none goes deeper before them.
      if (!items.empty() && items.size() + missing.size() > most) break;
      for (const size_t i : missing) {
        if (items.size() == most) break;
        items.push_back({state_.candidates[i].candidate->configuration,
                         state_.representatives[u.problem]});
      }
    }
    return items;
  }

  std::vector<size_t> MissingLeaders(const Uncertain& u, size_t depth) const {
    const Problem& problem = state_.representatives[u.problem];
    const auto is_measured = [&](size_t i) {
      return IsMeasured(state_.candidates[i], problem);
    };
    // Each round of samples can bring new leaders: not for ever.
    const auto measured = static_cast<size_t>(
        std::count_if(u.leaders.begin(), u.leaders.end(), is_measured));
    std::vector<size_t> missing;
    for (size_t k = 0; k < std::min(depth, u.leaders.size()); ++k) {
      const size_t i = u.leaders[k];
      if (measured + missing.size() >= kRoundsInAll * depth) break;
      if (is_measured(i) || Contains(failed_[i], problem)) continue;
      missing.push_back(i);
    }
    return missing;
  }

  SpecialisationState state_;
  const SpecialisationState& wider_;  // The same representatives first.
  const FailedProblems& failed_;
  std::vector<CandidateModel> models_;
  LatencyMatrix latencies_;  // [candidate][representative of wider_]
  std::vector<size_t> shortlist_;
};

}  // namespace

int64_t RefinementBudget(const ProfileInput& input,
                         const SpecialisationState& specialisation) {
  const auto compiled = static_cast<int64_t>(specialisation.candidates.size());
  const int64_t share =
      compiled * input.options.samples_per_candidate / kBudgetShare;
  return std::min(std::max(share, kLeastBudget),
                  MostRefinementSamples(specialisation));
}

int64_t MostRefinementSamples(const SpecialisationState& specialisation) {
  if (!specialisation.representatives_given) return 0;
  return static_cast<int64_t>(specialisation.representatives.size() *
                              kMostPerProblem);
}

std::vector<MeasureItem> RefinementItems(
    const ProfileInput& input, const SpecialisationState& specialisation,
    const SpecialisationState& wider, const FailedProblems& failed,
    size_t most) {
  if (!specialisation.representatives_given || most == 0) return {};
  const Refiner refiner(input, specialisation, wider, failed);
  if (refiner.BelowTarget(input.options.target_regret)) return {};
  return refiner.Items(most, /*fill=*/input.options.devices > 1);
}

}  // namespace wavetune
