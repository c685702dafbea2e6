#include "model/decision_models.h"

#include "model/eligibility.h"
#include "model/latency_matrix.h"
#include "model/rank_margins.h"
#include "model/relevance.h"

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
