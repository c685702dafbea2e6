#include "model/kernel/edge_problems.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "model/kernel/expression_faults.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/legal_extents.h"
#include "model/kernel/mapping.h"
#include "model/kernel/mapping_structure.h"
#include "model/kernel/passive_extents.h"

namespace wavetune {
namespace {

// Axes of a grid that get a problem of their own; more have none.
constexpr size_t kMostAxes = 4;

// Where an extent lies in its tile.
enum class Edge : uint8_t { kOne, kTileLess, kTileMore, kRagged };

bool MentionsDimension(const Expression& expression, int32_t dimension) {
  std::vector<int32_t> dimensions;
  CollectDimensions(expression, dimensions);
  return std::find(dimensions.begin(), dimensions.end(), dimension) !=
         dimensions.end();
}

// Appends the extents of `dimension` that make one step of `expression`,
// wherever it stands there: the divisor it stands over, 1 where it stands
// alone.
void AppendTiles(const Expression& expression, int32_t dimension,
                 const Configuration& configuration,
                 std::vector<int64_t>& tiles) {
  const std::vector<Expression>& children = expression.children;
  switch (expression.kind) {
    case Expression::Kind::kDimension:
      if (expression.value == dimension) tiles.push_back(1);
      return;
    case Expression::Kind::kCeilDiv: {
      if (!MentionsDimension(expression, dimension)) return;
      const Expression divisor = Expression::Product(
          {children.begin() + expression.split, children.end()});
      tiles.push_back(std::max<int64_t>(
          1, Evaluate(divisor, ProblemView(), configuration)));
      return;
    }
    case Expression::Kind::kCausalBlocks:
      for (size_t i = 0; i < 2; ++i) {
        if (children[i].value != dimension) continue;
        tiles.push_back(std::max<int64_t>(
            1, Evaluate(children[i + 2], ProblemView(), configuration)));
      }
      return;
    default:
      for (const Expression& child : children) {
        AppendTiles(child, dimension, configuration, tiles);
      }
      return;
  }
}

// Returns the extent at which tiles of all these sizes end, if that is not much
// more than the largest; else that.
int64_t CommonTile(const std::vector<int64_t>& tiles) {
  constexpr int64_t kMuch = 4;
  int64_t largest = 1;
  for (const int64_t tile : tiles) largest = std::max(largest, tile);
  int64_t common = 1;
  for (const int64_t tile : tiles) {
    const int64_t factor = tile / std::gcd(common, tile);
    if (factor > kMuch * largest / common) return largest;
    common *= factor;
  }
  return common;
}

class EdgeMaker {
 public:
  EdgeMaker(const KernelSpec& spec, const std::string& specialisation,
            const Configuration& configuration, MappingStructure structure)
      : spec_(spec),
        specialisation_(specialisation),
        configuration_(configuration),
        mapping_(spec.MappingOf(specialisation)),
        structure_(std::move(structure)) {
    for (const TileAxis& axis : structure_.axes) {
      axes_.push_back(axis.dimension);
    }
    if (structure_.loop_dimension < 0) return;
    loops_ = structure_.loop_others;
    loops_.insert(loops_.begin(), structure_.loop_dimension);
  }

  std::vector<Problem> Run() {
    for (const Edge edge : {Edge::kOne, Edge::kTileLess, Edge::kTileMore}) {
      Add(std::vector<Edge>(axes_.size(), edge), edge);
    }
    for (size_t i = 0; i < std::min(axes_.size(), kMostAxes); ++i) {
      std::vector<Edge> edges(axes_.size(), Edge::kTileMore);
      if (structure_.loop_axis >= 0) {
        edges[static_cast<size_t>(structure_.loop_axis)] = Edge::kRagged;
      }
      edges[i] = Edge::kOne;
      Add(edges, Edge::kRagged);
    }
    return std::move(problems_);
  }

 private:
  const Dimension& DimensionOf(int32_t index) const {
    return spec_.dimensions[static_cast<size_t>(index)];
  }

  int64_t TileOfDimension(int32_t dimension) const {
    std::vector<int64_t> tiles;
    for (const Expression* expression :
         {&mapping_.tiles, Pointer(mapping_.iterations_per_tile),
          Pointer(mapping_.total_iterations)}) {
      if (expression == nullptr) continue;
      AppendTiles(*expression, dimension, configuration_, tiles);
    }
    return CommonTile(tiles);
  }

  static const Expression* Pointer(const std::optional<Expression>& held) {
    return held.has_value() ? &*held : nullptr;
  }

  int64_t Extent(int32_t dimension, Edge edge) const {
    const int64_t tile = TileOfDimension(dimension);
    int64_t extent = 1;
    switch (edge) {
      case Edge::kOne:
        break;
      case Edge::kTileLess:
        extent = tile - 1;
        break;
      case Edge::kTileMore:
        extent = tile + 1;
        break;
      case Edge::kRagged:
        extent = 2 * tile + std::max<int64_t>(1, tile / 2);
        break;
    }
    const Dimension& range = DimensionOf(dimension);
    return std::clamp(extent, std::max<int64_t>(range.min, 1), range.max);
  }

  // Sets a dimension's extent, and remembers which way it may move.
  void Set(int32_t dimension, Edge edge, Problem& problem) {
    const Dimension& range = DimensionOf(dimension);
    ExtentRange move = {.dimension = dimension,
                        .low = range.min,
                        .high = range.max,
                        .prefer_down = edge == Edge::kTileLess};
    if (!range.repeated) {
      problem.extents[static_cast<size_t>(dimension)] = Extent(dimension, edge);
      ranges_.push_back(move);
      return;
    }
    problem.repeated = {Extent(dimension, edge)};
    if (edge != Edge::kOne) {
      if (range.min == 0) problem.repeated.push_back(0);
      problem.repeated.push_back(Extent(dimension, Edge::kOne));
    }
    for (size_t i = 0; i < problem.repeated.size(); ++i) {
      move.element = static_cast<int32_t>(i);
      ranges_.push_back(move);
    }
  }

  void Add(const std::vector<Edge>& edges, Edge loop) {
    Problem problem;
    problem.specialisation = specialisation_;
    for (const Dimension& dimension : spec_.dimensions) {
      problem.extents.push_back(dimension.repeated ? 0 : dimension.min);
    }
    ranges_.clear();
    // The loop moves first: what the grid is at matters more.
    for (const int32_t dimension : loops_) Set(dimension, loop, problem);
    for (size_t i = 0; i < axes_.size(); ++i) Set(axes_[i], edges[i], problem);
    SetPassiveExtents(spec_, structure_, problem);
    for (const int32_t dimension : structure_.passive) {
      ranges_.push_back({.dimension = dimension,
                         .low = DimensionOf(dimension).min,
                         .high = DimensionOf(dimension).max});
    }
    KeepKeysForEveryQuery(problem);
    const bool legal = MakeLegal(spec_, configuration_, ranges_, problem);
    if (!legal || !IsLegal(spec_, configuration_, problem.View()) ||
        ExceedsLimits(problem)) {
      return;
    }
    if (std::find(problems_.begin(), problems_.end(), problem) ==
        problems_.end()) {
      problems_.push_back(std::move(problem));
    }
  }

  // Fewer keys than queries leave causal queries without any: no one asks for
  // that, and what an average over nothing should be, nobody says.
  void KeepKeysForEveryQuery(Problem& problem) const {
    if (structure_.loop_floor < 0) return;
    int64_t& keys =
        problem.extents[static_cast<size_t>(structure_.loop_dimension)];
    keys =
        std::clamp(problem.extents[static_cast<size_t>(structure_.loop_floor)],
                   keys, DimensionOf(structure_.loop_dimension).max);
  }

  bool ExceedsLimits(const Problem& problem) const {
    for (const Argument& argument : spec_.arguments) {
      if (argument.role == ArgumentRole::kScalar) continue;
      const int64_t elements =
          Evaluate(argument.size, problem.View(), configuration_);
      if (elements > std::min(spec_.limits.max_elements, kMaxEdgeElements)) {
        return true;
      }
    }
    const int64_t most = spec_.limits.max_total_iterations;
    return most > 0 && MapProblem(mapping_, problem.View(), configuration_)
                               .total_iterations > most;
  }

  const KernelSpec& spec_;
  const std::string& specialisation_;
  const Configuration& configuration_;
  const Mapping& mapping_;
  const MappingStructure structure_;
  std::vector<int32_t> axes_;   // Dimensions.
  std::vector<int32_t> loops_;  // Dimensions.
  std::vector<ExtentRange> ranges_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> EdgeProblems(const KernelSpec& kernel,
                                  const std::string& specialisation,
                                  const Configuration& configuration) {
  const KernelSpec& spec = kernel.Of(specialisation);
  absl::StatusOr<MappingStructure> structure =
      AnalyseMapping(spec, spec.MappingOf(specialisation));
  if (!structure.ok()) return {};
  return EdgeMaker(spec, specialisation, configuration, *std::move(structure))
      .Run();
}

}  // namespace wavetune
