#include "fit/models/eligibility.h"

#include <algorithm>
#include <cstddef>

namespace wavetune {
namespace {

int CountAnchors(const CandidateState& candidate) {
  return static_cast<int>(std::count_if(
      candidate.observations.begin(), candidate.observations.end(),
      [](const Observation& o) { return !o.representative; }));
}

// Where only representative problems were measured those count.
std::vector<int> SampleCounts(const SpecialisationState& specialisation) {
  std::vector<int> counts;
  for (const CandidateState& c : specialisation.candidates) {
    counts.push_back(CountAnchors(c));
  }
  if (std::any_of(counts.begin(), counts.end(), [](int n) { return n > 0; })) {
    return counts;
  }
  counts.clear();
  for (const CandidateState& c : specialisation.candidates) {
    counts.push_back(static_cast<int>(c.observations.size()));
  }
  return counts;
}

}  // namespace

std::vector<bool> EligibleCandidates(
    const SpecialisationState& specialisation) {
  const auto& candidates = specialisation.candidates;
  std::vector<bool> eligible(candidates.size());
  if (candidates.empty()) return eligible;
  const std::vector<int> counts = SampleCounts(specialisation);
  const int most = *std::max_element(counts.begin(), counts.end());
  size_t best_universal = candidates.size();
  bool universal = false;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const CandidateState& c = candidates[i];
    if (static_cast<int>(c.observations.size()) < kFewestObservations) continue;
    // An anchor may be a problem that clients ask for, too.
    eligible[i] = 2 * static_cast<int>(c.observations.size()) >= most;
    universal = universal || (eligible[i] && c.universal);
    if (c.universal && (best_universal == candidates.size() ||
                        counts[i] > counts[best_universal])) {
      best_universal = i;
    }
  }
  if (!universal && best_universal < candidates.size()) {
    eligible[best_universal] = true;
  }
  return eligible;
}

}  // namespace wavetune
