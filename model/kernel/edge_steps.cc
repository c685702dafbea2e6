#include "model/kernel/edge_steps.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "model/kernel/expression_faults.h"
#include "model/kernel/mapping.h"
#include "model/kernel/tile_grid.h"

namespace wavetune {
namespace {

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
        if (Mentions(expression, dimension_)) AddQuotient(expression);
        return;
      case Expression::Kind::kCausalBlocks:
        for (size_t i = 0; i < 2; ++i) {
          if (expression.children[i].value != dimension_) continue;
          const Expression& block = expression.children[i + 2];
          of_parameter_ |= block.kind == Expression::Kind::kParameter;
          Add({.divisor = Value(block)});
        }
        return;
      default:
        for (const Expression& child : expression.children) Append(child);
        return;
    }
  }

  const std::vector<EdgeStep>& steps() const { return steps_; }
  // Whether a parameter sizes one of them.
  bool of_parameter() const { return of_parameter_; }

 private:
  void Add(const EdgeStep& step) {
    if (std::find(steps_.begin(), steps_.end(), step) == steps_.end()) {
      steps_.push_back(step);
    }
  }

  int64_t Value(const Expression& expression) const {
    return std::max<int64_t>(
        1, Evaluate(expression, problem_.View(), configuration_));
  }

  void AddQuotient(const Expression& quotient) {
    const auto begin = quotient.children.begin();
    const auto middle = begin + static_cast<std::ptrdiff_t>(quotient.split);
    const Expression denominator =
        Expression::Product({middle, quotient.children.end()});
    std::vector<int32_t> parameters;
    CollectParameters(denominator, parameters);
    of_parameter_ |= !parameters.empty();
    std::vector<Expression> beside = {Expression::Constant(1)};
    std::copy_if(begin, middle, std::back_inserter(beside),
                 [this](const Expression& factor) { return IsHeld(factor); });
    Add({.divisor = Value(denominator),
         .coefficient = Value(Expression::Product(std::move(beside)))});
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
  bool of_parameter_ = false;
};

// Returns the extent at which all of these end, if that is not much more than
// the largest; else that.
int64_t CommonTile(const std::vector<EdgeStep>& steps) {
  constexpr int64_t kMuch = 4;
  std::vector<int64_t> tiles;
  for (const EdgeStep& step : steps) {
    tiles.push_back(DivideUp(step.divisor, step.coefficient));
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
  EdgeStep step = finder.steps().size() == 1
                      ? finder.steps()[0]
                      : EdgeStep{.divisor = CommonTile(finder.steps())};
  step.of_parameter = finder.of_parameter();
  return step;
}

int64_t ExtentAt(const EdgeStep& step, Edge edge) {
  switch (edge) {
    case Edge::kOne:
      break;
    case Edge::kTileLess:
      return DivideUp(step.divisor, step.coefficient) - 1;
    case Edge::kTileMore:
      return step.divisor / step.coefficient + 1;
    case Edge::kRagged:
      return DivideUp(2 * step.divisor + std::max<int64_t>(1, step.divisor / 2),
                      step.coefficient);
  }
  return 1;
}

}  // namespace wavetune
