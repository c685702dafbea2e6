#include "fit/plan/plan_next.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel_for.h"
#include "fit/models/anchor_plan.h"
#include "fit/models/neighbours.h"
#include "fit/models/profile_state.h"
#include "fit/plan/refinement.h"
#include "fit/plan/screening.h"

namespace wavetune {
namespace {

// Few steps, as each is planned anew; which anchors come next hardly depends on
// the last ones. Of many devices, so many of each.
constexpr size_t kBatch = 512;
constexpr size_t kBatchOfDevice = 128;
// Short, as each step chooses by what the one before has shown: of two devices.
constexpr size_t kRefinementBatch = 48;
// Fewest survivors of screening, whatever the budget.
constexpr size_t kLeastSurvivors = 8;

using Problems = std::vector<std::vector<Problem>>;  // Per candidate.

// One specialisation's part of the plan.
class Planner {
 public:
  Planner(const ProfileInput& input, SpecialisationState& specialisation,
          const std::vector<MeasureItem>& failed,
          const std::vector<MeasureItem>& pending)
      : input_(input),
        state_(specialisation),
        failed_(ByCandidate(failed)),
        pending_(ByCandidate(pending)) {
    // Treat pending items as measured; their latencies are unknown.
    for (size_t i = 0; i < pending_.size(); ++i) {
      std::vector<Problem>& measured = specialisation.candidates[i].measured;
      measured.insert(measured.end(), pending_[i].begin(), pending_[i].end());
      std::sort(measured.begin(), measured.end());
    }
  }

  // Sets phase, items and the estimate; kDone where nothing is left.
  ProfileStep Next() {
    Problems screening = Anchors(AllCandidates(), kScreeningAnchors);
    ProfileStep step{.phase = ProfilePhase::kScreening};
    step.items = Missing(screening, AnchorRoom());
    int64_t planned = Used() + CountMissing(screening);
    if (!step.items.empty()) {
      planned += SamplingEstimate(state_.candidates.size() / 2) +
                 MostRefinementSamples(state_);
      step.samples_planned = std::min(planned, Budget());
      return step;
    }
    if (IsPending(screening)) return Awaiting(ProfilePhase::kSampling);
    const SpecialisationState wider = WithNeighbours(input_, state_);
    const std::vector<size_t> survivors =
        Survivors(wider, screening, input_.device.multiprocessors,
                  SurvivorLimit(screening));
    const Problems sampling = Anchors(survivors, kMaxAnchors);
    step.items = Missing(sampling, AnchorRoom());
    step.phase = ProfilePhase::kSampling;
    if (!step.items.empty()) {
      planned += CountMissing(sampling) + MostRefinementSamples(state_);
      step.samples_planned = std::min(planned, Budget());
      return step;
    }
    if (IsPending(sampling)) return Awaiting(ProfilePhase::kRefining);
    // All that sampling left: it asks for little where few tiles are possible,
    // and nothing of candidates that screening dropped.
    const int64_t room = Budget() - Used();
    step.items =
        RefinementItems(input_, state_, wider, failed_,
                        static_cast<size_t>(std::clamp<int64_t>(
                            room, 0, static_cast<int64_t>(RefinementBatch()))));
    if (step.items.empty()) {
      step.phase = ProfilePhase::kDone;
      step.samples_planned = Used();
      return step;
    }
    step.phase = ProfilePhase::kRefining;
    step.samples_planned =
        std::min(Used() + MostRefinementSamples(state_), Budget());
    return step;
  }

  int64_t Used() const {
    int64_t used = 0;
    for (const CandidateState& c : state_.candidates) {
      used += static_cast<int64_t>(c.measured.size());
    }
    return used;
  }

  int64_t Budget() const {
    return static_cast<int64_t>(state_.candidates.size()) *
           input_.options.samples_per_candidate;
  }

 private:
  // Sorted, per candidate of the specialisation.
  Problems ByCandidate(const std::vector<MeasureItem>& items) const {
    std::map<Configuration, size_t> index;
    for (size_t i = 0; i < state_.candidates.size(); ++i) {
      index[state_.candidates[i].candidate->configuration] = i;
    }
    Problems problems(state_.candidates.size());
    for (const MeasureItem& item : items) {
      const auto found = index.find(item.configuration);
      if (found == index.end() || item.problem.specialisation != state_.name) {
        continue;
      }
      problems[found->second].push_back(item.problem);
    }
    for (auto& own : problems) std::sort(own.begin(), own.end());
    return problems;
  }

  // Whether one of the problems is being measured.
  bool IsPending(const Problems& problems) const {
    for (size_t i = 0; i < problems.size(); ++i) {
      for (const Problem& problem : problems[i]) {
        if (std::binary_search(pending_[i].begin(), pending_[i].end(),
                               problem)) {
          return true;
        }
      }
    }
    return false;
  }

  // What is pending decides what is measured in `phase`.
  ProfileStep Awaiting(ProfilePhase phase) const {
    return {.phase = phase,
            .awaits_pending = true,
            .samples_planned = Used() + MostRefinementSamples(state_)};
  }

  std::vector<size_t> AllCandidates() const {
    std::vector<size_t> all(state_.candidates.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }

  Problems Anchors(const std::vector<size_t>& candidates, size_t count) const {
    Problems problems(state_.candidates.size());
    ParallelFor(candidates.size(), [&](size_t k) {
      const size_t i = candidates[k];
      problems[i] =
          AnchorProblems(*input_.spec, state_, state_.candidates[i], count);
    });
    return problems;
  }

  bool IsMissing(size_t i, const Problem& problem) const {
    return !IsMeasured(state_.candidates[i], problem) &&
           !std::binary_search(failed_[i].begin(), failed_[i].end(), problem);
  }

  // The first missing anchor of every candidate, then the second, ...
  std::vector<MeasureItem> Missing(const Problems& problems,
                                   size_t most) const {
    std::vector<MeasureItem> items;
    size_t longest = 0;
    for (const auto& own : problems) longest = std::max(longest, own.size());
    for (size_t k = 0; k < longest; ++k) {
      for (size_t i = 0; i < problems.size(); ++i) {
        if (k >= problems[i].size() || !IsMissing(i, problems[i][k])) continue;
        if (items.size() == most) return items;
        items.push_back(
            {state_.candidates[i].candidate->configuration, problems[i][k]});
      }
    }
    return items;
  }

  int64_t CountMissing(const Problems& problems) const {
    int64_t count = 0;
    for (size_t i = 0; i < problems.size(); ++i) {
      for (const Problem& p : problems[i]) count += IsMissing(i, p) ? 1 : 0;
    }
    return count;
  }

  size_t Batch() const {
    return std::max(kBatch, kBatchOfDevice * static_cast<size_t>(std::max(
                                                 input_.options.devices, 1)));
  }

  size_t RefinementBatch() const {
    return kRefinementBatch *
           static_cast<size_t>(std::max(input_.options.devices / 2, 1));
  }

  bool IsRefinement() const { return input_.options.refinement_samples > 0; }

  // Anchors that may be measured now. Other representative problems move the
  // anchors: without a share of its own refinement would get nothing.
  size_t AnchorRoom() const {
    if (!IsRefinement()) return Batch();
    const int64_t kept = static_cast<int64_t>(state_.candidates.size()) *
                         input_.options.refinement_samples;
    return static_cast<size_t>(std::clamp<int64_t>(
        Budget() - kept - Used(), 0, static_cast<int64_t>(Batch())));
  }

  static int64_t SamplingEstimate(size_t survivors) {
    return static_cast<int64_t>(survivors * (kMaxAnchors - kScreeningAnchors));
  }

  // As many as the budget can sample fully beside refinement.
  size_t SurvivorLimit(const Problems& screening) const {
    int64_t screened = 0;
    for (const auto& own : screening) {
      screened += static_cast<int64_t>(own.size());
    }
    const int64_t left = Budget() - screened - RefinementBudget(input_, state_);
    const int64_t most = std::max<int64_t>(0, left) / SamplingEstimate(1);
    return std::max(kLeastSurvivors, static_cast<size_t>(most));
  }

  const ProfileInput& input_;
  const SpecialisationState& state_;
  const FailedProblems failed_;
  const Problems pending_;
};

}  // namespace

ProfileStep PlanNext(const ProfileInput& input,
                     const std::vector<MeasureItem>& failed,
                     const std::vector<MeasureItem>& pending) {
  absl::StatusOr<ProfileState> state = MakeProfileState(input);
  if (!state.ok()) return {};
  const auto used = static_cast<int64_t>(input.samples.size() + pending.size());
  ProfileStep done{.samples_planned = used};
  const int64_t budget = state->compiled * input.options.samples_per_candidate;
  const double time_budget_us = input.options.device_time_budget_us;
  if (time_budget_us > 0 && state->device_time_us >= time_budget_us) {
    return done;
  }
  // All specialisations advance phase by phase. Of those with the earliest
  // phase the first goes on; when refining, the one with the fewest samples a
  // candidate, so that time that ends early is short for all.
  ProfileStep best = done;
  double best_share = 0;
  int64_t planned = 0;
  for (SpecialisationState& s : state->specialisations) {
    if (s.candidates.empty()) continue;
    Planner planner(input, s, failed, pending);
    ProfileStep step = planner.Next();
    const int64_t room =
        std::min(planner.Budget() - planner.Used(), budget - used);
    if (static_cast<int64_t>(step.items.size()) > room) {
      step.items.resize(static_cast<size_t>(std::max<int64_t>(0, room)));
    }
    if (step.items.empty() && !step.awaits_pending) {
      planned += planner.Used();
      continue;
    }
    planned += std::max(step.samples_planned, planner.Used());
    const double share = step.phase == ProfilePhase::kRefining
                             ? static_cast<double>(planner.Used()) /
                                   static_cast<double>(s.candidates.size())
                             : 0;
    // What can be measured now goes before what is waited for.
    const bool same = step.phase == best.phase;
    if (step.phase < best.phase || (same && best.awaits_pending) ||
        (same && !step.awaits_pending && share < best_share)) {
      best = std::move(step);
      best_share = share;
    }
  }
  if (best.items.empty() && !best.awaits_pending) return done;
  best.samples_planned = std::max(planned, used);
  return best;
}

}  // namespace wavetune
