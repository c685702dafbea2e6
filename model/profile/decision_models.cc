#include "model/profile/decision_models.h"

#include "model/profile/eligibility.h"
#include "model/profile/latency_matrix.h"
#include "model/profile/rank_margins.h"
#include "model/profile/relevance.h"

namespace wavetune {

std::vector<CandidateModel> FitDecisionModels(
    const ProfileInput& input, SpecialisationState& specialisation) {
  SetRelevance(input, specialisation);
  std::vector<CandidateModel> models = FitCandidates(
      specialisation, input.device.multiprocessors, kFewestObservations);
  SetRankMargins(specialisation, models);
  return models;
}

}  // namespace wavetune
