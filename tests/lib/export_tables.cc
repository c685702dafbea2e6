#include "tests/lib/export_tables.h"

#include <cstdint>
#include <limits>

#include "model/kernel/kernel_space.h"
#include "model/kernel/kernel_spec.h"
#include "model/table/group_predicates.h"

namespace wavetune::testing {

std::vector<Configuration> GemmConfigurations() {
  // HOPPER, VECTOR, BLOCK_M, BLOCK_N, BLOCK_K, STAGES, CONSUMERS, PINGPONG,
  // SPLIT_K, CLUSTER_M, CLUSTER_N, RESIDENT.
  return {{1, 8, 192, 192, 64, 4, 3, 0, 1, 2, 1, 1},
          {1, 8, 16, 64, 64, 6, 1, 0, 2, 1, 1, 3},
          {1, 8, 128, 128, 64, 6, 2, 1, 1, 1, 1, 1},
          {0, 1, 16, 64, 128, 2, 1, 0, 1, 1, 1, 1}};
}

Table FavouringTable(const KernelSpec& spec, const std::string& fingerprint,
                     const std::vector<Configuration>& portfolio,
                     size_t favourite) {
  Table table;
  table.kernel = spec.name;
  table.fingerprint = fingerprint;
  table.silicon_key = kH200Silicon;
  table.environment_key = "driver=580.0;runtime=13.0;power_w=700";
  table.dimensions = spec.dimensions;
  for (const Parameter& parameter : spec.parameters)
    table.parameters.push_back(parameter.name);
  table.default_configuration = spec.default_configuration;
  SubTable& sub = table.sub_tables.emplace_back();
  sub.mapping = spec.mapping;
  sub.row_regimes = {RowRegime{}};
  sub.max_waves = {std::numeric_limits<int64_t>::max()};
  sub.loop_anchors = {1};
  for (size_t i = 0; i < portfolio.size(); ++i) {
    sub.portfolio.push_back(
        {.configuration = portfolio[i], .tiles_per_wave = 132});
    WaveSegment segment;
    segment.coefficients.delta =
        i == favourite ? 1 : 10 + static_cast<double>(i);
    segment.floor_us = 1;
    segment.relative_bound = 0.1;
    segment.extrapolated_bound = 0.5;
    segment.max_wave = 1000;
    segment.max_iterations = 1e6;
    segment.micro = {static_cast<uint8_t>(i)};
    GroupModel model;
    model.segments = {segment};
    MacroGroup group{.lead = static_cast<uint8_t>(i),
                     .tiles_per_wave = 132,
                     .models = {model}};
    group.predicates = AddPredicates(ProblemRelations(spec, portfolio[i]),
                                     spec.dimensions, sub);
    sub.groups.push_back(std::move(group));
  }
  return table;
}

}  // namespace wavetune::testing
