#include "model/kernel/loop_extents.h"

#include <algorithm>
#include <cstddef>

#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/mapping.h"
#include "model/kernel/problem_limits.h"

namespace wavetune {

int64_t& LoopExtents::ExtentOf(Problem& problem) const {
  return problem.extents[static_cast<size_t>(structure_.loop_dimension)];
}

double LoopExtents::IterationsAt(Problem& problem, int64_t extent) const {
  ExtentOf(problem) = extent;
  return MapProblem(mapping_, problem.View(), configuration_).iterations;
}

int64_t LoopExtents::Last(Problem& problem, int64_t low, int64_t high,
                          absl::FunctionRef<bool(const Problem&)> holds) const {
  ++high;
  while (low + 1 < high) {
    const int64_t middle = low + (high - low) / 2;
    ExtentOf(problem) = middle;
    (holds(problem) ? low : high) = middle;
  }
  return low;
}

int64_t LoopExtents::LastUpTo(Problem& problem, int64_t low, int64_t high,
                              double iterations) const {
  return Last(problem, low, high, [this, iterations](const Problem& p) {
    return MapProblem(mapping_, p.View(), configuration_).iterations <=
           iterations;
  });
}

int64_t LoopExtents::Highest(Problem problem) const {
  const Dimension& loop =
      spec_.dimensions[static_cast<size_t>(structure_.loop_dimension)];
  return Last(problem, loop.min, loop.max, [this](const Problem& p) {
    return LimitExceeded(spec_, mapping_, configuration_, p, spec_.limits)
        .empty();
  });
}

int64_t LoopExtents::Lowest(const Problem& problem, int64_t highest) const {
  const int64_t least =
      spec_.dimensions[static_cast<size_t>(structure_.loop_dimension)].min;
  if (structure_.loop_floor < 0) return least;
  const int64_t floor =
      problem.extents[static_cast<size_t>(structure_.loop_floor)];
  return floor <= highest ? std::max(least, floor) : least;
}

std::vector<int64_t> LoopExtents::Nearest(Problem problem, int64_t highest,
                                          double iterations) const {
  const int64_t lowest = Lowest(problem, highest);
  const double least = IterationsAt(problem, lowest);
  const int64_t below =
      LastUpTo(problem, lowest, highest, std::max(least, iterations));
  if (below >= highest) return {below};
  const int64_t above =
      LastUpTo(problem, below + 1, highest, IterationsAt(problem, below + 1));
  const double missing = iterations - IterationsAt(problem, below);
  const double excess = IterationsAt(problem, above) - iterations;
  if (missing <= excess) return {below, above};
  return {above, below};
}

void LoopExtents::FillLast(Problem& problem, int64_t highest) const {
  const int64_t before = ExtentOf(problem);
  Problem filled = problem;
  const double iterations = IterationsAt(filled, before);
  ExtentOf(filled) = LastUpTo(filled, before, highest, iterations);
  if (IsLegal(spec_, configuration_, filled.View())) {
    ExtentOf(problem) = ExtentOf(filled);
  }
}

}  // namespace wavetune
