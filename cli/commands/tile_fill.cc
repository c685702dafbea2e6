#include "cli/commands/tile_fill.h"

#include <algorithm>
#include <utility>

#include "fit/build/misfit_coordinates.h"
#include "model/kernel/device.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Above it half of a tile is missing in a fifth of the launches at most.
constexpr double kNearlyFull = 0.9;

// The mean over the representative problems of a specialisation; 1 without any.
double MeanOf(const MisfitCoordinate& coordinate, const KernelSpec& spec,
              const Mapping& mapping, const std::string& specialisation) {
  const Configuration& configuration = spec.default_configuration;
  double sum = 0;
  double weight = 0;
  for (const WeightedProblem& weighted : spec.representative_problems) {
    const Problem& problem = weighted.problem;
    if (!problem.specialisation.empty() &&
        problem.specialisation != specialisation) {
      continue;
    }
    const Coordinates at = MapProblem(mapping, problem.View(), configuration);
    sum += weighted.weight * coordinate.value(problem, configuration, at);
    weight += weighted.weight;
  }
  return weight > 0 ? sum / weight : 1;
}

}  // namespace

std::vector<TileFill> FindPoorTileFills(const KernelSpec& spec) {
  std::vector<TileFill> found;
  for (const std::string& name : spec.SpecialisationNames()) {
    const Mapping& mapping = spec.MappingOf(name);
    Mapping counted = mapping;
    if (counted.total_iterations.has_value()) {
      counted.tiles = Expression::Constant(1);
    }
    for (const MisfitCoordinate& c : MisfitCoordinates(
             spec.Of(name), counted, spec.WaveFormOf(name), DeviceFacts())) {
      if (c.unit != MisfitCoordinate::Unit::kShare) continue;
      const double mean = MeanOf(c, spec, mapping, name);
      const bool known = std::any_of(
          found.begin(), found.end(),
          [&](const TileFill& other) { return other.what == c.name; });
      if (mean >= kNearlyFull || known) continue;
      found.push_back({c.name, mean, c.advice_where_it_costs});
    }
  }
  return found;
}

}  // namespace wavetune::cli
