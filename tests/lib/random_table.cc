#include "tests/lib/random_table.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/kernel/condition.h"
#include "model/kernel/fold.h"
#include "model/table/coefficient_list.h"
#include "model/table/group_predicates.h"
#include "model/table/table_check.h"
#include "model/table/table_codec.h"
#include "model/table/wave_model.h"

namespace wavetune::testing {
namespace {

// Parameters of every table: three of the grid, two micro.
constexpr int kBlockA = 0;
constexpr int kBlockB = 1;
constexpr int kBlockC = 2;
constexpr int kVector = 4;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

Expression CeilOf(int dimension, int parameter) {
  return Expression::CeilDiv({Expression::OfDimension(dimension)},
                             {Expression::OfParameter(parameter)});
}

std::vector<Dimension> DimensionsOf(TableKind kind) {
  switch (kind) {
    case TableKind::kGemm:
    case TableKind::kClusterGemm:
      return {{.name = "m"}, {.name = "n"}, {.name = "k"}};
    case TableKind::kGroupedGemm:
      return {{.name = "m", .repeated = true, .min = 0},
              {.name = "n"},
              {.name = "k", .max = 65536}};
    case TableKind::kCausalAttention:
      return {{.name = "batch", .max = 4096},
              {.name = "heads", .max = 1024},
              {.name = "seq_q"},
              {.name = "seq_kv"}};
    case TableKind::kPackedAttention:
      return {{.name = "seq", .repeated = true},
              {.name = "heads", .max = 1024}};
    case TableKind::kSums:
      return {{.name = "tokens"},
              {.name = "topk", .max = 64},
              {.name = "experts", .max = 1024},
              {.name = "n"},
              {.name = "k"}};
    case TableKind::kGroupedSums:
      return DimensionsOf(TableKind::kGroupedGemm);
    case TableKind::kSelfAttention:
      return {{.name = "batch", .max = 4096},
              {.name = "heads", .max = 1024},
              {.name = "seq"}};
    case TableKind::kRowNorm:
      return {{.name = "rows"}, {.name = "hidden", .max = 16384}};
  }
  return {};
}

Mapping GemmMapping(Lcg& random, Expression tiles) {
  Mapping mapping;
  // A constant factor now and then: split-K, or two passes.
  if (random.OneIn(4)) {
    tiles = Expression::Product(
        {std::move(tiles), Expression::Constant(random.Between(1, 4))});
  }
  mapping.tiles = std::move(tiles);
  mapping.iterations_per_tile = CeilOf(2, kBlockC);
  mapping.rows = RowAxis{.dimension = 0, .tile = kBlockA};
  return mapping;
}

// Padding in tiles or in rows, and a fixed part of the loop.
Mapping SumsMapping(Lcg& random) {
  using E = Expression;
  const auto routed = [](std::vector<E> more) {
    more.insert(more.begin(),
                E::Product({E::OfDimension(0), E::OfDimension(1)}));
    return E::Sum(std::move(more));
  };
  const E block = E::OfParameter(kBlockA);
  E rows = random.OneIn(2)
               ? E::Sum({E::CeilDiv({routed({})}, {block}), E::OfDimension(2)})
               : E::CeilDiv({routed({E::Product({E::OfDimension(2), block})})},
                            {block});
  Mapping mapping;
  mapping.tiles = E::Product({std::move(rows), CeilOf(3, kBlockB)});
  if (random.OneIn(2)) {
    mapping.tiles = E::Sum({std::move(mapping.tiles), E::Constant(7)});
  }
  mapping.iterations_per_tile =
      random.OneIn(2) ? CeilOf(4, kBlockC)
                      : E::Sum({CeilOf(4, kBlockC), E::Constant(2)});
  return mapping;
}

Mapping GroupedSumsMapping(Lcg& random) {
  using E = Expression;
  E rows = E::SumOver(0, E::Sum({CeilOf(0, kBlockA), E::Constant(1)}));
  if (random.OneIn(2)) rows = E::Sum({std::move(rows), E::OfDimension(1)});
  Mapping mapping;
  mapping.tiles = E::Product({std::move(rows), CeilOf(1, kBlockB)});
  mapping.total_iterations = E::Sum(
      {E::SumOver(0, E::Product({CeilOf(0, kBlockA), CeilOf(2, kBlockC)})),
       E::SumOver(0, E::Constant(1))});
  mapping.rows = RowAxis{.dimension = 0, .tile = kBlockA};
  return mapping;
}

Mapping MappingOf(Lcg& random, TableKind kind) {
  Mapping mapping;
  switch (kind) {
    case TableKind::kGemm:
      return GemmMapping(random, Expression::Product(
                                     {CeilOf(0, kBlockA), CeilOf(1, kBlockB)}));
    case TableKind::kGroupedGemm:
      if (random.OneIn(2)) {
        return GemmMapping(
            random,
            Expression::SumOver(0, Expression::Product({CeilOf(0, kBlockA),
                                                        CeilOf(1, kBlockB)})));
      }
      return GemmMapping(
          random,
          Expression::Product({Expression::SumOver(0, CeilOf(0, kBlockA)),
                               CeilOf(1, kBlockB)}));
    case TableKind::kCausalAttention:
      mapping.tiles =
          Expression::Product({Expression::OfDimension(0),
                               Expression::OfDimension(1), CeilOf(2, kBlockA)});
      mapping.total_iterations = Expression::Product(
          {Expression::OfDimension(0), Expression::OfDimension(1),
           Expression::CausalBlocks(2, 3, kBlockA, kBlockB)});
      mapping.longest_loop = CeilOf(3, kBlockB);
      if (random.OneIn(2)) mapping.rows = RowAxis{2, kBlockA};
      return mapping;
    case TableKind::kPackedAttention:
      mapping.tiles =
          Expression::Product({Expression::OfDimension(1),
                               Expression::SumOver(0, CeilOf(0, kBlockA))});
      mapping.total_iterations = Expression::SumOver(
          0, Expression::Product(
                 {Expression::OfDimension(1),
                  Expression::CausalBlocks(0, 0, kBlockA, kBlockB)}));
      mapping.rows = RowAxis{0, kBlockA};
      return mapping;
    case TableKind::kClusterGemm: {
      const Expression cluster = Expression::OfParameter(kVector);
      return GemmMapping(
          random,
          Expression::Product(
              {Expression::CeilDiv({Expression::OfDimension(0)},
                                   {Expression::OfParameter(kBlockA), cluster}),
               cluster, CeilOf(1, kBlockB)}));
    }
    case TableKind::kSums:
      return SumsMapping(random);
    case TableKind::kGroupedSums:
      return GroupedSumsMapping(random);
    case TableKind::kSelfAttention:
      mapping.tiles =
          Expression::Product({Expression::OfDimension(0),
                               Expression::OfDimension(1), CeilOf(2, kBlockA)});
      mapping.total_iterations = Expression::Product(
          {Expression::OfDimension(0), Expression::OfDimension(1),
           Expression::CausalBlocks(2, 2, kBlockA, kBlockB)});
      if (random.OneIn(2)) mapping.rows = RowAxis{2, kBlockA};
      return mapping;
    case TableKind::kRowNorm:
      // A width that is compiled in, split.
      mapping.tiles = Expression::Product(
          {CeilOf(0, kBlockA),
           Expression::CeilDiv({Expression::Constant(4096)},
                               {Expression::OfParameter(kBlockB)})});
      mapping.iterations_per_tile =
          random.OneIn(2)
              ? Expression::Constant(1)
              : Expression::CeilDiv({Expression::Constant(4096)},
                                    {Expression::OfParameter(kBlockC)});
      if (random.OneIn(2)) mapping.rows = RowAxis{0, kBlockA};
      return mapping;
  }
  return mapping;
}

// The last dimension must be a multiple of VECTOR; now and then more.
std::vector<Condition> PredicatesOf(Lcg& random, TableKind kind) {
  const auto last =
      Expression::OfDimension(static_cast<int>(DimensionsOf(kind).size()) - 1);
  const auto first = Expression::OfDimension(0);
  const auto times = [](int64_t factor, const Expression& expression) {
    return Expression::Product({Expression::Constant(factor), expression});
  };
  std::vector<Condition> predicates;
  if (!random.OneIn(4)) {
    predicates.push_back({last, Relation::Operator::kMultipleOf,
                          Expression::OfParameter(kVector)});
  }
  if (random.OneIn(3)) {
    // Of the repeated dimension where there is one: every element counts.
    predicates.push_back({times(3, first), Relation::Operator::kGreaterOrEqual,
                          Expression::OfParameter(kBlockA)});
  }
  if (random.OneIn(4)) {
    predicates.push_back({Expression::Sum({last, times(-2, first)}),
                          Relation::Operator::kNotEqual,
                          Expression::Sum({Expression::OfParameter(kBlockB),
                                           Expression::Constant(-8)})});
  }
  return predicates;
}

// What must hold for the kernel, whatever the configuration. Draws nothing: a
// seed's table stays alike otherwise.
std::vector<Condition> PreconditionsOf(const SubTable& sub, TableKind kind) {
  if (sub.portfolio[0].registers % 4 != 0) return {};
  const auto last =
      Expression::OfDimension(static_cast<int>(DimensionsOf(kind).size()) - 1);
  return {{last, Relation::Operator::kNotEqual, Expression::Constant(1)}};
}

Configuration RandomConfiguration(Lcg& random) {
  return {int64_t{16} << random.Below(4), int64_t{32} << random.Below(4),
          // Not always a power of two: divisions must be exact for any tile.
          random.OneIn(4) ? 48 : int64_t{32} << random.Below(2),
          random.Between(0, 4), int64_t{1} << random.Below(4)};
}

// In two statements: the operands of * have no order, but the numbers must.
int64_t RandomCapacity(Lcg& random) {
  const int64_t multiprocessors = random.OneIn(4) ? 7 : 132;
  return multiprocessors * random.Between(1, 4);
}

// Few distinct values, so that rows tie exactly or nearly; none that binary64
// holds exactly, so that a contracted multiply-add would show.
WaveSegment RandomSegment(Lcg& random, const SubTable& sub, int64_t max_wave,
                          const std::vector<uint8_t>& members) {
  WaveSegment segment;
  WaveCoefficients& c = segment.coefficients;
  c.delta = static_cast<double>(random.Between(-1, 4)) / 0.9;
  c.gamma = static_cast<double>(random.Between(0, 8)) / 70;
  c.beta = static_cast<double>(random.Between(0, 8)) / 1100;
  c.alpha = static_cast<double>(random.Between(0, 8)) / 70000;
  if (max_wave > 1) {
    c.delta_w = static_cast<double>(random.Between(0, 4)) / 9;
    c.gamma_w = static_cast<double>(random.Between(-1, 4)) / 300;
  }
  segment.step_tiles = RandomCapacity(random);
  segment.floor_us = static_cast<double>(random.Between(1, 3)) / 7;
  segment.relative_bound = random.Fraction(0, 1);
  segment.extrapolated_bound = segment.relative_bound * 2;
  segment.min_wave = random.Between(1, 2);
  segment.max_wave = segment.min_wave + random.Below(64);
  segment.min_iterations = static_cast<double>(random.Between(0, 8));
  segment.max_iterations =
      segment.min_iterations + static_cast<double>(random.Below(256));
  for (size_t i = 0; i < sub.loop_anchors.size(); ++i) {
    segment.micro.push_back(members[static_cast<size_t>(
        random.Below(static_cast<int64_t>(members.size())))]);
  }
  return segment;
}

void AddAxes(Lcg& random, SubTable& sub) {
  const std::vector<RowRegime> regimes = {
      {1, 0.25}, {1, 1}, {4, 0.75}, {kNoLimit, 1}};
  sub.row_regimes.assign(regimes.begin() + random.Below(4), regimes.end());
  const std::vector<int64_t> waves = {1, 2, 8, kNoLimit};
  sub.max_waves.assign(waves.begin(), waves.begin() + 1 + random.Below(4));
  double anchor = 1;
  for (int64_t i = random.Between(1, 4); i > 0; --i) {
    sub.loop_anchors.push_back(anchor);
    anchor = anchor * 4 + random.Fraction(0, 2);
  }
}

void AddPortfolio(Lcg& random, int64_t size, SubTable& sub) {
  for (int64_t i = 0; i < size; ++i) {
    TableCandidate candidate;
    candidate.configuration = RandomConfiguration(random);
    const auto same = [&](const TableCandidate& other) {
      return other.configuration == candidate.configuration;
    };
    if (std::any_of(sub.portfolio.begin(), sub.portfolio.end(), same)) continue;
    candidate.tiles_per_wave = RandomCapacity(random);
    candidate.registers = static_cast<int32_t>(random.Between(0, 255));
    candidate.shared_memory_bytes = random.Between(0, 232448);
    sub.portfolio.push_back(candidate);
  }
}

// One group per set of candidates that may share a row.
void AddGroups(Lcg& random, const Table& table,
               const std::vector<Condition>& predicates, SubTable& sub) {
  std::vector<std::vector<uint8_t>> groups;
  for (size_t i = 0; i < sub.portfolio.size(); ++i) {
    const TableCandidate& candidate = sub.portfolio[i];
    const auto fits = [&](const std::vector<uint8_t>& members) {
      const TableCandidate& lead = sub.portfolio[members[0]];
      return lead.tiles_per_wave == candidate.tiles_per_wave &&
             SameCoordinates(sub.mapping, lead.configuration,
                             candidate.configuration) &&
             FoldConditions(predicates, lead.configuration) ==
                 FoldConditions(predicates, candidate.configuration);
    };
    const auto group = std::find_if(groups.begin(), groups.end(), fits);
    if (group == groups.end()) {
      groups.push_back({static_cast<uint8_t>(i)});
    } else {
      group->push_back(static_cast<uint8_t>(i));
    }
  }
  for (const std::vector<uint8_t>& members : groups) {
    MacroGroup& group = sub.groups.emplace_back();
    group.lead = members[0];
    group.tiles_per_wave = sub.portfolio[group.lead].tiles_per_wave;
    group.predicates = AddPredicates(
        FoldConditions(predicates, sub.portfolio[group.lead].configuration),
        table.dimensions, sub);
    for (size_t r = 0; r < sub.row_regimes.size(); ++r) {
      GroupModel& model = group.models.emplace_back();
      for (const int64_t max_wave : sub.max_waves) {
        model.segments.push_back(RandomSegment(random, sub, max_wave, members));
      }
    }
  }
}

// What the sub-tables of a table have in common.
struct TableHead {
  Table table;
  std::vector<Condition> predicates;
};

SubTable RandomSubTable(Lcg& random, const TableHead& head, TableKind kind,
                        int64_t portfolio) {
  SubTable sub;
  sub.mapping = MappingOf(random, kind);
  AddPortfolio(random, portfolio, sub);
  AddAxes(random, sub);
  std::vector<Condition> conditions = PreconditionsOf(sub, kind);
  AddPredicates(FoldConditions(conditions, Configuration()),
                head.table.dimensions, sub);
  sub.preconditions = static_cast<int32_t>(sub.predicates.size());
  conditions.insert(conditions.end(), head.predicates.begin(),
                    head.predicates.end());
  AddGroups(random, head.table, conditions, sub);
  return sub;
}

TableHead RandomHead(Lcg& random, TableKind kind) {
  TableHead head;
  Table& table = head.table;
  table.kernel = "random";
  for (int i = 0; i < 64; ++i) {
    table.fingerprint += "0123456789abcdef"[random.Below(16)];
  }
  table.silicon_key = "backend=replay;arch=test;mp=132";
  table.environment_key = "driver=1;runtime=1;power_w=700";
  table.dimensions = DimensionsOf(kind);
  table.parameters = {"BLOCK_A", "BLOCK_B", "BLOCK_C", "STAGES", "VECTOR"};
  head.predicates = PredicatesOf(random, kind);
  table.default_configuration = RandomConfiguration(random);
  constexpr double kNearTies[] = {0, 1.0 / 256, 1.0 / 8};
  table.near_tie = kNearTies[random.Below(3)];
  return head;
}

bool IsOfOverlapAlone(const CoefficientField& field) {
  return Reads(WaveForm::kOverlap, field) && !Reads(WaveForm::kSum, field);
}

// Gives every segment the first one's fields, but its own floor, bound, last
// wave and coefficients that sums do not have.
void ShareFields(MacroGroup& group) {
  const WaveSegment first = group.models[0].segments[0];
  for (GroupModel& model : group.models) {
    for (WaveSegment& segment : model.segments) {
      WaveSegment shared = first;
      for (const CoefficientField& field : kCoefficients) {
        if (!IsOfOverlapAlone(field)) continue;
        shared.coefficients.*field.value = segment.coefficients.*field.value;
      }
      shared.floor_us = segment.floor_us;
      shared.relative_bound = segment.relative_bound;
      shared.max_wave = std::max(first.min_wave, segment.max_wave);
      segment = std::move(shared);
    }
  }
}

int64_t RandomExtent(Lcg& random, const Dimension& dimension) {
  if (random.OneIn(64)) return dimension.max;
  int64_t extent = 1 + random.Below(int64_t{1} << random.Below(15));
  if (random.OneIn(2)) extent = (extent + 7) / 8 * 8;
  return std::clamp(extent, dimension.min, dimension.max);
}

}  // namespace

void MakeOverlap(Lcg& random, SubTable& sub) {
  sub.form = WaveForm::kOverlap;
  for (MacroGroup& group : sub.groups) {
    for (GroupModel& model : group.models) {
      for (WaveSegment& segment : model.segments) {
        for (const CoefficientField& field : kCoefficients) {
          if (!IsOfOverlapAlone(field)) continue;
          segment.coefficients.*field.value =
              static_cast<double>(random.Between(0, 4)) / 110000;
        }
      }
    }
  }
}

void MakeAlikeAcrossWaves(SubTable& sub) {
  for (MacroGroup& group : sub.groups) {
    for (GroupModel& model : group.models) {
      for (WaveSegment& segment : model.segments) {
        segment.coefficients = model.segments[0].coefficients;
        segment.step_tiles = model.segments[0].step_tiles;
        segment.min_wave = 1;
      }
    }
  }
}

void AddRankMargins(Lcg& random, SubTable& sub) {
  for (MacroGroup& group : sub.groups) {
    for (GroupModel& model : group.models) {
      for (WaveSegment& segment : model.segments) {
        if (random.OneIn(2)) continue;
        segment.rank_margin = static_cast<uint8_t>(random.Below(256));
      }
    }
  }
}

Table RandomTable(Lcg& random) {
  const auto kind = static_cast<TableKind>(random.Below(5));
  const TableHead head = RandomHead(random, kind);
  Table table = head.table;
  const int64_t count = random.Between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    table.sub_tables.push_back(
        RandomSubTable(random, head, kind, random.Between(1, 12)));
    SubTable& sub = table.sub_tables.back();
    sub.specialisation = count == 1 ? "" : absl::StrCat("s", i);
    if (random.OneIn(2)) continue;
    MakeOverlap(random, sub);
    if (random.OneIn(2)) AddRankMargins(random, sub);
  }
  return table;
}

Table RandomTable(Lcg& random, TableKind kind, int portfolio) {
  TableHead head = RandomHead(random, kind);
  SubTable sub = RandomSubTable(random, head, kind, portfolio);
  head.table.sub_tables.push_back(std::move(sub));
  return std::move(head.table);
}

Table RandomLargeTable(Lcg& random) {
  constexpr size_t kSegments = 550;
  for (;;) {
    Table table = RandomTable(random, TableKind::kGemm, kMaxPortfolio);
    SubTable& sub = table.sub_tables[0];
    MakeOverlap(random, sub);
    for (MacroGroup& group : sub.groups) ShareFields(group);
    const size_t segments =
        sub.groups.size() * sub.row_regimes.size() * sub.max_waves.size();
    if (segments >= kSegments && EncodeTable(table).ok()) return table;
  }
}

bool AddColdBytes(Lcg& random, const Table& table, SubTable& sub) {
  using E = Expression;
  if (sub.form != WaveForm::kSum || !table.dimensions[0].repeated) return false;
  const E last = E::OfDimension(static_cast<int>(table.dimensions.size()) - 1);
  // A matrix for each element, and now and then rows of its own, in blocks.
  E bytes = E::Product({E::Constant(random.Between(1, 4) * 1000),
                        E::SumOver(0, E::Constant(1)), last});
  if (random.OneIn(2)) {
    E rows = E::CeilDiv({E::OfDimension(0)}, {E::Constant(48)});
    bytes = E::Sum(
        {std::move(bytes),
         E::SumOver(0, E::Product({std::move(rows), last, E::Constant(96)}))});
  }
  sub.mapping.cold_bytes = std::move(bytes);
  for (MacroGroup& group : sub.groups) {
    for (GroupModel& model : group.models) {
      for (WaveSegment& segment : model.segments) {
        segment.coefficients.cold =
            static_cast<double>(random.Between(0, 4)) / 7;
      }
    }
  }
  sub.groups[0].models[0].segments[0].coefficients.cold = 1.0 / 7;
  return true;
}

void AddLayers(Lcg& random, const Table& table, int most, SubTable& sub) {
  for (const Dimension& dimension : table.dimensions) {
    if (dimension.repeated) return;
  }
  if (!sub.mapping.rows) return;
  const auto row = static_cast<size_t>(sub.mapping.rows->dimension);
  for (int64_t i = random.Between(1, most); i > 0; --i) {
    LayerChoices layer;
    for (const Dimension& dimension : table.dimensions) {
      layer.extents.push_back(RandomExtent(random, dimension));
    }
    layer.extents[row] = 0;
    layer.first = random.Between(0, 64);
    int64_t last = layer.first;
    for (int64_t s = random.Between(1, 8); s > 0; --s) {
      layer.spans.push_back({.last = last,
                             .group = static_cast<uint8_t>(random.Below(
                                 static_cast<int64_t>(sub.groups.size())))});
      last += random.Between(1, 300);
    }
    sub.layers.push_back(std::move(layer));
  }
  const auto by_extents = [](const LayerChoices& a, const LayerChoices& b) {
    return a.extents < b.extents;
  };
  const auto same_extents = [](const LayerChoices& a, const LayerChoices& b) {
    return a.extents == b.extents;
  };
  std::sort(sub.layers.begin(), sub.layers.end(), by_extents);
  sub.layers.erase(
      std::unique(sub.layers.begin(), sub.layers.end(), same_extents),
      sub.layers.end());
}

void AddPowerLimitSlowdown(Lcg& random, SubTable& sub) {
  sub.power_limit.from_us = static_cast<double>(random.Between(1, 400));
  sub.power_limit.slowdown = static_cast<double>(random.Between(1, 32)) / 32;
}

void MakeWary(Lcg& random, Table& table) {
  const SubTable& any = table.sub_tables[static_cast<size_t>(
      random.Below(static_cast<int64_t>(table.sub_tables.size())))];
  const MacroGroup& group = any.groups[static_cast<size_t>(
      random.Below(static_cast<int64_t>(any.groups.size())))];
  table.default_configuration = any.portfolio[group.lead].configuration;
  for (SubTable& sub : table.sub_tables) {
    sub.wary = DefaultGroup(table, sub) >= 0;
  }
}

void PlaceInLayer(Lcg& random, const SubTable& sub, Problem& problem) {
  if (sub.layers.empty()) return;
  const LayerChoices& layer = sub.layers[static_cast<size_t>(
      random.Below(static_cast<int64_t>(sub.layers.size())))];
  const auto row = static_cast<size_t>(sub.mapping.rows->dimension);
  problem.extents = layer.extents;
  // Now and then just outside of the spans.
  problem.extents[row] =
      random.Between(std::max<int64_t>(1, layer.first - 2),
                     std::max<int64_t>(1, layer.spans.back().last + 2));
}

Problem RandomLegalProblem(Lcg& random, const Table& table) {
  Problem problem;
  for (const Dimension& dimension : table.dimensions) {
    if (!dimension.repeated) {
      problem.extents.push_back(RandomExtent(random, dimension));
      continue;
    }
    problem.extents.push_back(random.OneIn(2) ? 0 : -1);  // Ignored.
    for (int64_t i = random.Between(1, 9); i > 0; --i) {
      problem.repeated.push_back(
          random.OneIn(5) ? dimension.min : RandomExtent(random, dimension));
    }
  }
  return problem;
}

Problem RandomProblem(Lcg& random, const Table& table) {
  Problem problem = RandomLegalProblem(random, table);
  if (!random.OneIn(16)) return problem;
  const auto any = static_cast<size_t>(
      random.Below(static_cast<int64_t>(problem.extents.size())));
  switch (random.Below(5)) {
    case 0:
      problem.extents.pop_back();
      break;
    case 1:
      problem.extents.push_back(1);
      break;
    case 2:
      problem.extents[any] = -random.Below(2);
      break;
    case 3:
      problem.extents[any] = table.dimensions[any].max + 1;
      break;
    default:
      if (problem.repeated.empty()) {
        problem.repeated.push_back(1);
      } else if (random.OneIn(2)) {
        problem.repeated.clear();
      } else {
        problem.repeated.back() = -1;
      }
  }
  return problem;
}

}  // namespace wavetune::testing
