#include "model/kernel/edge_steps.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "model/kernel/expression_faults.h"
#include "model/kernel/mapping.h"

namespace wavetune {
namespace {

int64_t RoundedUp(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// Finds one dimension's steps in expressions.
class StepFinder {
 public:
  StepFinder(int32_t dimension, const std::vector<int32_t>& companions,
             const Problem& problem, const Configuration& configuration)
      : dimension_(dimension),
        companions_(companions),
        problem_(problem),
        configuration_(configuration) {}

  // Steps of 1 where the dimension stands alone.
  void Append(const Expression& expression) {
    switch (expression.kind) {
      case Expression::Kind::kDimension:
        if (expression.value == dimension_) Add({});
        return;
      case Expression::Kind::kCeilDiv:
        if (Mentions(expression, dimension_)) Add(OfQuotient(expression));
        return;
      case Expression::Kind::kCausalBlocks:
        for (size_t i = 0; i < 2; ++i) {
          if (expression.children[i].value != dimension_) continue;
          Add({.divisor = Value(expression.children[i + 2])});
        }
        return;
      default:
        for (const Expression& child : expression.children) Append(child);
        return;
    }
  }

  const std::vector<EdgeStep>& steps() const { return steps_; }

 private:
  void Add(const EdgeStep& step) {
    if (std::find(steps_.begin(), steps_.end(), step) == steps_.end()) {
      steps_.push_back(step);
    }
  }

  static bool Mentions(const Expression& expression, int32_t dimension) {
    std::vector<int32_t> dimensions;
    CollectDimensions(expression, dimensions);
    return std::find(dimensions.begin(), dimensions.end(), dimension) !=
           dimensions.end();
  }

  int64_t Value(const Expression& expression) const {
    return std::max<int64_t>(
        1, Evaluate(expression, problem_.View(), configuration_));
  }

  EdgeStep OfQuotient(const Expression& quotient) const {
    const auto begin = quotient.children.begin();
    const auto middle = begin + static_cast<std::ptrdiff_t>(quotient.split);
    std::vector<Expression> beside = {Expression::Constant(1)};
    std::copy_if(begin, middle, std::back_inserter(beside),
                 [this](const Expression& factor) { return IsHeld(factor); });
    return {.divisor =
                Value(Expression::Product({middle, quotient.children.end()})),
            .coefficient = Value(Expression::Product(std::move(beside)))};
  }

  bool IsHeld(const Expression& factor) const {
    std::vector<int32_t> dimensions;
    CollectDimensions(factor, dimensions);
    return std::all_of(
        dimensions.begin(), dimensions.end(), [this](int32_t own) {
          return own != dimension_ &&
                 std::find(companions_.begin(), companions_.end(), own) !=
                     companions_.end();
        });
  }

  const int32_t dimension_;
  const std::vector<int32_t>& companions_;
  const Problem& problem_;
  const Configuration& configuration_;
  std::vector<EdgeStep> steps_;
};

// Returns the extent at which all of these end, if that is not much more than
// the largest; else that.
int64_t CommonTile(const std::vector<EdgeStep>& steps) {
  constexpr int64_t kMuch = 4;
  std::vector<int64_t> tiles;
  for (const EdgeStep& step : steps) {
    tiles.push_back(RoundedUp(step.divisor, step.coefficient));
  }
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

}  // namespace

EdgeStep StepOf(const Mapping& mapping, int32_t dimension,
                const std::vector<int32_t>& companions, const Problem& problem,
                const Configuration& configuration) {
  StepFinder finder(dimension, companions, problem, configuration);
  finder.Append(mapping.tiles);
  for (const auto* loop :
       {&mapping.iterations_per_tile, &mapping.total_iterations}) {
    if (loop->has_value()) finder.Append(**loop);
  }
  if (finder.steps().size() == 1) return finder.steps()[0];
  return {.divisor = CommonTile(finder.steps())};
}

int64_t ExtentAt(const EdgeStep& step, Edge edge) {
  switch (edge) {
    case Edge::kOne:
      break;
    case Edge::kTileLess:
      return RoundedUp(step.divisor, step.coefficient) - 1;
    case Edge::kTileMore:
      return step.divisor / step.coefficient + 1;
    case Edge::kRagged:
      return RoundedUp(
          2 * step.divisor + std::max<int64_t>(1, step.divisor / 2),
          step.coefficient);
  }
  return 1;
}

}  // namespace wavetune
