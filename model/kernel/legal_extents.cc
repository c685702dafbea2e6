#include "model/kernel/legal_extents.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/types/span.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/relation.h"

namespace wavetune {
namespace {

// Meeting one predicate can break another; this many rounds are tried.
constexpr int kMaxMoves = 16;

bool Mentions(const Relation& predicate, int32_t dimension) {
  for (const auto* side : {&predicate.left, &predicate.right}) {
    for (const Relation::Term& term : *side) {
      if (std::find(term.dimensions.begin(), term.dimensions.end(),
                    dimension) != term.dimensions.end()) {
        return true;
      }
    }
  }
  return false;
}

// Moves one extent of a problem for one predicate.
class Mover {
 public:
  Mover(const KernelSpec& spec, const Relation& predicate,
        const ExtentRange& range, Problem& problem)
      : predicate_(predicate),
        range_(range),
        problem_(problem),
        repeated_(RepeatedDimensionOf(spec)),
        extent_(range.element >= 0
                    ? problem.repeated[static_cast<size_t>(range.element)]
                    : problem.extents[static_cast<size_t>(range.dimension)]) {}

  // Returns whether the predicate holds after a move (or held before).
  bool Move() {
    const int64_t before = extent_;
    if (Met(before)) return true;
    for (const int64_t candidate : Candidates(before)) {
      if (candidate < range_.low || candidate > range_.high) continue;
      if (Met(candidate)) return true;
    }
    extent_ = before;
    return false;
  }

 private:
  // Sets the extent; of a repeated dimension only this element counts.
  bool Holds(const Relation& relation, int64_t extent) {
    extent_ = extent;
    ProblemView view = problem_.View();
    if (range_.element >= 0) view.repeated = absl::MakeConstSpan(&extent_, 1);
    return wavetune::Holds(relation, view, repeated_);
  }

  bool Met(int64_t extent) { return Holds(predicate_, extent); }

  std::vector<int64_t> Candidates(int64_t extent) {
    switch (predicate_.op) {
      case Relation::Operator::kMultipleOf: {
        const int64_t stride = Stride();
        const int64_t down = extent / stride * stride;
        if (range_.prefer_down) return {down, down + stride};
        return {down + stride, down};
      }
      case Relation::Operator::kNotEqual:
        return {extent + 1, extent - 1};
      case Relation::Operator::kEqual: {
        // Where the sides cross.
        std::vector<int64_t> result;
        for (const auto op : {Relation::Operator::kGreaterOrEqual,
                              Relation::Operator::kLessOrEqual}) {
          Relation crossing = predicate_;
          crossing.op = op;
          const std::vector<int64_t> found = Boundary(crossing, range_.low);
          result.insert(result.end(), found.begin(), found.end());
        }
        return result;
      }
      default: {
        std::vector<int64_t> up = Boundary(predicate_, extent);
        const std::vector<int64_t> down = BoundaryBelow(predicate_, extent);
        up.insert(up.end(), down.begin(), down.end());
        return up;
      }
    }
  }

  // The distance between extents that meet a kMultipleOf: exact for one term
  // in which the dimension stands once, sufficient otherwise.
  int64_t Stride() {
    int64_t divisor = 1;
    // The right side by its value: the smallest d with `right <= d`.
    Relation bound{.left = predicate_.right,
                   .op = Relation::Operator::kLessOrEqual,
                   .right = {{.coefficient = 1, .dimensions = {}}}};
    int64_t low = 0;
    int64_t high = kDefaultMaxExtent;
    const int64_t extent = extent_;
    while (low + 1 < high) {
      const int64_t middle = low + (high - low) / 2;
      bound.right[0].coefficient = middle;
      (Holds(bound, extent) ? high : low) = middle;
    }
    divisor = high;
    if (predicate_.left.size() != 1) return divisor;
    const Relation::Term& term = predicate_.left[0];
    int64_t factor = std::gcd(term.coefficient % divisor, divisor);
    int seen = 0;
    // Shared factors only: the running product stays a divisor of `divisor`.
    const auto multiply = [&](int64_t value) {
      factor = std::gcd(static_cast<int64_t>(static_cast<__int128>(factor) *
                                             (value % divisor) % divisor),
                        divisor);
    };
    for (const int32_t index : term.dimensions) {
      if (index == range_.dimension) {
        ++seen;
      } else if (index != repeated_) {
        multiply(problem_.extents[static_cast<size_t>(index)]);
      }
    }
    return seen == 1 ? divisor / factor : divisor;
  }

  // Returns the smallest extent in [from, high] at which a relation that holds
  // at the upper end holds.
  std::vector<int64_t> Boundary(const Relation& relation, int64_t from) {
    if (from > range_.high || !Holds(relation, range_.high)) return {};
    int64_t low = std::max(from, range_.low) - 1;
    int64_t high = range_.high;
    while (low + 1 < high) {
      const int64_t middle = low + (high - low) / 2;
      (Holds(relation, middle) ? high : low) = middle;
    }
    return {high};
  }

  // Returns the largest extent in [low, from] at which a relation that holds at
  // the lower end holds.
  std::vector<int64_t> BoundaryBelow(const Relation& relation, int64_t from) {
    if (from < range_.low || !Holds(relation, range_.low)) return {};
    int64_t low = range_.low;
    int64_t high = std::min(from, range_.high) + 1;
    while (low + 1 < high) {
      const int64_t middle = low + (high - low) / 2;
      (Holds(relation, middle) ? low : high) = middle;
    }
    return {low};
  }

  const Relation& predicate_;
  const ExtentRange& range_;
  Problem& problem_;
  const int repeated_;
  int64_t& extent_;
};

// Moves what it takes for one predicate; all elements of a repeated dimension
// move together.
bool Meet(const KernelSpec& spec, const Relation& predicate,
          const std::vector<ExtentRange>& ranges, Problem& problem) {
  const int repeated = RepeatedDimensionOf(spec);
  for (const ExtentRange& range : ranges) {
    if (!Mentions(predicate, range.dimension)) continue;
    Mover(spec, predicate, range, problem).Move();
    if (Holds(predicate, problem.View(), repeated)) return true;
  }
  return false;
}

}  // namespace

int RepeatedDimensionOf(const KernelSpec& spec) {
  for (size_t i = 0; i < spec.dimensions.size(); ++i) {
    if (spec.dimensions[i].repeated) return static_cast<int>(i);
  }
  return -1;
}

bool MakeLegal(const KernelSpec& spec, const Configuration& configuration,
               const std::vector<ExtentRange>& ranges, Problem& problem) {
  const int repeated = RepeatedDimensionOf(spec);
  const std::vector<Relation> predicates =
      ProblemRelations(spec, configuration);
  for (int move = 0; move < kMaxMoves; ++move) {
    const auto broken = std::find_if(
        predicates.begin(), predicates.end(), [&](const Relation& predicate) {
          return !Holds(predicate, problem.View(), repeated);
        });
    if (broken == predicates.end()) return true;
    if (!Meet(spec, *broken, ranges, problem)) return false;
  }
  return false;
}

}  // namespace wavetune
