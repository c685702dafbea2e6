#include "fit/models/standing.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "fit/models/candidate_model.h"

namespace wavetune {
namespace {

// A prediction counts as much as measurements at so many problems
// (docs/decisions/0044).
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

std::vector<Standing> MeasuredStanding(
    const SpecialisationState& specialisation, const SegmentPlace& place) {
  std::vector<Standing> standing(specialisation.candidates.size());
  for (const auto& [key, meeting] : MeetingsOf(specialisation, place)) {
    if (meeting.size() < 2) continue;
    const double mean_us = MeanLatencyUs(meeting);
    for (const Measured& m : meeting) {
      const Observation& o = *m.observation;
      standing[m.candidate].excess += o.weight * (o.latency_us / mean_us - 1);
      standing[m.candidate].problems += o.weight;
    }
  }
  for (Standing& s : standing) {
    if (s.problems > 0) s.excess /= s.problems;
  }
  return standing;
}

size_t FastestByStanding(const std::vector<double>& predicted,
                         const std::vector<Standing>& standing) {
  // Both relative to their mean over what was measured.
  double problems = 0;
  double mean_predicted = 0;
  double mean_excess = 0;
  for (size_t i = 0; i < predicted.size(); ++i) {
    problems += standing[i].problems;
    mean_predicted += standing[i].problems * predicted[i];
    mean_excess += standing[i].problems * standing[i].excess;
  }
  mean_predicted = problems > 0 ? mean_predicted / problems : predicted[0];
  if (problems > 0) mean_excess /= problems;
  std::vector<double> expected;
  for (size_t i = 0; i < predicted.size(); ++i) {
    const Standing& s = standing[i];
    expected.push_back((kPriorProblems * (predicted[i] / mean_predicted - 1) +
                        s.problems * (s.excess - mean_excess)) /
                       (kPriorProblems + s.problems));
  }
  return static_cast<size_t>(
      std::min_element(expected.begin(), expected.end()) - expected.begin());
}

}  // namespace wavetune
