#include "model/kernel/launch_descriptor.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "model/kernel/backend_traits.h"
#include "model/kernel/condition.h"
#include "model/kernel/fold.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/triton_options.h"

namespace wavetune {
namespace {

bool NamesNothing(const std::vector<Relation::Term>& terms) {
  return std::all_of(
      terms.begin(), terms.end(),
      [](const Relation::Term& term) { return term.dimensions.empty(); });
}

bool HoldsForAll(const Relation& relation) {
  if (!NamesNothing(relation.right)) return false;
  if (NamesNothing(relation.left)) {
    return Holds(relation, ProblemView());
  }
  // Vectors of one element: everything is a multiple of 1.
  return relation.op == Relation::Operator::kMultipleOf &&
         relation.right.size() == 1 && relation.right[0].coefficient == 1;
}

// The manifest's predicates, but for those that a configuration fulfils at
// every problem.
std::vector<Relation> OpenPredicates(const KernelSpec& spec,
                                     const Configuration& configuration) {
  std::vector<Relation> open;
  for (Relation& folded : ProblemRelations(spec, configuration)) {
    if (!HoldsForAll(folded)) open.push_back(std::move(folded));
  }
  return open;
}

// Returns the extent whose sides `value` gives; a side of 0 is 1.
template <typename Value>
LaunchExtent ExtentOf(const std::vector<Expression>& sides,
                      const Value& value) {
  const auto side = [&](size_t i) {
    return i < sides.size() ? std::max<int64_t>(1, value(sides[i])) : 1;
  };
  return {side(0), side(1), side(2)};
}

}  // namespace

int64_t LaunchExtent::Total() const {
  int64_t total = 0;
  if (__builtin_mul_overflow(x, y, &total) ||
      __builtin_mul_overflow(total, z, &total)) {
    return kOverLimit;
  }
  return std::min(total, kOverLimit);
}

bool FitsGrid(const LaunchExtent& blocks) {
  constexpr int64_t kMostAlongX = std::numeric_limits<int32_t>::max();
  constexpr int64_t kMostElse = std::numeric_limits<uint16_t>::max();
  return blocks.x <= kMostAlongX && blocks.y <= kMostElse &&
         blocks.z <= kMostElse;
}

std::string FormatExtent(const LaunchExtent& extent) {
  if (extent.IsLine()) return absl::StrCat(extent.x);
  return absl::StrCat(extent.x, " x ", extent.y,
                      extent.z == 1 ? "" : absl::StrCat(" x ", extent.z));
}

LaunchDescriptor DescribeLaunch(const KernelSpec& spec,
                                const Implementation& implementation,
                                const std::string& specialisation,
                                const Configuration& configuration) {
  // Over parameters only.
  const auto number = [&](const Expression& expression) {
    return Evaluate(expression, ProblemView(), configuration);
  };
  LaunchDescriptor launch;
  launch.entry = implementation.entry;
  for (const Expression& blocks : implementation.blocks) {
    launch.blocks.push_back(FoldExpression(blocks, configuration));
  }
  if (launch.blocks.empty()) {
    launch.blocks = {
        FoldExpression(spec.MappingOf(specialisation).tiles, configuration)};
  }
  launch.block_size =
      TraitsOf(implementation.backend).language == KernelLanguage::kTriton
          ? LaunchExtent(kTritonWarpThreads *
                         TritonOptionsOf(spec, configuration).num_warps)
          : ExtentOf(implementation.block_size, number);
  if (implementation.cluster_size.has_value()) {
    launch.cluster_size = number(*implementation.cluster_size);
  }
  if (implementation.shared_memory_bytes.has_value()) {
    launch.shared_bytes =
        FoldExpression(*implementation.shared_memory_bytes, configuration);
  }
  launch.persistent =
      !implementation.persistent_if.empty() &&
      std::all_of(implementation.persistent_if.begin(),
                  implementation.persistent_if.end(),
                  [&](const Condition& condition) {
                    return Holds(condition, ProblemView(), configuration);
                  });
  for (const TensorMap& map : implementation.tensor_maps) {
    launch.tensor_maps.push_back(DescribeTensorMap(map, configuration));
  }
  launch.arguments = spec.arguments;
  for (Argument& argument : launch.arguments) {
    argument.size = FoldExpression(argument.size, configuration);
    argument.cold = false;  // Matters of measuring.
    argument.below.reset();
    argument.values.reset();
    argument.blocks.reset();
  }
  launch.problem_predicates = OpenPredicates(spec, configuration);
  return launch;
}

LaunchShape ShapeOf(const LaunchDescriptor& launch,
                    const ProblemView& problem) {
  const Configuration none;
  return {.blocks = ExtentOf(launch.blocks,
                             [&](const Expression& side) {
                               return Evaluate(side, problem, none);
                             }),
          .block_size = launch.block_size,
          .shared_bytes = Evaluate(launch.shared_bytes, problem, none),
          .cluster_size = launch.cluster_size,
          .persistent = launch.persistent};
}

int64_t CapacityOf(const LaunchShape& shape, int64_t multiprocessors,
                   int64_t blocks_per_multiprocessor, int64_t clusters) {
  return shape.cluster_size > 1 ? clusters * shape.cluster_size
                                : multiprocessors * blocks_per_multiprocessor;
}

LaunchExtent BlocksToLaunch(const LaunchShape& shape, int64_t resident_blocks) {
  if (!shape.persistent) return shape.blocks;
  return std::min(shape.blocks.x, resident_blocks);
}

}  // namespace wavetune
