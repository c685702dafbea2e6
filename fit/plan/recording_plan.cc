#include "fit/plan/recording_plan.h"

#include <algorithm>
#include <tuple>

#include "base/status_macros.h"
#include "fit/models/profile_state.h"

namespace wavetune {
namespace {

void SortByProblem(std::vector<MeasureItem>& items) {
  std::sort(items.begin(), items.end(),
            [](const MeasureItem& a, const MeasureItem& b) {
              return std::tie(a.problem, a.configuration) <
                     std::tie(b.problem, b.configuration);
            });
}

void AddCandidate(const KernelSpec& spec,
                  const SpecialisationState& specialisation,
                  const CandidateState& candidate, size_t count,
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
    for (const CandidateState& candidate : s.candidates) {
      AddCandidate(*input.spec, s, candidate, count, plan);
    }
  }
  SortByProblem(plan.anchors);
  SortByProblem(plan.representatives);
  return plan;
}

}  // namespace wavetune
