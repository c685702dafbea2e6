#include "fit/models/decision_models.h"

#include "fit/models/eligibility.h"
#include "fit/models/importance.h"
#include "fit/models/latency_matrix.h"
#include "fit/models/uncertainty.h"

namespace wavetune {

std::vector<CandidateModel> FitDecisionModels(
    const ProfileInput& input, SpecialisationState& specialisation) {
  SetImportance(input, specialisation);
  std::vector<CandidateModel> models = FitCandidates(
      specialisation, input.device.multiprocessors, kFewestObservations);
  SetUncertainty(specialisation, models);
  return models;
}

}  // namespace wavetune
