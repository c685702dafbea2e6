#include "fit/models/held_out.h"

#include <utility>

#include "fit/models/eligibility.h"

namespace wavetune {
namespace {

HeldOutFold FoldOf(absl::Span<const Observation> observations, size_t folds,
                   size_t index) {
  HeldOutFold fold;
  size_t number = 0;
  for (const Observation& o : observations) {
    if (o.representative && number++ % folds == index) {
      fold.held_out.push_back(&o);
    } else {
      fold.fitted.push_back(o);
    }
  }
  return fold;
}

}  // namespace

std::vector<HeldOutFold> HeldOutFolds(
    absl::Span<const Observation> observations, size_t folds) {
  std::vector<HeldOutFold> all;
  for (size_t i = 0; i < folds; ++i) {
    HeldOutFold fold = FoldOf(observations, folds, i);
    if (!fold.held_out.empty() && fold.fitted.size() >= kFewestObservations) {
      all.push_back(std::move(fold));
    }
  }
  return all;
}

}  // namespace wavetune
