#include "model/kernel/mapping_inverse.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "model/kernel/axis_tiles.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/legal_extents.h"
#include "model/kernel/loop_extents.h"
#include "model/kernel/mapping_structure.h"
#include "model/kernel/passive_extents.h"
#include "model/kernel/problem_limits.h"
#include "model/kernel/tile_grid.h"
#include "model/kernel/wanted_rows.h"

namespace wavetune {
namespace {

// Shares of the wanted loop that one with typical extents may miss it by.
constexpr double kNearLoop = 1.0 / 8;

// Where the loop follows the tiles: elements of a repeated dimension.
constexpr int64_t kElementsWithLoop = 8;

constexpr char kPredicatesNotMet[] =
    "problem_predicates cannot be met without changing the grid; ask for other "
    "tiles or another configuration";

class Inverter {
 public:
  Inverter(const KernelSpec& spec, const std::string& specialisation,
           const Configuration& configuration, const MappingTarget& target,
           MappingStructure structure)
      : spec_(spec),
        specialisation_(specialisation),
        configuration_(configuration),
        mapping_(spec.MappingOf(specialisation)),
        structure_(std::move(structure)),
        loop_(spec, structure_, mapping_, configuration) {
    tiles_ = std::clamp<int64_t>(target.tiles, 1, kExpressionLimit);
    rows_.rows = std::clamp<int64_t>(target.rows, 0, kExpressionLimit);
    // Also where they are not numbers.
    iterations_ = target.iterations > 0 ? target.iterations : 0;
    rows_.fill = target.row_fill > 0 ? std::min(target.row_fill, 1.0) : 0;
    // A grid without rows, or of rows only, has nothing to choose.
    if (structure_.rows_axis < 0 || structure_.axes.size() < 2) rows_.rows = 0;
    for (const TileAxis& axis : structure_.axes) {
      companions_.insert(companions_.end(), axis.companions.begin(),
                         axis.companions.end());
    }
    if (mapping_.rows) {
      rows_.tile = std::max<int64_t>(1, configuration_[mapping_.rows->tile]);
    }
  }

  absl::StatusOr<Problem> Run() {
    for (const Holding& holding : Holdings()) {
      Hold(holding.extents);
      for (const std::vector<int64_t>& grid : holding.grids) {
        for (const bool representative : {true, false}) {
          Problem problem = Start(grid);
          if (representative) SetPassiveExtents(spec_, structure_, problem);
          if (Finish(grid, problem)) return problem;
        }
      }
    }
    return absl::NotFoundError(absl::StrCat(
        "kernel '", spec_.name, "': no problem has ", tiles_, " tiles, ",
        iterations_, " iterations and ", rows_.rows, " rows (0: square) with ",
        FormatConfiguration(spec_, configuration_), ": ", reason_));
  }

 private:
  const Dimension& DimensionOf(int32_t index) const {
    return spec_.dimensions[static_cast<size_t>(index)];
  }

  static int64_t& Extent(Problem& problem, int32_t dimension) {
    return problem.extents[static_cast<size_t>(dimension)];
  }

  // Extents at which companions are held, and what can be had with them.
  struct Holding {
    std::vector<int64_t> extents;             // By dimension.
    std::vector<std::vector<int64_t>> grids;  // Best first.

    // Tiles but for fixed factors.
    int64_t Tiles() const { return ProductOf(grids[0]); }
  };

  // Returns what can be had with typical companions, then with smaller ones,
  // those with the fewest tiles first: a grid must not have more tiles than it
  // would have with all of them at their minimum.
  std::vector<Holding> Holdings() {
    const std::vector<std::vector<int64_t>> all =
        HalvedTowardsMinimum(spec_, companions_, TypicalExtents());
    std::vector<Holding> holdings;
    const auto add = [&](const std::vector<int64_t>& extents) {
      Hold(extents);
      Holding holding{.extents = extents, .grids = Grids()};
      if (!holding.grids.empty()) holdings.push_back(std::move(holding));
    };
    add(all.front());
    if (all.size() == 1) return holdings;
    const size_t typical = holdings.size();
    add(all.back());
    const bool least = holdings.size() > typical;
    if (typical == 1 &&
        (!least || holdings[0].Tiles() <= holdings[1].Tiles())) {
      return holdings;
    }
    if (least) holdings.pop_back();
    for (size_t i = 1; i < all.size(); ++i) add(all[i]);
    std::stable_sort(holdings.begin(), holdings.end(),
                     [](const Holding& a, const Holding& b) {
                       return a.Tiles() < b.Tiles();
                     });
    return holdings;
  }

  void Hold(const std::vector<int64_t>& extents) {
    held_ = extents;
    axes_.clear();
    for (const TileAxis& axis : structure_.axes) {
      axes_.push_back(MakeGridAxis(spec_, axis, configuration_, held_));
    }
  }

  // Returns the minimum of each dimension, but what the nearest representative
  // problem says of companions and of further dimensions of the loop.
  std::vector<int64_t> TypicalExtents() {
    std::vector<int64_t> extents;
    for (const Dimension& dimension : spec_.dimensions) {
      extents.push_back(std::max<int64_t>(1, dimension.min));
    }
    loop_held_ = {extents};
    if (companions_.empty() && structure_.loop_others.empty()) return extents;
    const Problem* const nearest = NearestRepresentative(
        spec_, specialisation_, configuration_, tiles_, iterations_);
    if (nearest == nullptr) return extents;
    std::vector<int32_t> held = companions_;
    held.insert(held.end(), structure_.loop_others.begin(),
                structure_.loop_others.end());
    for (const int32_t dimension : held) {
      const Dimension& range = DimensionOf(dimension);
      const auto index = static_cast<size_t>(dimension);
      extents[index] =
          std::clamp(nearest->extents[index], range.min, range.max);
    }
    loop_held_ = HalvedTowardsMinimum(spec_, structure_.loop_others, extents);
    return extents;
  }

  int64_t Value(const Expression& expression, const ProblemView& view) const {
    return std::max<int64_t>(1, Evaluate(expression, view, configuration_));
  }

  // Returns grids to try, best first, as tile counts by axis.
  std::vector<std::vector<int64_t>> Grids() {
    int64_t fixed = 1;
    for (const Expression* factor : structure_.fixed) {
      fixed =
          ProductOf(std::vector<int64_t>{fixed, Value(*factor, ProblemView())});
    }
    const int64_t wanted = DivideUp(tiles_, fixed);
    // The rows first, then the others in order.
    std::vector<size_t> order;
    if (structure_.rows_axis >= 0) {
      order.push_back(static_cast<size_t>(structure_.rows_axis));
    }
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (static_cast<int>(i) != structure_.rows_axis) order.push_back(i);
    }
    std::vector<GridAxis> axes;
    axes.reserve(order.size());
    for (const size_t index : order) axes.push_back(axes_[index]);
    std::vector<std::vector<int64_t>> grids;
    if (rows_.rows > 0) {
      grids = GridsWithRows(axes, wanted);
    } else if (const size_t tied = TiedAxis(order); tied < order.size()) {
      grids = GridsWithLoop(axes, tied, wanted);
    } else {
      grids = WithAllAlongOneAxis(SquareGrid(axes, wanted), axes, wanted);
    }
    for (std::vector<int64_t>& grid : grids) {
      std::vector<int64_t> sorted(grid.size());
      for (size_t i = 0; i < order.size(); ++i) sorted[order[i]] = grid[i];
      grid = std::move(sorted);
    }
    if (grids.empty() && reason_.empty()) {
      reason_ =
          "the dimensions' ranges are too narrow for the grid; widen their "
          "max or ask for fewer tiles";
    }
    return grids;
  }

  std::vector<std::vector<int64_t>> GridsWithRows(
      const std::vector<GridAxis>& axes, int64_t wanted) {
    const int64_t steps = rows_.Steps(axes[0]);
    if (steps == 0 || !rows_.Allows(axes[0])) {
      reason_ = absl::StrCat("the range of dimension '",
                             DimensionOf(axes[0].dimension).name,
                             "' does not allow these rows");
      return {};
    }
    const auto others = absl::MakeConstSpan(axes).subspan(1);
    const int64_t rest = DivideUp(wanted, steps);
    std::vector<std::vector<int64_t>> grids =
        WithAllAlongOneAxis(SmallestGrid(others, rest), others, rest);
    for (std::vector<int64_t>& grid : grids) {
      grid.insert(grid.begin(), steps);
    }
    return grids;
  }

  // Returns where in `order` the axis stands that the loop follows, or its
  // size.
  size_t TiedAxis(const std::vector<size_t>& order) const {
    return static_cast<size_t>(
        std::find(order.begin(), order.end(),
                  static_cast<size_t>(structure_.loop_axis)) -
        order.begin());
  }

  // Grids where the loop follows axis number `tied`. That axis gets about the
  // wanted loop count (several elements of it where it is repeated); the other
  // axes make up the remaining tiles. Then shorter loops, in case limits demand
  // that.
  std::vector<std::vector<int64_t>> GridsWithLoop(std::vector<GridAxis>& axes,
                                                  size_t tied, int64_t wanted) {
    const int64_t of_loop = TilesOfLoop(axes[tied]);
    int64_t nearest = std::min(of_loop, wanted);
    if (axes[tied].repeated) {
      axes[tied].element_tiles = of_loop;
      axes_[static_cast<size_t>(structure_.loop_axis)] = axes[tied];
      nearest = std::min(ProductOf({of_loop, kElementsWithLoop}), wanted);
    }
    return GridsWithAxisNear(axes, tied, nearest, wanted);
  }

  // Returns the tiles along an axis at the largest extent that has no more than
  // the wanted iterations.
  int64_t TilesOfLoop(const GridAxis& axis) const {
    std::vector<int64_t> least;
    for (const GridAxis& other : axes_) least.push_back(other.Reach(1));
    Problem problem = Start(least);
    const auto at = [&](int64_t extent) {
      if (axis.repeated) {
        problem.repeated.assign(1, extent);
      } else {
        Extent(problem, axis.dimension) = extent;
      }
      return Map(problem).iterations;
    };
    int64_t low = axis.min;
    int64_t high = axis.max + 1;
    while (low + 1 < high) {
      const int64_t middle = low + (high - low) / 2;
      (at(middle) <= iterations_ ? low : high) = middle;
    }
    return std::max<int64_t>(1, axis.Tiles(low));
  }

  // Returns the problem with the grid's extents, its companions as held,
  // everything else at minimum.
  Problem Start(const std::vector<int64_t>& grid) const {
    Problem problem;
    problem.specialisation = specialisation_;
    for (const Dimension& dimension : spec_.dimensions) {
      problem.extents.push_back(dimension.repeated ? 0 : dimension.min);
    }
    for (const int32_t dimension : companions_) {
      Extent(problem, dimension) = held_[static_cast<size_t>(dimension)];
    }
    for (size_t i = 0; i < axes_.size(); ++i) {
      const GridAxis& axis = axes_[i];
      if (!axis.repeated) {
        Extent(problem, axis.dimension) = ExtentOf(i, grid[i]);
        continue;
      }
      if (!axis.IsQuotient() && HasWantedRows(i)) {
        problem.repeated = rows_.Extents(axis);
        continue;
      }
      for (const int64_t tiles : axis.Elements(grid[i])) {
        problem.repeated.push_back(ExtentOf(i, tiles));
      }
    }
    return problem;
  }

  // Extents of an axis.
  struct Extents {
    int64_t low = 1;
    int64_t high = 1;
  };

  // Returns the extents with `tiles` tiles along an axis that also have the
  // same rows; wanted rows where there are any, else as many as possible.
  Extents ExtentsOf(size_t index, int64_t tiles) const {
    const GridAxis& axis = axes_[index];
    Extents extents{.low = axis.SmallestExtent(tiles),
                    .high = axis.LargestExtent(tiles)};
    if (static_cast<int>(index) != structure_.rows_axis || axis.repeated) {
      return extents;
    }
    const int64_t most = DivideUp(extents.high, rows_.tile);
    const int64_t rows = rows_.rows > 0 ? std::min(rows_.rows, most) : most;
    extents.low = std::max(extents.low, (rows - 1) * rows_.tile + 1);
    extents.high = std::min(extents.high, rows * rows_.tile);
    return extents;
  }

  // Returns an extent with `tiles` tiles, the last one full or filled as
  // wanted (as far as the range allows).
  int64_t ExtentOf(size_t index, int64_t tiles) const {
    const Extents extents = ExtentsOf(index, tiles);
    if (!HasWantedRows(index)) return extents.high;
    const int64_t rows = DivideUp(extents.high, rows_.tile);
    return std::clamp((rows - 1) * rows_.tile + rows_.FilledOfLast(),
                      extents.low, extents.high);
  }

  bool HasWantedRows(size_t index) const {
    return rows_.rows > 0 && static_cast<int>(index) == structure_.rows_axis;
  }

  Coordinates Map(const Problem& problem) const {
    return MapProblem(mapping_, problem.View(), configuration_);
  }

  // Returns why the problem exceeds a limit, or nothing.
  std::string Exceeded(const Problem& problem) const {
    return LimitExceeded(spec_, mapping_, configuration_, problem,
                         spec_.limits);
  }

  // Sets the loop's extents and makes the problem legal. Returns whether the
  // problem has the wanted coordinates within all limits; else sets reason_.
  // Further dimensions of the loop are typical, or smaller where that does not
  // come near the wanted loop.
  bool Finish(const std::vector<int64_t>& grid, Problem& problem) {
    const Problem start = problem;
    double best = -1;
    for (const std::vector<int64_t>& held : loop_held_) {
      Problem candidate = start;
      for (const int32_t dimension : structure_.loop_others) {
        Extent(candidate, dimension) = held[static_cast<size_t>(dimension)];
      }
      const double distance = FinishLoop(grid, candidate);
      if (distance < 0 || (best >= 0 && distance >= best)) continue;
      best = distance;
      problem = std::move(candidate);
      if (best <= kNearLoop * iterations_) break;
    }
    return best >= 0;
  }

  // Returns how far the loop is from the wanted one, or -1 where there is no
  // such problem.
  double FinishLoop(const std::vector<int64_t>& grid, Problem& problem) {
    if (std::string why = Exceeded(problem); !why.empty()) {
      reason_ = std::move(why);
      return -1;
    }
    const Coordinates planned = Map(problem);
    if (planned.tiles < tiles_ ||
        (rows_.rows > 0 && planned.rows != rows_.rows)) {
      reason_ = "the grid cannot be had exactly; widen the dimensions' ranges";
      return -1;
    }
    if (structure_.loop_dimension < 0) {
      return FinishGrid(grid, problem) ? 0 : -1;
    }
    const int64_t highest = loop_.Highest(problem);
    const Problem start = problem;
    double best = -1;
    for (const int64_t extent : loop_.Nearest(problem, highest, iterations_)) {
      // Predicates can move the loop either way; the nearer result counts.
      for (const bool prefer_down : {false, true}) {
        Problem candidate = start;
        Extent(candidate, structure_.loop_dimension) = extent;
        const bool moved = !IsLegal(spec_, configuration_, candidate.View());
        if (!moved && prefer_down) break;  // The same again.
        if (moved && !MakeLegalWithin(grid, highest, prefer_down, candidate)) {
          reason_ = kPredicatesNotMet;
          continue;
        }
        if (!KeepsGrid(planned, candidate)) continue;
        const double distance =
            Distance(Map(candidate).iterations, iterations_);
        if (best >= 0 && distance >= best) continue;
        best = distance;
        problem = std::move(candidate);
      }
    }
    return best;
  }

  // The same where nothing drives the loop.
  bool FinishGrid(const std::vector<int64_t>& grid, Problem& problem) {
    if (IsLegal(spec_, configuration_, problem.View())) return true;
    const Coordinates planned = Map(problem);
    if (!MakeLegal(spec_, configuration_, GridRanges(grid, problem), problem)) {
      reason_ = kPredicatesNotMet;
      return false;
    }
    return KeepsGrid(planned, problem);
  }

  static double Distance(double a, double b) { return a < b ? b - a : a - b; }

  // Returns whether a problem made legal still has the planned grid within the
  // limits; else sets reason_.
  bool KeepsGrid(const Coordinates& planned, const Problem& problem) {
    const Coordinates got = Map(problem);
    if (got.tiles != planned.tiles || got.rows != planned.rows) {
      reason_ = "meeting problem_predicates would change the grid";
      return false;
    }
    std::string why = Exceeded(problem);
    if (why.empty()) return true;
    reason_ = std::move(why);
    return false;
  }

  bool MakeLegalWithin(const std::vector<int64_t>& grid, int64_t highest,
                       bool prefer_down, Problem& problem) const {
    const int32_t loop = structure_.loop_dimension;
    std::vector<ExtentRange> ranges = GridRanges(grid, problem);
    ranges.insert(ranges.begin(), {.dimension = loop,
                                   .low = loop_.Lowest(problem, highest),
                                   .high = highest,
                                   .prefer_down = prefer_down});
    const int64_t before = Extent(problem, loop);
    if (!MakeLegal(spec_, configuration_, ranges, problem)) return false;
    if (Extent(problem, loop) != before) loop_.FillLast(problem, highest);
    return true;
  }

  // Where everything but the loop may move without changing the grid.
  std::vector<ExtentRange> GridRanges(const std::vector<int64_t>& grid,
                                      const Problem& problem) const {
    std::vector<ExtentRange> ranges;
    for (const auto* group : {&structure_.passive, &structure_.loop_others}) {
      for (const int32_t dimension : *group) {
        ranges.push_back({.dimension = dimension,
                          .low = DimensionOf(dimension).min,
                          .high = DimensionOf(dimension).max});
      }
    }
    for (size_t i = 0; i < axes_.size(); ++i) {
      AppendAxisRanges(i, grid[i], problem, ranges);
    }
    return ranges;
  }

  void AppendAxisRanges(size_t index, int64_t tiles, const Problem& problem,
                        std::vector<ExtentRange>& ranges) const {
    const GridAxis& axis = axes_[index];
    const auto append = [&](int32_t element, int64_t own) {
      const Extents extents = ExtentsOf(index, own);
      ranges.push_back({.dimension = axis.dimension,
                        .element = element,
                        .low = extents.low,
                        .high = extents.high});
    };
    if (!axis.repeated) return append(-1, tiles);
    for (size_t i = 0; i < problem.repeated.size(); ++i) {
      append(static_cast<int32_t>(i), axis.Tiles(problem.repeated[i]));
    }
  }

  const KernelSpec& spec_;
  const std::string& specialisation_;
  const Configuration& configuration_;
  const Mapping& mapping_;
  const MappingStructure structure_;
  const LoopExtents loop_;
  int64_t tiles_ = 1;
  WantedRows rows_;
  double iterations_ = 1;
  std::vector<int32_t> companions_;  // Of all axes.
  std::vector<int64_t> held_;        // Extents by dimension; of companions.
  // The same of further dimensions of the loop, typical first.
  std::vector<std::vector<int64_t>> loop_held_;
  std::vector<GridAxis> axes_;
  std::string reason_;  // Why the latest try failed.
};

}  // namespace

absl::StatusOr<Problem> InvertMapping(const KernelSpec& kernel,
                                      const std::string& specialisation,
                                      const Configuration& configuration,
                                      const MappingTarget& target) {
  const KernelSpec& spec = kernel.Of(specialisation);
  if (configuration.size() != static_cast<int>(spec.parameters.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel '", spec.name, "' has ", spec.parameters.size(),
                     " parameters, the configuration ", configuration.size(),
                     " values; give one each"));
  }
  absl::StatusOr<MappingStructure> structure =
      AnalyseMapping(spec, spec.MappingOf(specialisation));
  if (!structure.ok()) return structure.status();
  return Inverter(spec, specialisation, configuration, target,
                  *std::move(structure))
      .Run();
}

absl::Status CheckInvertible(const KernelSpec& spec, const Mapping& mapping) {
  return AnalyseMapping(spec, mapping).status();
}

}  // namespace wavetune
