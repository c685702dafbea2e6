#include "fit/build/misfit_notes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fit/build/misfit_coordinates.h"
#include "fit/build/residual_classes.h"
#include "fit/models/held_out.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// Above the note that only says how much is missed (fit/build/fit_notes.cc).
constexpr double kDoesNotFollowACoordinate = 12;
constexpr int kMostCoordinates = 2;
// Of two coordinates that explain as much the more telling one is named.
constexpr double kAsGood = 0.9;

// Parts of the problems that are predicted from the others.
constexpr size_t kHeldOutParts = 2;

// Launches with the prediction of a model that was not fitted to them.
struct Launches {
  std::vector<ResidualPoint> points;
  std::vector<const Observation*> observations;
  std::vector<size_t> candidates;

  void Add(const SubTable& axes, const CandidateModel& model, size_t candidate,
           const Observation& o) {
    points.push_back({.ratio = o.latency_us / PredictUs(axes, model, o.at),
                      .weight = o.weight});
    observations.push_back(&o);
    candidates.push_back(candidate);
  }
};

// Numbers the launches' problems in their order, so that both halves of the
// problems are spread alike.
void NumberProblems(Launches& launches) {
  std::map<Problem, size_t> numbers;
  for (const Observation* o : launches.observations) numbers[o->problem] = 0;
  size_t number = 0;
  for (auto& [problem, own] : numbers) own = number++;
  for (size_t p = 0; p < launches.points.size(); ++p) {
    launches.points[p].problem = numbers[launches.observations[p]->problem];
  }
}

// Adds the representative launches of one candidate, each predicted by a model
// of the anchors and of the other half of them.
void AddHeldOut(const SpecialisationState& state, size_t index,
                int64_t multiprocessors, Launches& launches) {
  const CandidateState& candidate = state.candidates[index];
  for (const HeldOutFold& fold :
       HeldOutFolds(candidate.observations, kHeldOutParts)) {
    const CandidateModel model =
        FitCandidate(state.axes, candidate.candidate->tiles_per_wave,
                     multiprocessors, fold.fitted);
    for (const Observation* o : fold.held_out) {
      launches.Add(state.axes, model, index, *o);
    }
  }
}

// Launches at representative problems; where none was measured all launches,
// predicted by the models that were fitted to them.
Launches LaunchesOf(const SpecialisationState& state,
                    const std::vector<CandidateModel>& models,
                    const std::vector<bool>& eligible,
                    int64_t multiprocessors) {
  Launches launches;
  for (size_t i = 0; i < state.candidates.size(); ++i) {
    if (eligible[i]) AddHeldOut(state, i, multiprocessors, launches);
  }
  const bool in_sample = launches.points.empty();
  for (size_t i = 0; in_sample && i < models.size(); ++i) {
    if (!eligible[i]) continue;
    for (const Observation& o : state.candidates[i].observations) {
      launches.Add(state.axes, models[i], i, o);
    }
  }
  NumberProblems(launches);
  return launches;
}

double Median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double ValueOf(const MisfitCoordinate& coordinate,
               const CandidateState& candidate, const Observation& o) {
  return coordinate.value(o.problem, candidate.candidate->configuration, o.at);
}

std::vector<double> ValuesOf(const MisfitCoordinate& coordinate,
                             const SpecialisationState& state,
                             const Launches& launches) {
  std::vector<double> values;
  for (size_t p = 0; p < launches.points.size(); ++p) {
    values.push_back(ValueOf(coordinate,
                             state.candidates[launches.candidates[p]],
                             *launches.observations[p]));
  }
  return values;
}

// Against what is usual of the candidate's launches in the same segment, whose
// coefficients have taken that up.
std::vector<double> Relative(const MisfitCoordinate& coordinate,
                             const SpecialisationState& state,
                             const Launches& launches,
                             std::vector<double> values) {
  using Segment = std::array<size_t, 3>;  // Candidate, row and wave regime.
  const auto segment_of = [&](size_t candidate, const Observation& o) {
    const SegmentPlace place =
        PlaceAt(state.axes,
                state.candidates[candidate].candidate->tiles_per_wave, o.at);
    return Segment{candidate, place.row_regime, place.wave_regime};
  };
  std::map<Segment, std::vector<double>> all;
  const std::set<size_t> candidates(launches.candidates.begin(),
                                    launches.candidates.end());
  for (const size_t candidate : candidates) {
    const CandidateState& c = state.candidates[candidate];
    for (const Observation& o : c.observations) {
      all[segment_of(candidate, o)].push_back(ValueOf(coordinate, c, o));
    }
  }
  std::map<Segment, double> usual;
  for (auto& [segment, own] : all) usual[segment] = Median(std::move(own));
  for (size_t p = 0; p < values.size(); ++p) {
    const double median =
        usual[segment_of(launches.candidates[p], *launches.observations[p])];
    if (median > 0) values[p] = values[p] / median;
  }
  return values;
}

// A coordinate with the classes of launches along it.
struct Explanation {
  const MisfitCoordinate* coordinate = nullptr;
  const std::vector<double>* values = nullptr;  // As they are, for people.
  ResidualClasses found;
};

// A coordinate's value at each launch: they stay the same while what is found
// is taken out of the ratios.
struct Values {
  std::vector<double> as_they_are;  // For people.
  std::vector<double> compared;
};

std::vector<Values> AllValues(const std::vector<MisfitCoordinate>& coordinates,
                              const SpecialisationState& state,
                              const Launches& launches) {
  std::vector<Values> all;
  for (const MisfitCoordinate& coordinate : coordinates) {
    Values& own = all.emplace_back();
    own.as_they_are = ValuesOf(coordinate, state, launches);
    own.compared = coordinate.relative
                       ? Relative(coordinate, state, launches, own.as_they_are)
                       : own.as_they_are;
  }
  return all;
}

bool IsWorthNaming(const ResidualClasses& found) {
  return found.IsSure() &&
         found.gain >= std::max(kWorthNaming, kShareOfError * found.error);
}

// The coordinate that explains most; without one where none is worth naming.
Explanation Best(const std::vector<MisfitCoordinate>& coordinates,
                 const std::vector<Values>& values, const Launches& launches) {
  Explanation best;
  double most = 0;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    ResidualClasses found =
        ClassifyResiduals(launches.points, values[i].compared);
    const double gain = found.gain;
    if (!IsWorthNaming(found) || gain * kAsGood <= most) continue;
    most = gain;
    best = {&coordinates[i], &values[i].as_they_are, std::move(found)};
  }
  return best;
}

std::string FormatValue(MisfitCoordinate::Unit unit, double value) {
  switch (unit) {
    case MisfitCoordinate::Unit::kShare:
      return absl::StrFormat("%.0f %%", value * 100);
    case MisfitCoordinate::Unit::kBytes:
      if (value >= 1024 * 1024) {
        return absl::StrFormat("%.3g MiB", value / (1024 * 1024));
      }
      if (value >= 1024) return absl::StrFormat("%.3g KiB", value / 1024);
      return absl::StrFormat("%.3g bytes", value);
    case MisfitCoordinate::Unit::kCount:
      break;
  }
  return absl::StrFormat("%.4g", value);
}

// The classes of launches that take least and most of what is predicted.
struct Ends {
  size_t fast = 0;
  size_t slow = 0;
};

Ends EndsOf(const std::vector<ResidualClass>& classes) {
  Ends ends;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].ratio < classes[ends.fast].ratio) ends.fast = i;
    if (classes[i].ratio > classes[ends.slow].ratio) ends.slow = i;
  }
  return ends;
}

// The median of a class in the coordinate's own unit.
double ValueOfClass(const Explanation& e, size_t index) {
  std::vector<double> own;
  for (size_t p = 0; p < e.values->size(); ++p) {
    if (e.found.class_of[p] == index) own.push_back((*e.values)[p]);
  }
  return Median(std::move(own));
}

// "12 %", or "0.3 times what is usual of a configuration" where the values of
// different configurations do not compare.
std::string ClassText(const Explanation& e, size_t index, bool own_unit) {
  if (own_unit) {
    return FormatValue(e.coordinate->unit, ValueOfClass(e, index));
  }
  return absl::StrFormat("%.2g times what is usual of a configuration",
                         e.found.classes[index].value);
}

std::string Advice(const Explanation& e, const Ends& ends) {
  const MisfitCoordinate& c = *e.coordinate;
  const double fast = ValueOfClass(e, ends.fast);
  const double slow = ValueOfClass(e, ends.slow);
  if (c.limit > 0 && fast <= c.limit && slow > c.limit) return c.advice_beyond;
  return ends.slow > ends.fast ? c.advice_where_it_costs
                               : c.advice_where_it_saves;
}

std::string Text(const Explanation& e) {
  const std::vector<ResidualClass>& classes = e.found.classes;
  const Ends ends = EndsOf(classes);
  const bool own_unit =
      !e.coordinate->relative ||
      (e.coordinate->unit == MisfitCoordinate::Unit::kShare &&
       (ValueOfClass(e, ends.fast) < ValueOfClass(e, ends.slow)) ==
           (ends.fast < ends.slow));
  return absl::StrFormat(
      "the fit does not follow %s: where that is %s, launches take %.2f times "
      "what the model says, where it is %s, %.2f times; with it the mean error "
      "would be %.0f instead of %.0f %%. To do: %s",
      e.coordinate->name, ClassText(e, ends.fast, own_unit),
      classes[ends.fast].ratio, ClassText(e, ends.slow, own_unit),
      classes[ends.slow].ratio, (e.found.error - e.found.gain) * 100,
      e.found.error * 100, Advice(e, ends));
}

// Takes what the explanation says out of the ratios.
void Correct(const Explanation& e, Launches& launches) {
  for (size_t p = 0; p < launches.points.size(); ++p) {
    launches.points[p].ratio /= e.found.classes[e.found.class_of[p]].ratio;
  }
}

}  // namespace

std::vector<FitNote> NotesOnMisfit(const ProfileInput& input,
                                   const SpecialisationState& specialisation,
                                   const std::vector<CandidateModel>& models,
                                   const std::vector<bool>& eligible) {
  const std::vector<MisfitCoordinate> coordinates = MisfitCoordinates(
      input.spec->Of(specialisation.name), *specialisation.mapping,
      specialisation.axes.form, input.device);
  Launches launches = LaunchesOf(specialisation, models, eligible,
                                 input.device.multiprocessors);
  const std::vector<Values> values =
      AllValues(coordinates, specialisation, launches);
  std::vector<FitNote> notes;
  for (int i = 0; i < kMostCoordinates; ++i) {
    const Explanation best = Best(coordinates, values, launches);
    if (best.coordinate == nullptr) break;
    notes.push_back({absl::StrCat(NotePrefix(specialisation), Text(best)),
                     kDoesNotFollowACoordinate + best.found.gain});
    Correct(best, launches);
  }
  return notes;
}

}  // namespace wavetune
