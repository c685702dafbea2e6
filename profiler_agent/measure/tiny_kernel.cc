#include "profiler_agent/measure/tiny_kernel.h"

#include "model/kernel/kernel_spec.h"

namespace wavetune {

LoadedKernel TinyKernel(const std::string& backend) {
  LoadedKernel kernel;
  kernel.fingerprint = "f1";
  kernel.specialisation = "plain";
  KernelSpec& spec = kernel.spec;
  spec.name = "tiny";
  spec.dimensions = {{.name = "n", .max = 4096}, {.name = "k", .max = 4096}};
  spec.specialisations = {{.name = "plain"}, {.name = "causal"}};
  spec.parameters = {
      {.name = "BLOCK_N", .values = {16, 64}},
      {.name = "BLOCK_K", .values = {8, 32}},
      {.name = "MODE", .role = ParameterRole::kMicro, .values = {0, 1, 2, 3}}};
  spec.problem_predicates = {
      {Expression::OfDimension(0), Relation::Operator::kMultipleOf,
       Expression::Sum({Expression::OfParameter(2), Expression::Constant(1)})}};
  spec.mapping = {
      .tiles = Expression::CeilDiv({Expression::OfDimension(0)},
                                   {Expression::OfParameter(0)}),
      .iterations_per_tile = Expression::CeilDiv({Expression::OfDimension(1)},
                                                 {Expression::OfParameter(1)})};
  spec.implementations = {{.backend = backend, .entry = "tiny"}};
  spec.default_configuration = {64, 32, 0};
  return kernel;
}

}  // namespace wavetune
