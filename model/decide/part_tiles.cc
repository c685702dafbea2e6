#include "model/decide/part_tiles.h"

#include <algorithm>
#include <optional>

#include "model/kernel/fold.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

using Kind = Expression::Kind;

// Returns the dimension of a folded quotient's numerator if that is one
// dimension times constants, or nothing; multiplies the constants.
std::optional<int64_t> OnlyDimension(const Expression& quotient,
                                     int64_t& coefficient) {
  std::optional<int64_t> dimension;
  for (int32_t i = 0; i < quotient.split; ++i) {
    const Expression& factor = quotient.children[static_cast<size_t>(i)];
    if (factor.kind == Kind::kConstant) {
      coefficient = Evaluate(
          Expression::Product({Expression::Constant(coefficient), factor}), {},
          {});
    } else if (factor.kind == Kind::kDimension && !dimension) {
      dimension = factor.value;
    } else {
      return std::nullopt;
    }
  }
  return dimension;
}

// Calls `visit` with dimension and extent of half a tile for each quotient of a
// folded expression.
template <typename Visit>
void VisitHalves(const Expression& folded, Visit visit) {
  if (folded.kind == Kind::kProduct) {
    for (const Expression& factor : folded.children) VisitHalves(factor, visit);
    return;
  }
  if (folded.kind != Kind::kCeilDiv) return;
  int64_t coefficient = 1;
  const std::optional<int64_t> dimension = OnlyDimension(folded, coefficient);
  if (!dimension) return;
  const int64_t divisor =
      Evaluate(Expression::Product({folded.children.begin() + folded.split,
                                    folded.children.end()}),
               {}, {});
  const int64_t whole = 2 * std::max<int64_t>(1, coefficient);
  visit(static_cast<size_t>(*dimension), (divisor + whole - 1) / whole);
}

}  // namespace

PartTiles::PartTiles(const SubTable& sub) {
  const auto add = [&](size_t group, size_t dimension, int64_t half) {
    auto axis = std::find_if(axes_.begin(), axes_.end(),
                             [dimension](const Axis& other) {
                               return other.dimension == dimension;
                             });
    if (axis == axes_.end()) {
      axis =
          axes_.insert(axes_.end(), Axis{.dimension = dimension, .least = {}});
      axis->least.assign(sub.groups.size(), 1);
    }
    axis->least[group] = std::max(axis->least[group], half);
    axis->most = std::max(axis->most, half);
  };
  for (size_t i = 0; i < sub.groups.size(); ++i) {
    const Mapping mapping = FoldMapping(
        sub.mapping, sub.portfolio[sub.groups[i].lead].configuration);
    VisitHalves(mapping.tiles, [&](size_t dimension, int64_t half) {
      const bool is_row =
          sub.mapping.rows &&
          static_cast<size_t>(sub.mapping.rows->dimension) == dimension;
      if (!is_row) add(i, dimension, half);
    });
    VisitHalves(
        mapping.total_iterations ? *mapping.total_iterations
                                 : *mapping.iterations_per_tile,
        [&](size_t dimension, int64_t half) { add(i, dimension, half); });
  }
  std::erase_if(axes_, [](const Axis& axis) { return axis.most <= 1; });
}

int64_t PartTiles::EnoughOf(size_t dimension) const {
  for (const Axis& axis : axes_) {
    if (axis.dimension == dimension) return axis.most;
  }
  return 1;
}

}  // namespace wavetune
