#include "model/kernel/axis_tiles.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "model/kernel/expression_faults.h"
#include "model/kernel/fold.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

using Kind = Expression::Kind;

// factor * ceil(coefficient * extent / divisor) + offset, summed over elements
// where there are any, + base.
struct Count {
  int64_t coefficient = 1;
  int64_t divisor = 1;
  int64_t factor = 1;
  int64_t offset = 0;
  int64_t base = 0;
};

int64_t UpToLimitOf(int64_t value) { return std::min(value, kExpressionLimit); }

// Finds the count of one dimension in expressions whose others are held.
class Counter {
 public:
  // `held` has 1 for the dimension that is counted by.
  Counter(int32_t dimension, std::vector<int64_t> held)
      : dimension_(dimension), held_(std::move(held)) {}

  // Returns nothing where the tiles are no such count.
  std::optional<Count> CountOf(const Expression& folded) const {
    switch (folded.kind) {
      case Kind::kDimension:
        return Count{};
      case Kind::kCeilDiv:
        return OfQuotient(folded);
      case Kind::kSumOver:
        return OfElements(folded.children[0]);
      case Kind::kProduct:
      case Kind::kSum:
        return OfParts(folded);
      default:
        return std::nullopt;
    }
  }

 private:
  int64_t ValueOf(const Expression& folded) const {
    return Evaluate(folded, ProblemView(held_), Configuration());
  }

  // The coefficient is the numerator at an extent of 1.
  std::optional<Count> OfQuotient(const Expression& quotient) const {
    const auto begin = quotient.children.begin();
    const auto middle = begin + static_cast<std::ptrdiff_t>(quotient.split);
    const Expression numerator = Expression::Product({begin, middle});
    if (!IsMultiple(numerator)) return std::nullopt;
    return Count{
        .coefficient = std::max<int64_t>(1, ValueOf(numerator)),
        .divisor = std::max<int64_t>(
            1,
            ValueOf(Expression::Product({middle, quotient.children.end()})))};
  }

  // Whether the dimension stands once in a product.
  bool IsMultiple(const Expression& expression) const {
    if (expression.kind == Kind::kDimension) return true;
    if (expression.kind != Kind::kProduct) return false;
    const Expression* only = nullptr;
    for (const Expression& factor : expression.children) {
      if (!Mentions(factor, dimension_)) continue;
      if (only != nullptr) return false;
      only = &factor;
    }
    return only != nullptr && IsMultiple(*only);
  }

  // A constant counts elements, which no extent changes.
  std::optional<Count> OfElements(const Expression& term) const {
    return Mentions(term, dimension_) ? CountOf(term) : std::nullopt;
  }

  // Sums and products of which one part mentions the dimension.
  std::optional<Count> OfParts(const Expression& folded) const {
    const bool adds = folded.kind == Kind::kSum;
    std::vector<Expression> others;
    const Expression* only = nullptr;
    for (const Expression& part : folded.children) {
      if (!Mentions(part, dimension_)) {
        others.push_back(part);
      } else if (only != nullptr) {
        return std::nullopt;
      } else {
        only = &part;
      }
    }
    std::optional<Count> count =
        only == nullptr ? std::nullopt : CountOf(*only);
    if (!count.has_value() || others.empty()) return count;
    const int64_t rest = ValueOf(adds ? Expression::Sum(std::move(others))
                                      : Expression::Product(std::move(others)));
    if (adds) {
      int64_t& own = HasElements(*only) ? count->base : count->offset;
      own = UpToLimitOf(own + rest);
    } else {
      for (int64_t* own : {&count->factor, &count->offset, &count->base}) {
        *own = ProductOf({*own, rest});
      }
    }
    return count;
  }

  // Whether what is added to an expression is beside the elements, not theirs.
  static bool HasElements(const Expression& expression) {
    return expression.kind == Kind::kSumOver ||
           std::any_of(expression.children.begin(), expression.children.end(),
                       HasElements);
  }

  int32_t dimension_;
  std::vector<int64_t> held_;
};

// Tiles by evaluation.
void CountByExtent(const TileAxis& axis, Expression product,
                   std::vector<int64_t> held, GridAxis& result) {
  const auto at = static_cast<size_t>(axis.dimension);
  if (!result.repeated || axis.sum != nullptr) {
    result.tiles_of = [product = std::move(product), extents = std::move(held),
                       at](int64_t extent) mutable {
      extents[at] = extent;
      return Evaluate(product, ProblemView(extents), Configuration());
    };
    return;
  }
  // Sums over the elements are terms: what is left without elements is not
  // theirs.
  const auto tiles = [product = std::move(product), extents = std::move(held)](
                         absl::Span<const int64_t> elements) {
    return Evaluate(product, ProblemView(extents, elements), Configuration());
  };
  const int64_t base = tiles({});
  result.base = base;
  result.tiles_of = [tiles, base](int64_t extent) {
    return tiles(absl::MakeConstSpan(&extent, 1)) - base;
  };
}

// Counts that are tried around the wanted one, and around each smaller one.
constexpr int64_t kCountsTried = 64;
constexpr int64_t kSmallerCountsTried = 16;

// Returns the smallest grid with at least `count` tiles along axis `tied`.
std::vector<int64_t> GridWith(const std::vector<GridAxis>& axes, size_t tied,
                              int64_t count, int64_t wanted) {
  const int64_t own = axes[tied].Reach(count);
  if (own == 0) return {};
  std::vector<GridAxis> others = axes;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(tied));
  const int64_t rest = DivideUp(wanted, own);
  std::vector<int64_t> grid = SmallestGrid(others, rest);
  if (grid.empty() && !(others.empty() && rest == 1)) return {};
  grid.insert(grid.begin() + static_cast<std::ptrdiff_t>(tied), own);
  return grid;
}

// Of grids with a third less to half more than `nearest` tiles along axis
// `tied` the one that has the fewest tiles, then the nearest.
std::vector<int64_t> GridNear(const std::vector<GridAxis>& axes, size_t tied,
                              int64_t nearest, int64_t tries, int64_t wanted) {
  const int64_t low = nearest - nearest / 3;
  const int64_t high =
      std::max(nearest, std::min(nearest + nearest / 2, wanted));
  const auto distance = [&](const std::vector<int64_t>& grid) {
    return std::max(grid[tied], nearest) - std::min(grid[tied], nearest);
  };
  std::vector<int64_t> best;
  const auto consider = [&](int64_t count) {
    if (count < low || count > high) return;
    std::vector<int64_t> grid = GridWith(axes, tied, count, wanted);
    if (grid.empty()) return;
    const int64_t tiles = ProductOf(grid);
    const int64_t least = best.empty() ? tiles + 1 : ProductOf(best);
    if (tiles < least || (tiles == least && distance(grid) < distance(best))) {
      best = std::move(grid);
    }
  };
  const int64_t step = std::max<int64_t>(1, (high - low) / tries);
  // The nearest first: no grid is better than one with the wanted tiles.
  for (int64_t away = 0; away <= high - low; away += step) {
    consider(nearest + away);
    if (away > 0) consider(nearest - away);
    if (!best.empty() && ProductOf(best) == wanted) break;
  }
  return best;
}

}  // namespace

GridAxis MakeGridAxis(const KernelSpec& spec, const TileAxis& axis,
                      const Configuration& configuration,
                      absl::Span<const int64_t> held) {
  const Dimension& dimension =
      spec.dimensions[static_cast<size_t>(axis.dimension)];
  GridAxis result{.dimension = axis.dimension,
                  // An element without work has no tiles.
                  .min = std::max<int64_t>(1, dimension.min),
                  .max = dimension.max,
                  .repeated = dimension.repeated};
  std::vector<int64_t> extents(held.begin(), held.end());
  extents[static_cast<size_t>(axis.dimension)] = 1;
  std::vector<Expression> factors;
  for (const Expression* factor : axis.factors) {
    factors.push_back(FoldExpression(*factor, configuration));
  }
  Expression product = Expression::Product(std::move(factors));
  const std::optional<Count> count =
      Counter(axis.dimension, extents).CountOf(product);
  if (!count.has_value()) {
    CountByExtent(axis, std::move(product), std::move(extents), result);
    return result;
  }
  result.coefficient = count->coefficient;
  result.divisor = count->divisor;
  result.factor = count->factor;
  result.offset = count->offset;
  result.base = count->base;
  return result;
}

std::vector<std::vector<int64_t>> GridsWithAxisNear(
    const std::vector<GridAxis>& axes, size_t axis, int64_t count,
    int64_t tiles) {
  std::vector<std::vector<int64_t>> grids;
  for (int64_t tries = kCountsTried; count > 0; count /= 2) {
    grids.push_back(GridNear(axes, axis, count, tries, tiles));
    tries = kSmallerCountsTried;
  }
  grids.push_back(SmallestGrid(axes, tiles));
  std::erase(grids, std::vector<int64_t>());
  return grids;
}

std::vector<std::vector<int64_t>> WithAllAlongOneAxis(
    const std::vector<int64_t>& grid, absl::Span<const GridAxis> axes,
    int64_t tiles) {
  if (grid.empty()) return {};
  std::vector<std::vector<int64_t>> grids{grid};
  for (size_t i = 0; axes.size() > 1 && i < axes.size(); ++i) {
    std::vector<int64_t> counts;
    for (const GridAxis& axis : axes) counts.push_back(axis.Reach(1));
    counts[i] = 1;
    const int64_t others = ProductOf(counts);
    if (others <= 0) continue;
    counts[i] = axes[i].Reach(DivideUp(tiles, others));
    if (counts[i] > 0 && ProductOf(counts) == ProductOf(grid)) {
      grids.push_back(std::move(counts));
    }
  }
  return grids;
}

}  // namespace wavetune
