#include "model/kernel/launch_descriptor.h"

#include <algorithm>
#include <optional>

#include "model/kernel/condition.h"
#include "model/kernel/fold.h"
#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"

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

}  // namespace

LaunchDescriptor DescribeLaunch(const KernelSpec& spec,
                                const Implementation& implementation,
                                const std::string& specialisation,
                                const Configuration& configuration) {
  // Over parameters only.
  const auto number = [&](const std::optional<Expression>& expression) {
    return expression.has_value()
               ? Evaluate(*expression, ProblemView(), configuration)
               : 1;
  };
  LaunchDescriptor launch;
  launch.entry = implementation.entry;
  launch.blocks = FoldExpression(implementation.blocks.has_value()
                                     ? *implementation.blocks
                                     : spec.MappingOf(specialisation).tiles,
                                 configuration);
  launch.block_size = number(implementation.block_size);
  launch.cluster_size = number(implementation.cluster_size);
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
    argument.cold = false;  // A matter of measuring.
  }
  launch.problem_predicates = OpenPredicates(spec, configuration);
  return launch;
}

LaunchShape ShapeOf(const LaunchDescriptor& launch,
                    const ProblemView& problem) {
  const Configuration none;
  return {
      .blocks = std::max<int64_t>(1, Evaluate(launch.blocks, problem, none)),
      .block_size = launch.block_size,
      .shared_bytes = Evaluate(launch.shared_bytes, problem, none),
      .cluster_size = launch.cluster_size,
      .persistent = launch.persistent};
}

bool IsConstant(const Expression& expression) {
  return expression.kind != Expression::Kind::kDimension &&
         expression.kind != Expression::Kind::kSumOver &&
         std::all_of(expression.children.begin(), expression.children.end(),
                     IsConstant);
}

int64_t CapacityOf(const LaunchShape& shape, int64_t multiprocessors,
                   int64_t blocks_per_multiprocessor, int64_t clusters) {
  return shape.cluster_size > 1 ? clusters * shape.cluster_size
                                : multiprocessors * blocks_per_multiprocessor;
}

int64_t BlocksToLaunch(const LaunchShape& shape, int64_t resident_blocks) {
  return shape.persistent ? std::min(shape.blocks, resident_blocks)
                          : shape.blocks;
}

}  // namespace wavetune
