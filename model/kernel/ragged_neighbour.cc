#include "model/kernel/ragged_neighbour.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/legal_extents.h"
#include "model/kernel/problem_limits.h"

namespace wavetune {
namespace {

int64_t RaggedExtent(int64_t extent, const Dimension& dimension) {
  if (extent == 0) return 0;  // An expert without tokens stays without.
  const int64_t wanted = (extent + (extent + 5) / 10) | 1;
  return std::clamp(wanted, dimension.min, dimension.max);
}

bool Varies(const Dimension& dimension, size_t index,
            const std::vector<Problem>& named) {
  return dimension.repeated ||
         std::any_of(named.begin(), named.end(), [&](const Problem& problem) {
           return problem.extents[index] != named.front().extents[index];
         });
}

// Where extents may go: from what they are to twice that.
void AddRange(const Dimension& dimension, int32_t index, int32_t element,
              int64_t extent, std::vector<ExtentRange>& ranges) {
  if (extent == 0) return;
  ranges.push_back({.dimension = index,
                    .element = element,
                    .low = extent,
                    .high = std::min(2 * extent, dimension.max)});
}

// The tiles along dimensions, of quotients ⌈c · extent / (tile)⌉ in a tree.
class Tiles {
 public:
  explicit Tiles(const KernelSpec& spec) : spec_(spec) {}

  void Add(const Expression& tree) {
    for (const Expression& child : tree.children) Add(child);
    if (tree.kind == Expression::Kind::kCausalBlocks) {
      AddTile(tree.children[0], {tree.children[2]});
      AddTile(tree.children[1], {tree.children[3]});
    }
    if (tree.kind != Expression::Kind::kCeilDiv) return;
    const auto split = tree.children.begin() + tree.split;
    const std::vector<Expression> divisor(split, tree.children.end());
    for (auto factor = tree.children.begin(); factor != split; ++factor)
      AddTile(*factor, divisor);
  }

  // Parameters of the tiles along a dimension, and the largest tile.
  const std::set<int32_t>& ParametersOf(int32_t dimension) {
    return parameters_[dimension];
  }
  bool AllMultiples(int32_t dimension, int64_t extent) const {
    const auto found = tiles_.find(dimension);
    return found != tiles_.end() &&
           std::all_of(found->second.begin(), found->second.end(),
                       [extent](int64_t tile) { return extent % tile == 0; });
  }

 private:
  void AddTile(const Expression& factor,
               const std::vector<Expression>& divisor) {
    if (factor.kind != Expression::Kind::kDimension) return;
    const auto dimension = static_cast<int32_t>(factor.value);
    // All products of the parameters' values; constraints leave some out, which
    // a dimension that is round for all does not care about.
    std::set<int64_t> products = {1};
    for (const Expression& part : divisor) {
      std::vector<int64_t> values = {part.value};
      if (part.kind == Expression::Kind::kParameter) {
        parameters_[dimension].insert(static_cast<int32_t>(part.value));
        values = spec_.parameters[static_cast<size_t>(part.value)].values;
      } else if (part.kind != Expression::Kind::kConstant) {
        return;
      }
      std::set<int64_t> next;
      for (const int64_t product : products) {
        for (const int64_t value : values) next.insert(product * value);
      }
      products = std::move(next);
    }
    for (const int64_t tile : products) {
      if (tile > 1) tiles_[dimension].insert(tile);
    }
  }

  const KernelSpec& spec_;
  std::map<int32_t, std::set<int64_t>> tiles_;
  std::map<int32_t, std::set<int32_t>> parameters_;
};

// The representative problems, those of all specialisations as of the first.
std::vector<Problem> Named(const KernelSpec& spec) {
  std::vector<Problem> named;
  for (const WeightedProblem& weighted : spec.representative_problems) {
    named.push_back(weighted.problem);
    if (named.back().specialisation.empty())
      named.back().specialisation = spec.SpecialisationNames().front();
  }
  return named;
}

std::vector<int64_t> ExtentsOf(const Dimension& dimension, size_t index,
                               const Problem& problem) {
  if (dimension.repeated) return problem.repeated;
  return {problem.extents[index]};
}

}  // namespace

std::optional<Problem> RaggedNeighbour(const KernelSpec& spec,
                                       const std::vector<Problem>& named,
                                       const Problem& problem) {
  Problem neighbour = problem;
  std::vector<ExtentRange> ranges;
  for (size_t d = 0; d < spec.dimensions.size(); ++d) {
    const Dimension& dimension = spec.dimensions[d];
    if (!Varies(dimension, d, named)) continue;
    const auto index = static_cast<int32_t>(d);
    if (!dimension.repeated) {
      int64_t& extent = neighbour.extents[d];
      extent = RaggedExtent(extent, dimension);
      AddRange(dimension, index, -1, extent, ranges);
      continue;
    }
    for (size_t e = 0; e < neighbour.repeated.size(); ++e) {
      int64_t& extent = neighbour.repeated[e];
      extent = RaggedExtent(extent, dimension);
      AddRange(dimension, index, static_cast<int32_t>(e), extent, ranges);
    }
  }
  const Configuration& usual = spec.default_configuration;
  if (IsLegal(spec, usual, problem.View()) &&
      !IsLegal(spec, usual, neighbour.View()) &&
      !MakeLegal(spec, usual, ranges, neighbour)) {
    return std::nullopt;
  }
  if (neighbour == problem || !CheckProblem(spec, neighbour).ok() ||
      !LimitExceeded(spec, spec.MappingOf(problem.specialisation), usual,
                     neighbour, spec.limits)
           .empty()) {
    return std::nullopt;
  }
  return neighbour;
}

std::vector<RoundDimension> RoundDimensions(const KernelSpec& spec) {
  const std::vector<Problem> named = Named(spec);
  std::vector<RoundDimension> found;
  if (named.empty()) return found;
  Tiles tiles(spec);
  for (const std::string& name : spec.SpecialisationNames()) {
    const Mapping& mapping = spec.MappingOf(name);
    tiles.Add(mapping.tiles);
    for (const auto* loop :
         {&mapping.iterations_per_tile, &mapping.total_iterations}) {
      if (loop->has_value()) tiles.Add(**loop);
    }
  }
  for (size_t d = 0; d < spec.dimensions.size(); ++d) {
    const Dimension& dimension = spec.dimensions[d];
    const auto index = static_cast<int32_t>(d);
    if (!Varies(dimension, d, named)) continue;
    const bool round =
        std::all_of(named.begin(), named.end(), [&](const Problem& problem) {
          const std::vector<int64_t> extents = ExtentsOf(dimension, d, problem);
          return std::all_of(extents.begin(), extents.end(),
                             [&](int64_t extent) {
                               return tiles.AllMultiples(index, extent);
                             });
        });
    if (!round) continue;
    const std::optional<Problem> beside = RaggedNeighbour(
        spec.Of(named.front().specialisation), named, named.front());
    if (!beside) continue;
    for (const int64_t extent : ExtentsOf(dimension, d, *beside)) {
      if (tiles.AllMultiples(index, extent)) continue;
      const std::set<int32_t>& parameters = tiles.ParametersOf(index);
      found.push_back({.dimension = index,
                       .parameters = {parameters.begin(), parameters.end()},
                       .ragged = extent});
      break;
    }
  }
  return found;
}

}  // namespace wavetune
