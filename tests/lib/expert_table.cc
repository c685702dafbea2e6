#include "tests/lib/expert_table.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/lib/export_tables.h"
#include "tests/lib/lcg.h"
#include "tests/lib/tiny_table.h"

namespace wavetune::testing {
namespace {

constexpr int kTokens = 0;
constexpr int kN = 1;
constexpr int kK = 2;
constexpr int kBlockM = 0;
constexpr int kBlockN = 1;
constexpr int kBlockK = 2;
constexpr int64_t kMultiprocessors = 132;

Mapping ExpertMapping() {
  Mapping mapping;
  mapping.tiles = Expression::Product(
      {Expression::SumOver(kTokens, TilesAlong(kTokens, kBlockM)),
       TilesAlong(kN, kBlockN)});
  mapping.iterations_per_tile = TilesAlong(kK, kBlockK);
  mapping.rows = RowAxis{.dimension = kTokens, .tile = kBlockM};
  return mapping;
}

Configuration RandomTile(Lcg& random) {
  const int64_t block_m = int64_t{16} << random.Below(4);
  const int64_t block_n = int64_t{32} << random.Below(4);
  const int64_t block_k = int64_t{32} << random.Below(3);
  const int64_t group = random.OneIn(2) ? 1 : 16;
  const int64_t warps = int64_t{4} << random.Below(2);
  return {block_m, block_n, block_k, group, warps, random.Between(2, 4)};
}

// Arithmetic of a tile's iteration at some rate, memory that all share, and a
// constant start. Whole numbers over powers of two alone where it counts: the
// same bits everywhere.
WaveSegment SegmentOf(Lcg& random, const Configuration& c, uint8_t member) {
  const auto of = [&c](int p) { return static_cast<double>(c[p]); };
  const double rate = 1 + random.Fraction(0, 1) / 4;
  WaveSegment segment;
  segment.coefficients.delta = 4 + random.Fraction(0, 1);
  segment.coefficients.delta_w = random.Fraction(0, 1) / 2;
  segment.coefficients.gamma = random.Fraction(0, 1) / 64;
  segment.coefficients.gamma_w =
      rate * (of(kBlockM) + 16) * of(kBlockN) * of(kBlockK) / (1 << 22);
  segment.coefficients.alpha =
      rate * (of(kBlockM) + of(kBlockN)) * of(kBlockK) / (1 << 28) * 128;
  segment.step_tiles = kMultiprocessors;
  segment.floor_us = 2;
  segment.relative_bound = 0.0625;
  segment.extrapolated_bound = 0.25;
  segment.max_wave = 64;
  segment.min_iterations = 1;
  segment.max_iterations = 512;
  segment.micro = {member};
  return segment;
}

void AddSubTable(Lcg& random, const std::string& name,
                 const std::vector<Configuration>& portfolio, Table& table) {
  SubTable& sub = table.sub_tables.emplace_back();
  sub.specialisation = name;
  sub.mapping = ExpertMapping();
  sub.row_regimes = {RowRegime{}};
  sub.max_waves = {std::numeric_limits<int64_t>::max()};
  sub.loop_anchors = {1};
  for (const Configuration& configuration : portfolio) {
    const auto member = static_cast<uint8_t>(sub.portfolio.size());
    sub.portfolio.push_back(
        {.configuration = configuration, .tiles_per_wave = kMultiprocessors});
    GroupModel model;
    model.segments = {SegmentOf(random, configuration, member)};
    sub.groups.push_back({.lead = member,
                          .tiles_per_wave = kMultiprocessors,
                          .predicates = {},
                          .models = {model}});
  }
}

// Different tiles; two groups of equal tiles would be one.
std::vector<Configuration> RandomTiles(Lcg& random, size_t count) {
  std::vector<Configuration> tiles;
  while (tiles.size() < count) {
    const Configuration tile = RandomTile(random);
    const auto same = [&tile](const Configuration& other) {
      return other[kBlockM] == tile[kBlockM] &&
             other[kBlockN] == tile[kBlockN] && other[kBlockK] == tile[kBlockK];
    };
    if (std::none_of(tiles.begin(), tiles.end(), same)) tiles.push_back(tile);
  }
  return tiles;
}

}  // namespace

Table ExpertTable(uint64_t seed) {
  constexpr size_t kOwn = 4;  // Candidates that the other product lacks.
  constexpr size_t kAll = 32;
  Lcg random(seed);
  Table table;
  table.kernel = "triton_fused_moe";
  table.fingerprint = std::string(64, 'e');
  table.silicon_key = kH200Silicon;
  table.environment_key = "driver=580.0;runtime=13.0;power_w=700";
  table.dimensions = {{.name = "tokens", .repeated = true, .min = 0},
                      {.name = "n"},
                      {.name = "k"},
                      {.name = "top_k", .max = 64}};
  table.parameters = {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K",
                      "GROUP_SIZE_M", "num_warps",    "num_stages"};
  table.default_configuration = {64, 64, 32, 8, 4, 3};
  table.near_tie = 1.0 / 256;
  const std::vector<Configuration> tiles = RandomTiles(random, kAll);
  AddSubTable(random, "down", {tiles.begin() + kOwn, tiles.end()}, table);
  AddSubTable(random, "gate_up", {tiles.begin(), tiles.end() - kOwn}, table);
  return table;
}

}  // namespace wavetune::testing
