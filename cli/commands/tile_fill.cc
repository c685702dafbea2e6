#include "cli/commands/tile_fill.h"

#include <algorithm>
#include <utility>

#include "fit/build/tile_fills.h"
#include "model/kernel/kernel_spec.h"

namespace wavetune::cli {
namespace {

// Above it half of a tile is missing in a fifth of the launches at most.
constexpr double kNearlyFull = 0.9;

// The mean over the representative problems of a specialisation; 1 without any.
double MeanOf(const TileFill& fill, const KernelSpec& spec,
              const std::string& specialisation) {
  double sum = 0;
  double weight = 0;
  for (const WeightedProblem& weighted : spec.representative_problems) {
    const Problem& problem = weighted.problem;
    if (!problem.specialisation.empty() &&
        problem.specialisation != specialisation) {
      continue;
    }
    sum += weighted.weight * fill.At(problem, spec.default_configuration);
    weight += weighted.weight;
  }
  return weight > 0 ? sum / weight : 1;
}

}  // namespace

std::vector<PoorTileFill> FindPoorTileFills(const KernelSpec& spec) {
  std::vector<PoorTileFill> found;
  for (const std::string& name : spec.SpecialisationNames()) {
    Mapping counted = spec.MappingOf(name);
    if (counted.total_iterations.has_value()) {
      counted.tiles = Expression::Constant(1);
    }
    for (const TileFill& fill : TileFillsOf(spec.Of(name), counted)) {
      const double mean = MeanOf(fill, spec, name);
      const bool known = std::any_of(
          found.begin(), found.end(),
          [&](const PoorTileFill& other) { return other.what == fill.name; });
      if (mean >= kNearlyFull || known) continue;
      found.push_back({fill.name, mean, fill.advice});
    }
  }
  return found;
}

}  // namespace wavetune::cli
