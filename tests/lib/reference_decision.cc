#include "tests/lib/reference_decision.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/digest.h"
#include "model/kernel/mapping.h"
#include "model/table/wave_model.h"

namespace wavetune::testing {
namespace {

struct ReferenceGroup {
  const WaveSegment* segment = nullptr;
  double iterations = 0;
  double latency_us = 0;
  double rank_us = 0;
  bool extrapolated = false;
  bool part_tiles = false;  // As extrapolated, but competes as it is.
};

int RepeatedDimension(const Table& table) {
  for (size_t i = 0; i < table.dimensions.size(); ++i) {
    if (table.dimensions[i].repeated) return static_cast<int>(i);
  }
  return -1;
}

DefaultReason Judge(const Table& table, const ProblemView& problem) {
  const int repeated = RepeatedDimension(table);
  if (problem.extents.size() != table.dimensions.size()) {
    return DefaultReason::kWrongDimensionCount;
  }
  if ((repeated < 0) != problem.repeated.empty()) {
    return DefaultReason::kWrongDimensionCount;
  }
  for (size_t i = 0; i < table.dimensions.size(); ++i) {
    const Dimension& dimension = table.dimensions[i];
    std::vector<int64_t> extents = {problem.extents[i]};
    if (dimension.repeated) {
      extents.assign(problem.repeated.begin(), problem.repeated.end());
    }
    for (const int64_t extent : extents) {
      if (extent < dimension.min || extent > dimension.max) {
        return DefaultReason::kExtentOutOfRange;
      }
    }
  }
  return DefaultReason::kNone;
}

// Whether a factor ceil(dimension / parameters) of the expression is less than
// half a tile; `left_out` is the rows' dimension.
bool HasPartTile(const Expression& expression, const Configuration& lead,
                 const ProblemView& problem, int64_t left_out) {
  using Kind = Expression::Kind;
  if (expression.kind == Kind::kProduct) {
    return std::any_of(expression.children.begin(), expression.children.end(),
                       [&](const Expression& factor) {
                         return HasPartTile(factor, lead, problem, left_out);
                       });
  }
  if (expression.kind != Kind::kCeilDiv || expression.split != 1) return false;
  const Expression& dimension = expression.children[0];
  if (dimension.kind != Kind::kDimension || dimension.value == left_out) {
    return false;
  }
  int64_t tile = 1;
  for (size_t i = 1; i < expression.children.size(); ++i) {
    tile *= Evaluate(expression.children[i], problem, lead);
  }
  return 2 * problem.extents[static_cast<size_t>(dimension.value)] < tile;
}

bool FillsPartTiles(const SubTable& sub, const MacroGroup& group,
                    const ProblemView& problem) {
  const Configuration& lead = sub.portfolio[group.lead].configuration;
  const int64_t rows = sub.mapping.rows ? sub.mapping.rows->dimension : -1;
  return HasPartTile(sub.mapping.tiles, lead, problem, rows) ||
         HasPartTile(sub.mapping.total_iterations
                         ? *sub.mapping.total_iterations
                         : *sub.mapping.iterations_per_tile,
                     lead, problem, /*left_out=*/-1);
}

// Whether the tiles and iterations of every group can be counted.
bool Counts(const SubTable& sub, const ProblemView& problem) {
  return std::none_of(
      sub.groups.begin(), sub.groups.end(), [&](const MacroGroup& group) {
        return MapProblem(sub.mapping, problem,
                          sub.portfolio[group.lead].configuration)
            .saturated;
      });
}

bool MeetsPreconditions(const Table& table, const SubTable& sub,
                        const ProblemView& problem) {
  for (int i = 0; i < sub.preconditions; ++i) {
    if (!Holds(sub.predicates[static_cast<size_t>(i)], problem,
               RepeatedDimension(table))) {
      return false;
    }
  }
  return true;
}

// The row of a group at the problem, or nothing where a predicate excludes it.
std::optional<ReferenceGroup> RowOf(const Table& table, const SubTable& sub,
                                    const MacroGroup& group,
                                    const ProblemView& problem) {
  const Configuration& lead = sub.portfolio[group.lead].configuration;
  for (const uint8_t predicate : group.predicates) {
    if (!Holds(sub.predicates[predicate], problem, RepeatedDimension(table))) {
      return std::nullopt;
    }
  }
  const Coordinates at = MapProblem(sub.mapping, problem, lead);
  size_t regime = 0;
  while (regime + 1 < sub.row_regimes.size() &&
         (at.rows > sub.row_regimes[regime].max_rows ||
          at.row_fill > sub.row_regimes[regime].max_fill)) {
    ++regime;
  }
  const int64_t waves = Waves(at.tiles, group.tiles_per_wave);
  size_t wave_regime = 0;
  while (wave_regime + 1 < sub.max_waves.size() &&
         waves > sub.max_waves[wave_regime]) {
    ++wave_regime;
  }
  const WaveSegment& segment = group.models[regime].segments[wave_regime];
  ReferenceGroup row;
  row.segment = &segment;
  row.iterations = at.iterations;
  row.latency_us =
      PredictLatencyUs(sub.form, group.tiles_per_wave, segment, at);
  row.extrapolated = !(waves >= segment.min_wave && waves <= segment.max_wave &&
                       at.iterations >= segment.min_iterations &&
                       at.iterations <= segment.max_iterations);
  row.part_tiles = FillsPartTiles(sub, group, problem);
  row.rank_us = row.latency_us;
  if (sub.form == WaveForm::kOverlap) {
    if (row.extrapolated) row.rank_us *= 1.1;
    row.rank_us *= (1024.0 + segment.rank_margin) / 1024;
  }
  return row;
}

uint8_t MicroOf(const SubTable& sub, const ReferenceGroup& row) {
  size_t nearest = 0;
  for (size_t i = 0; i < sub.loop_anchors.size(); ++i) {
    if (std::abs(row.iterations - sub.loop_anchors[i]) <
        std::abs(row.iterations - sub.loop_anchors[nearest])) {
      nearest = i;
    }
  }
  return row.segment->micro[nearest];
}

// The group that serves the problem's layer, if that is known.
std::optional<size_t> GroupOfLayer(const SubTable& sub,
                                   const ProblemView& problem) {
  for (const LayerChoices& layer : sub.layers) {
    std::vector<int64_t> extents(problem.extents.begin(),
                                 problem.extents.end());
    int64_t& rows = extents[static_cast<size_t>(sub.mapping.rows->dimension)];
    const int64_t extent = rows;
    rows = 0;
    if (extents != layer.extents || extent < layer.first) continue;
    for (const LayerSpan& span : layer.spans) {
      if (extent <= span.last) return span.group;
    }
  }
  return std::nullopt;
}

}  // namespace

Decision ReferenceDecision(const Table& table, const std::string& digest,
                           int sub_table, const ProblemView& problem,
                           bool stale) {
  Decision decision;
  decision.configuration = table.default_configuration;
  decision.digest_prefix = DigestPrefix(digest);
  if (sub_table < 0 ||
      static_cast<size_t>(sub_table) >= table.sub_tables.size()) {
    decision.reason = DefaultReason::kUnknownSpecialisation;
    return decision;
  }
  decision.reason = Judge(table, problem);
  if (decision.reason != DefaultReason::kNone) return decision;

  const SubTable& sub = table.sub_tables[static_cast<size_t>(sub_table)];
  std::vector<ReferenceGroup> legal;  // In the order of the groups.
  const bool counts = Counts(sub, problem);
  for (const MacroGroup& group : sub.groups) {
    if (!counts) break;
    if (auto row = RowOf(table, sub, group, problem)) legal.push_back(*row);
  }
  if (legal.empty()) {
    decision.reason = MeetsPreconditions(table, sub, problem)
                          ? DefaultReason::kNoLegalCandidate
                          : DefaultReason::kPreconditionBroken;
    return decision;
  }
  if (const auto known = GroupOfLayer(sub, problem)) {
    if (auto row = RowOf(table, sub, sub.groups[*known], problem)) {
      row->part_tiles = false;  // The layer was measured.
      legal = {*row};
    }
  }
  double best_us = legal[0].rank_us;
  for (const ReferenceGroup& row : legal)
    best_us = std::min(best_us, row.rank_us);
  const double limit_us = best_us * (1 + table.near_tie);
  const ReferenceGroup& row = *std::find_if(
      legal.begin(), legal.end(),
      [limit_us](const ReferenceGroup& r) { return r.rank_us <= limit_us; });

  decision.candidate = MicroOf(sub, row);
  decision.configuration = sub.portfolio[decision.candidate].configuration;
  decision.latency_us = row.latency_us;
  if (row.latency_us > sub.power_limit.from_us) {
    decision.latency_us +=
        sub.power_limit.slowdown * (row.latency_us - sub.power_limit.from_us);
  }
  const bool extrapolated = row.extrapolated || row.part_tiles;
  decision.relative_bound = extrapolated ? row.segment->extrapolated_bound
                                         : row.segment->relative_bound;
  decision.source =
      extrapolated ? DecisionSource::kExtrapolated : DecisionSource::kFitted;
  if (stale) decision.source = DecisionSource::kStale;
  return decision;
}

}  // namespace wavetune::testing
