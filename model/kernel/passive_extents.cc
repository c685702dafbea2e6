#include "model/kernel/passive_extents.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "model/kernel/tile_grid.h"

namespace wavetune {
namespace {

// Returns the largest divisor of `value` that is at most `limit` (>= 1).
int64_t LargestDivisor(int64_t value, int64_t limit) {
  int64_t largest = 1;
  // Heads of one problem: a bound on the search that nothing real reaches.
  constexpr int64_t kMaxRoot = 1 << 16;
  for (int64_t d = 1; d <= value / d && d <= kMaxRoot; ++d) {
    if (value % d != 0) continue;
    for (const int64_t divisor : {d, value / d}) {
      if (divisor <= limit) largest = std::max(largest, divisor);
    }
  }
  return largest;
}

// Calls `visit` with the representative problems of the specialisation.
template <typename Visit>
void ForEachRepresentative(const KernelSpec& spec,
                           const std::string& specialisation, Visit visit) {
  for (const WeightedProblem& weighted : spec.representative_problems) {
    const Problem& problem = weighted.problem;
    if (problem.extents.size() != spec.dimensions.size()) continue;
    if (problem.specialisation.empty() ||
        problem.specialisation == specialisation) {
      visit(weighted);
    }
  }
}

const Problem* HeaviestProblem(const KernelSpec& spec,
                               const std::string& specialisation) {
  const WeightedProblem* heaviest = nullptr;
  ForEachRepresentative(
      spec, specialisation, [&heaviest](const WeightedProblem& weighted) {
        if (heaviest == nullptr || weighted.weight > heaviest->weight) {
          heaviest = &weighted;
        }
      });
  return heaviest == nullptr ? nullptr : &heaviest->problem;
}

// Returns the dimension of which a passive one is a divisor in every
// representative problem: the tile axis of tile size 1 that is declared
// nearest. -1 if there is none.
int32_t OwnerOf(const KernelSpec& spec, const std::string& specialisation,
                const MappingStructure& structure, int32_t passive) {
  int32_t owner = -1;
  for (const TileAxis& axis : structure.axes) {
    const Expression* const quotient = axis.Quotient();
    if (quotient == nullptr || quotient->kind != Expression::Kind::kDimension ||
        spec.dimensions[static_cast<size_t>(axis.dimension)].repeated) {
      continue;
    }
    bool divides = true;
    ForEachRepresentative(
        spec, specialisation, [&](const WeightedProblem& weighted) {
          const auto& extents = weighted.problem.extents;
          const int64_t part = extents[static_cast<size_t>(passive)];
          const int64_t whole = extents[static_cast<size_t>(axis.dimension)];
          divides &= part >= 1 && whole >= part && whole % part == 0;
        });
    const auto distance = [passive](int32_t dimension) {
      return dimension < passive ? passive - dimension : dimension - passive;
    };
    if (divides && (owner < 0 || distance(axis.dimension) < distance(owner))) {
      owner = axis.dimension;
    }
  }
  return owner;
}

}  // namespace

void SetPassiveExtents(const KernelSpec& spec,
                       const MappingStructure& structure, Problem& problem) {
  const std::string& specialisation = problem.specialisation;
  const Problem* heaviest = HeaviestProblem(spec, specialisation);
  if (heaviest == nullptr) return;
  for (const int32_t passive : structure.passive) {
    const auto index = static_cast<size_t>(passive);
    const Dimension& dimension = spec.dimensions[index];
    const int64_t typical = heaviest->extents[index];
    int64_t extent = typical;
    const int32_t owner = OwnerOf(spec, specialisation, structure, passive);
    if (owner >= 0) {
      const auto at = static_cast<size_t>(owner);
      const int64_t whole = problem.extents[at];
      const int64_t share = heaviest->extents[at] / typical;
      extent = LargestDivisor(whole, std::max<int64_t>(1, whole / share));
    }
    if (extent >= dimension.min && extent <= dimension.max) {
      problem.extents[index] = extent;
    }
  }
}

const Problem* NearestRepresentative(const KernelSpec& spec,
                                     const std::string& specialisation,
                                     const Configuration& configuration,
                                     int64_t tiles, double iterations) {
  const Mapping& mapping = spec.MappingOf(specialisation);
  const auto ratio = [](double a, double b) {
    a = std::max(a, 1.0);
    b = std::max(b, 1.0);
    return a < b ? b / a : a / b;
  };
  const Problem* nearest = nullptr;
  double least = 0;
  ForEachRepresentative(
      spec, specialisation, [&](const WeightedProblem& weighted) {
        const Coordinates at =
            MapProblem(mapping, weighted.problem.View(), configuration);
        const double distance =
            ratio(static_cast<double>(at.tiles), static_cast<double>(tiles)) *
            ratio(at.iterations, iterations);
        if (nearest != nullptr && distance >= least) return;
        nearest = &weighted.problem;
        least = distance;
      });
  return nearest;
}

const Problem* FullestRepresentative(const KernelSpec& spec,
                                     const std::string& specialisation,
                                     const std::vector<int32_t>& dimensions) {
  const Problem* fullest = nullptr;
  std::pair<int64_t, int64_t> best;  // How many are above, -product.
  ForEachRepresentative(
      spec, specialisation, [&](const WeightedProblem& weighted) {
        int64_t above = 0;
        std::vector<int64_t> extents;
        for (const int32_t dimension : dimensions) {
          const auto index = static_cast<size_t>(dimension);
          extents.push_back(weighted.problem.extents[index]);
          above += extents.back() > spec.dimensions[index].min ? 1 : 0;
        }
        const std::pair own(above, -ProductOf(extents));
        if (fullest != nullptr && own <= best) return;
        fullest = &weighted.problem;
        best = own;
      });
  return fullest;
}

std::vector<std::vector<int64_t>> HalvedTowardsMinimum(
    const KernelSpec& spec, const std::vector<int32_t>& dimensions,
    std::vector<int64_t> extents) {
  std::vector<std::vector<int64_t>> all = {extents};
  for (;;) {
    int64_t* furthest = nullptr;
    int64_t its_min = 1;
    for (const int32_t dimension : dimensions) {
      const auto index = static_cast<size_t>(dimension);
      const int64_t min = std::max<int64_t>(1, spec.dimensions[index].min);
      int64_t& extent = extents[index];
      if (extent <= min) continue;
      if (furthest == nullptr || extent / min > *furthest / its_min) {
        furthest = &extent;
        its_min = min;
      }
    }
    if (furthest == nullptr) return all;
    *furthest = std::max(its_min, *furthest / 2);
    all.push_back(extents);
  }
}

}  // namespace wavetune
