#include "model/held_out.h"

namespace wavetune {

std::vector<HeldOut> PredictHeldOut(const SubTable& axes,
                                    const CandidateState& candidate,
                                    int64_t multiprocessors, int folds) {
  std::vector<HeldOut> predictions;
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<Observation> fitted;
    std::vector<const Observation*> held_out;
    int number = 0;
    for (const Observation& o : candidate.observations) {
      if (o.representative && number++ % folds == fold) {
        held_out.push_back(&o);
      } else {
        fitted.push_back(o);
      }
    }
    if (held_out.empty() || fitted.empty()) continue;
    const CandidateModel model = FitCandidate(
        axes, candidate.candidate->capacity, multiprocessors, fitted);
    for (const Observation* o : held_out) {
      predictions.push_back(
          {o, PredictUs(axes, model, o->at), QualityAt(axes, model, o->at)});
    }
  }
  return predictions;
}

}  // namespace wavetune
