#include "fit/models/standing.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "fit/models/candidate_model.h"

namespace wavetune {
namespace {

constexpr double kPriorProblems = 2;

struct Measured {
  size_t candidate;
  const Observation* observation;
};

// What was measured of one macro configuration at one problem.
using Meeting = std::vector<Measured>;

std::map<std::pair<int, Problem>, Meeting> MeetingsOf(
    const SpecialisationState& specialisation, const SegmentPlace& place) {
  std::map<std::pair<int, Problem>, Meeting> meetings;
  for (size_t i = 0; i < specialisation.candidates.size(); ++i) {
    const CandidateState& c = specialisation.candidates[i];
    for (const Observation& o : c.observations) {
      if (PlaceAt(specialisation.axes, c.candidate->tiles_per_wave, o.at) !=
          place) {
        continue;
      }
      meetings[{c.macro_class, o.problem}].push_back({i, &o});
    }
  }
  return meetings;
}

double MeanLatencyUs(const Meeting& meeting) {
  double sum = 0;
  for (const Measured& m : meeting) sum += m.observation->latency_us;
  return sum / static_cast<double>(meeting.size());
}

}  // namespace

std::vector<double> MeasuredStanding(const SpecialisationState& specialisation,
                                     const SegmentPlace& place) {
  const size_t count = specialisation.candidates.size();
  std::vector<double> excess(count);
  std::vector<double> weight(count, kPriorProblems);
  for (const auto& [key, meeting] : MeetingsOf(specialisation, place)) {
    if (meeting.size() < 2) continue;
    const double mean_us = MeanLatencyUs(meeting);
    for (const Measured& m : meeting) {
      const Observation& o = *m.observation;
      excess[m.candidate] += o.weight * (o.latency_us / mean_us - 1);
      weight[m.candidate] += o.weight;
    }
  }
  for (size_t i = 0; i < count; ++i) excess[i] /= weight[i];
  return excess;
}

size_t BestStanding(const std::vector<double>& costs,
                    const std::vector<double>& standing, double tie) {
  const double limit =
      *std::min_element(costs.begin(), costs.end()) * (1 + tie);
  size_t best = costs.size();
  for (size_t i = 0; i < costs.size(); ++i) {
    if (!(costs[i] <= limit)) continue;
    if (best == costs.size() || standing[i] < standing[best]) best = i;
  }
  return best;
}

}  // namespace wavetune
