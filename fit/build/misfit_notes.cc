#include "fit/build/misfit_notes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "fit/build/tile_fills.h"
#include "fit/models/candidate_model.h"
#include "fit/models/held_out.h"
#include "model/kernel/argument.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune {
namespace {

// Above the note that only says how much is missed (fit/build/fit_notes.cc).
constexpr double kDoesNotFollowACoordinate = 12;
constexpr double kLeastExcess = 0.1;
constexpr double kErrors = 3;
constexpr size_t kFewestProblems = 6;  // Of a third.
// Parts of the problems that are predicted from the others.
constexpr size_t kHeldOutParts = 2;

struct Coordinate {
  std::string name;
  // Finite and >= 0.
  std::function<double(const Configuration&, const Observation&)> value;
  // Values for people: shares; else times what is usual of a configuration.
  bool share = false;
  std::string advice;
};

// Bytes of the cold arguments, without those of elements that have no work:
// nothing is done for them.
double ColdBytes(const KernelSpec& spec, const Problem& problem,
                 const Configuration& configuration) {
  std::vector<int64_t> some = problem.repeated;
  std::erase(some, 0);
  const ProblemView view(absl::MakeConstSpan(problem.extents), some);
  double bytes = 0;
  for (const Argument& argument : spec.arguments) {
    if (argument.role == ArgumentRole::kScalar || !argument.cold) continue;
    bytes += static_cast<double>(Evaluate(argument.size, view, configuration)) *
             static_cast<double>(ElementBytes(argument.type));
  }
  return bytes;
}

std::vector<Coordinate> CoordinatesOf(const KernelSpec& spec,
                                      const Mapping& mapping) {
  std::vector<Coordinate> all;
  for (const TileFill& fill : TileFillsOf(spec, mapping)) {
    all.push_back({.name = fill.name,
                   .value =
                       [fill](const Configuration& c, const Observation& o) {
                         return fill.At(o.problem, c);
                       },
                   .share = true,
                   .advice = fill.advice});
  }
  std::vector<std::string> cold;
  for (const Argument& argument : spec.arguments) {
    if (argument.cold) cold.push_back(argument.name);
  }
  if (!cold.empty()) {
    const std::string list = absl::StrJoin(cold, ", ");
    all.push_back(
        {.name = absl::StrCat("the bytes of ", list,
                              " that it reads cold for each iteration"),
         .value =
             [&spec](const Configuration& c, const Observation& o) {
               return ColdBytes(spec, o.problem, c) /
                      (static_cast<double>(o.at.tiles) * o.at.iterations);
             },
         .advice = absl::StrCat(
             "name representative_problems that read little and much of ", list,
             " for their tiles, or count it in total_iterations")});
  }
  all.push_back({.name = "how much longer the longest loop is than the mean",
                 .value =
                     [](const Configuration&, const Observation& o) {
                       return static_cast<double>(o.at.longest_loop) /
                              o.at.iterations;
                     },
                 .advice = "count in longest_loop of the mapping what the "
                           "longest tile does"});
  return all;
}

// A launch beside the prediction of a model that was not fitted to it.
struct Launch {
  const Configuration* configuration = nullptr;
  const Observation* observation = nullptr;
  double log = 0;  // Of measured / predicted.
};

std::vector<Launch> LaunchesOf(const SpecialisationState& state,
                               const std::vector<bool>& eligible,
                               int64_t multiprocessors) {
  std::vector<Launch> launches;
  for (size_t i = 0; i < state.candidates.size(); ++i) {
    if (!eligible[i]) continue;
    const CandidateState& candidate = state.candidates[i];
    for (const HeldOutFold& fold :
         HeldOutFolds(candidate.observations, kHeldOutParts)) {
      const CandidateModel model =
          FitCandidate(state.axes, candidate.candidate->tiles_per_wave,
                       multiprocessors, fold.fitted);
      for (const Observation* o : fold.held_out) {
        launches.push_back(
            {&candidate.candidate->configuration, o,
             std::log(o->latency_us / PredictUs(state.axes, model, o->at))});
      }
    }
  }
  return launches;
}

// A launch's place along a coordinate.
struct Place {
  double value = 0;     // As it is.
  double compared = 0;  // Over the median of its configuration.
  const Launch* launch = nullptr;
};

// Ascending by what is compared.
std::vector<Place> PlacesOf(const Coordinate& coordinate,
                            const std::vector<Launch>& launches) {
  std::vector<Place> places;
  std::map<Configuration, std::vector<double>> of_configuration;
  for (const Launch& launch : launches) {
    const double value =
        coordinate.value(*launch.configuration, *launch.observation);
    places.push_back({value, value, &launch});
    of_configuration[*launch.configuration].push_back(value);
  }
  for (auto& [configuration, values] : of_configuration) {
    std::sort(values.begin(), values.end());
  }
  for (Place& place : places) {
    const std::vector<double>& own =
        of_configuration[*place.launch->configuration];
    const double median = own[own.size() / 2];
    if (median > 0) place.compared /= median;
  }
  std::stable_sort(
      places.begin(), places.end(),
      [](const Place& a, const Place& b) { return a.compared < b.compared; });
  return places;
}

// Launches with alike values. What launches of one problem have in common is no
// evidence for a coordinate: the unit is a problem.
struct Third {
  size_t problems = 0;
  double value = 0;     // Of the launch in the middle, as it is.
  double compared = 0;  // The same, as it is compared.
  double mean = 0;      // Of the problems' mean logarithms.
  double variance = 0;  // Of that mean.
};

Third Judge(absl::Span<const Place> places) {
  std::map<Problem, std::pair<double, double>> sums;
  for (const Place& place : places) {
    auto& [sum, count] = sums[place.launch->observation->problem];
    sum += place.launch->log;
    ++count;
  }
  const Place& middle = places[places.size() / 2];
  Third third{.problems = sums.size(),
              .value = middle.value,
              .compared = middle.compared};
  const auto n = static_cast<double>(sums.size());
  for (const auto& [problem, own] : sums) {
    third.mean += own.first / own.second / n;
  }
  for (const auto& [problem, own] : sums) {
    const double deviation = own.first / own.second - third.mean;
    third.variance += deviation * deviation / (n * std::max(n - 1, 1.0));
  }
  return third;
}

struct Misfit {
  const Coordinate* coordinate = nullptr;
  Third low;
  Third high;
  // By how much more than predicted launches of the high third take than those
  // of the low one: a logarithm. 0: nothing is sure.
  double excess = 0;
};

Misfit MisfitOf(const Coordinate& coordinate,
                const std::vector<Launch>& launches) {
  const std::vector<Place> places = PlacesOf(coordinate, launches);
  // Many may have what is usual: they are of neither third.
  const size_t third = places.size() / 3;
  const auto is = [&](auto than) {
    return static_cast<size_t>(
        std::count_if(places.begin(), places.end(), [&](const Place& p) {
          return than(p.compared, places[places.size() / 2].compared);
        }));
  };
  const size_t less = std::min(third, is(std::less<>()));
  const size_t more = std::min(third, is(std::greater<>()));
  if (less == 0 || more == 0) return {};
  const absl::Span<const Place> all(places);
  Misfit misfit{&coordinate, Judge(all.first(less)), Judge(all.last(more))};
  const double excess = misfit.high.mean - misfit.low.mean;
  const double error = std::sqrt(misfit.low.variance + misfit.high.variance);
  if (std::min(misfit.low.problems, misfit.high.problems) >= kFewestProblems &&
      excess > std::max(std::log1p(kLeastExcess), kErrors * error)) {
    misfit.excess = excess;
  }
  return misfit;
}

std::string ValueText(const Misfit& misfit, const Third& third) {
  if (misfit.coordinate->share) {
    return absl::StrFormat("%.0f %%", third.value * 100);
  }
  return absl::StrFormat("%.2g times what is usual of a configuration",
                         third.compared);
}

}  // namespace

std::vector<FitNote> NotesOnMisfit(const ProfileInput& input,
                                   const SpecialisationState& specialisation,
                                   const std::vector<bool>& eligible) {
  const std::vector<Coordinate> coordinates = CoordinatesOf(
      input.spec->Of(specialisation.name), *specialisation.mapping);
  const std::vector<Launch> launches =
      LaunchesOf(specialisation, eligible, input.device.multiprocessors);
  Misfit worst;
  for (const Coordinate& coordinate : coordinates) {
    const Misfit misfit = MisfitOf(coordinate, launches);
    if (misfit.excess > worst.excess) worst = misfit;
  }
  if (worst.excess == 0) return {};
  return {
      {absl::StrFormat(
           "%sthe fit does not follow %s: where that is %s, launches take %.2f "
           "times what the model says, where it is %s, %.2f times. To do: %s",
           NotePrefix(specialisation), worst.coordinate->name,
           ValueText(worst, worst.low), std::exp(worst.low.mean),
           ValueText(worst, worst.high), std::exp(worst.high.mean),
           worst.coordinate->advice),
       kDoesNotFollowACoordinate + worst.excess}};
}

}  // namespace wavetune
