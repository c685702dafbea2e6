#include "tests/lib/tiny_table.h"

#include <limits>
#include <string>

namespace wavetune::testing {
namespace {

Table Head() {
  Table table;
  table.fingerprint = std::string(64, '0');
  table.silicon_key = "backend=replay;mp=4";
  table.environment_key = "driver=1";
  return table;
}

MacroGroup TwoRowGroup(uint8_t lead, uint8_t far_anchor) {
  WaveSegment segment;
  segment.coefficients.delta = 10;
  segment.floor_us = 1;
  segment.relative_bound = 0.125;
  segment.extrapolated_bound = 0.5;
  segment.max_wave = 4;
  segment.min_iterations = 1;
  segment.max_iterations = 64;
  segment.micro = {lead, far_anchor};
  GroupModel model;
  model.segments = {segment, segment};
  return {.lead = lead, .tiles_per_wave = 100, .models = {model}};
}

}  // namespace

Expression TilesAlong(int dimension, int parameter) {
  return Expression::CeilDiv({Expression::OfDimension(dimension)},
                             {Expression::OfParameter(parameter)});
}

Table TinyTable() {
  Table table = Head();
  table.kernel = "add";
  table.dimensions = {{.name = "n"}};
  table.parameters = {"BLOCK"};
  table.default_configuration = {256};
  SubTable& sub = table.sub_tables.emplace_back();
  sub.mapping.tiles = TilesAlong(0, 0);
  sub.mapping.iterations_per_tile = Expression::Constant(1);
  sub.portfolio = {{.configuration = {256}, .tiles_per_wave = 4}};
  sub.row_regimes = {RowRegime{}};
  sub.max_waves = {std::numeric_limits<int64_t>::max()};
  sub.loop_anchors = {1};
  WaveSegment segment;
  segment.coefficients = {.delta = 2, .beta = 0.25};
  segment.floor_us = 2;
  segment.relative_bound = 0.125;
  segment.extrapolated_bound = 0.5;
  segment.max_wave = 8;
  segment.max_iterations = 1;
  segment.micro = {0};
  GroupModel model;
  model.segments = {segment};
  sub.groups = {{.lead = 0, .tiles_per_wave = 4, .models = {model}}};
  return table;
}

Table TwoGroupTable() {
  Table table = Head();
  table.kernel = "gemm";
  table.dimensions = {{.name = "m"}, {.name = "n"}, {.name = "k"}};
  table.parameters = {"BLOCK", "STAGES"};
  table.default_configuration = {32, 1};
  SubTable& sub = table.sub_tables.emplace_back();
  sub.mapping.tiles = Expression::Product({TilesAlong(0, 0), TilesAlong(1, 0)});
  sub.mapping.iterations_per_tile = TilesAlong(2, 0);
  sub.mapping.rows = RowAxis{.dimension = 0, .tile = 0};
  sub.portfolio = {{.configuration = {64, 2}, .tiles_per_wave = 100},
                   {.configuration = {128, 2}, .tiles_per_wave = 100},
                   {.configuration = {64, 4}, .tiles_per_wave = 100}};
  sub.row_regimes = {RowRegime{}};
  sub.max_waves = {1, std::numeric_limits<int64_t>::max()};
  sub.loop_anchors = {8, 32};
  sub.groups = {TwoRowGroup(0, 2), TwoRowGroup(1, 1)};
  return table;
}

}  // namespace wavetune::testing
