#include "fit/plan/recording_plan.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/status_macros.h"
#include "fit/models/profile_state.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/ragged_neighbour.h"

namespace wavetune {
namespace {

void SortByProblem(std::vector<MeasureItem>& items) {
  std::sort(items.begin(), items.end(),
            [](const MeasureItem& a, const MeasureItem& b) {
              return std::tie(a.problem, a.configuration) <
                     std::tie(b.problem, b.configuration);
            });
}

// What verification may ask beside the representative problems.
std::vector<Problem> RaggedOf(const KernelSpec& spec,
                              const SpecialisationState& s) {
  std::vector<Problem> ragged;
  if (!s.representatives_given) return ragged;
  for (const Problem& named : s.representatives) {
    const std::optional<Problem> problem =
        RaggedNeighbour(spec.Of(s.name), s.representatives, named);
    if (problem) ragged.push_back(*problem);
  }
  std::sort(ragged.begin(), ragged.end());
  ragged.erase(std::unique(ragged.begin(), ragged.end()), ragged.end());
  std::erase_if(ragged, [&s](const Problem& problem) {
    return std::find(s.representatives.begin(), s.representatives.end(),
                     problem) != s.representatives.end();
  });
  return ragged;
}

void AddCandidate(const KernelSpec& spec,
                  const SpecialisationState& specialisation,
                  const CandidateState& candidate,
                  const std::vector<Problem>& ragged, size_t count,
                  RecordingPlan& plan) {
  const Configuration& configuration = candidate.candidate->configuration;
  const std::vector<Problem> anchors =
      AnchorProblems(spec, specialisation, candidate, count);
  for (const Problem& problem : anchors) {
    plan.anchors.push_back({configuration, problem});
  }
  for (size_t p = 0; p < specialisation.representatives.size(); ++p) {
    const Problem& problem = specialisation.representatives[p];
    if (!candidate.legal[p] ||
        std::find(anchors.begin(), anchors.end(), problem) != anchors.end()) {
      continue;
    }
    plan.representatives.push_back({configuration, problem});
  }
  for (const Problem& problem : ragged) {
    if (IsLegal(spec.Of(specialisation.name), configuration, problem.View()) &&
        std::find(anchors.begin(), anchors.end(), problem) == anchors.end()) {
      plan.representatives.push_back({configuration, problem});
    }
  }
}

}  // namespace

absl::StatusOr<RecordingPlan> PlanRecording(const ProfileInput& input,
                                            size_t anchors_per_candidate) {
  ProfileInput unmeasured = input;
  unmeasured.samples.clear();
  ASSIGN_OR_RETURN(const ProfileState state, MakeProfileState(unmeasured));
  const size_t count = std::max(anchors_per_candidate, kMaxAnchors);
  RecordingPlan plan;
  for (const SpecialisationState& s : state.specialisations) {
    const std::vector<Problem> ragged = RaggedOf(*input.spec, s);
    for (const CandidateState& candidate : s.candidates) {
      AddCandidate(*input.spec, s, candidate, ragged, count, plan);
    }
  }
  SortByProblem(plan.anchors);
  SortByProblem(plan.representatives);
  return plan;
}

}  // namespace wavetune
