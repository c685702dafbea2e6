#include "tests/lib/reference_decision.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/digest.h"
#include "model/kernel/mapping.h"
#include "model/table/wave_model.h"

namespace wavetune::testing {
namespace {

struct ReferenceGroup {
  const MacroGroup* group = nullptr;
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
  row.group = &group;
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

Decision DefaultOf(const Table& table, const std::string& digest,
                   DefaultReason reason) {
  Decision decision;
  decision.configuration = table.default_configuration;
  decision.digest_prefix = DigestPrefix(digest);
  decision.reason = reason;
  return decision;
}

struct ReferenceRows {
  DefaultReason reason = DefaultReason::kNone;
  std::vector<ReferenceGroup> legal;  // In the order of the groups.
};

ReferenceRows LegalRows(const Table& table, int sub_table,
                        const ProblemView& problem) {
  ReferenceRows rows;
  if (sub_table < 0 ||
      static_cast<size_t>(sub_table) >= table.sub_tables.size()) {
    rows.reason = DefaultReason::kUnknownSpecialisation;
    return rows;
  }
  rows.reason = Judge(table, problem);
  if (rows.reason != DefaultReason::kNone) return rows;
  const SubTable& sub = table.sub_tables[static_cast<size_t>(sub_table)];
  const bool counts = Counts(sub, problem);
  for (const MacroGroup& group : sub.groups) {
    if (!counts) break;
    if (auto row = RowOf(table, sub, group, problem))
      rows.legal.push_back(*row);
  }
  if (rows.legal.empty()) {
    rows.reason = MeetsPreconditions(table, sub, problem)
                      ? DefaultReason::kNoLegalCandidate
                      : DefaultReason::kPreconditionBroken;
  }
  return rows;
}

double AtPowerLimit(const SubTable& sub, double latency_us) {
  if (latency_us <= sub.power_limit.from_us) return latency_us;
  return latency_us +
         sub.power_limit.slowdown * (latency_us - sub.power_limit.from_us);
}

Decision AnswerOf(const Table& table, const std::string& digest,
                  const SubTable& sub, const ReferenceGroup& row,
                  uint8_t candidate, bool stale) {
  Decision decision = DefaultOf(table, digest, DefaultReason::kNone);
  decision.candidate = candidate;
  decision.configuration = sub.portfolio[candidate].configuration;
  decision.latency_us = AtPowerLimit(sub, row.latency_us);
  const bool extrapolated = row.extrapolated || row.part_tiles;
  decision.relative_bound = extrapolated ? row.segment->extrapolated_bound
                                         : row.segment->relative_bound;
  decision.source =
      extrapolated ? DecisionSource::kExtrapolated : DecisionSource::kFitted;
  if (stale) decision.source = DecisionSource::kStale;
  return decision;
}

// Returns the row whose default configuration a wary sub-table answers with
// instead of what `row` would, or nullptr.
const ReferenceGroup* KeptDefault(const Table& table, const SubTable& sub,
                                  const ReferenceRows& rows,
                                  const ReferenceGroup& row, bool of_layer) {
  if (!sub.wary || of_layer || !(row.extrapolated || row.part_tiles)) {
    return nullptr;
  }
  const auto leads = [&](const MacroGroup& group) {
    return sub.portfolio[group.lead].configuration ==
           table.default_configuration;
  };
  const MacroGroup* const usual =
      &*std::find_if(sub.groups.begin(), sub.groups.end(), leads);
  const double most_us = row.latency_us * (1 + row.segment->extrapolated_bound);
  for (const ReferenceGroup& other : rows.legal) {
    if (other.group == usual && other.latency_us <= most_us) return &other;
  }
  return nullptr;
}

using Values = std::vector<int64_t>;

// A candidate that a problem offers to launches that agree on `values`.
struct ReferenceOffer {
  Values values;
  double rank_us = 0;
  uint8_t candidate = 0;
  size_t order = 0;
  ReferenceGroup row;
};

Values SharedValues(const Configuration& all, uint32_t shared) {
  Values values;
  for (int p = 0; p < all.size(); ++p)
    values.push_back((shared >> p & 1) != 0 ? all[p] : 0);
  return values;
}

std::set<uint8_t> MembersOf(const MacroGroup& group) {
  std::set<uint8_t> members = {group.lead};
  for (const GroupModel& model : group.models) {
    for (const WaveSegment& segment : model.segments)
      members.insert(segment.micro.begin(), segment.micro.end());
  }
  return members;
}

std::vector<ReferenceOffer> OffersOf(const SubTable& sub,
                                     const ReferenceRows& rows,
                                     const ProblemView& problem,
                                     uint32_t shared) {
  std::vector<ReferenceOffer> offers;
  const std::optional<size_t> known = GroupOfLayer(sub, problem);
  for (ReferenceGroup row : rows.legal) {
    if (known && row.group == &sub.groups[*known]) row.part_tiles = false;
    std::vector<uint8_t> candidates = {MicroOf(sub, row)};
    for (const uint8_t member : MembersOf(*row.group)) {
      if (member != candidates[0]) candidates.push_back(member);
    }
    for (const uint8_t candidate : candidates) {
      ReferenceOffer offer{.values = {},
                           .rank_us = AtPowerLimit(sub, row.rank_us),
                           .candidate = candidate,
                           .order = offers.size(),
                           .row = row};
      offer.values =
          SharedValues(sub.portfolio[candidate].configuration, shared);
      offers.push_back(offer);
    }
  }
  return offers;
}

}  // namespace

Decision ReferenceDecision(const Table& table, const std::string& digest,
                           int sub_table, const ProblemView& problem,
                           bool stale) {
  const ReferenceRows rows = LegalRows(table, sub_table, problem);
  if (rows.reason != DefaultReason::kNone)
    return DefaultOf(table, digest, rows.reason);
  const SubTable& sub = table.sub_tables[static_cast<size_t>(sub_table)];
  std::vector<ReferenceGroup> legal = rows.legal;
  bool of_layer = false;
  if (const auto known = GroupOfLayer(sub, problem)) {
    if (auto row = RowOf(table, sub, sub.groups[*known], problem)) {
      row->part_tiles = false;  // The layer was measured.
      legal = {*row};
      of_layer = true;
    }
  }
  double best_us = legal[0].rank_us;
  for (const ReferenceGroup& row : legal)
    best_us = std::min(best_us, row.rank_us);
  const double limit_us = best_us * (1 + table.near_tie);
  const ReferenceGroup& row = *std::find_if(
      legal.begin(), legal.end(),
      [limit_us](const ReferenceGroup& r) { return r.rank_us <= limit_us; });
  if (const ReferenceGroup* kept =
          KeptDefault(table, sub, rows, row, of_layer)) {
    return AnswerOf(table, digest, sub, *kept, kept->group->lead, stale);
  }
  return AnswerOf(table, digest, sub, row, MicroOf(sub, row), stale);
}

std::vector<Decision> ReferenceDecisionsTogether(
    const Table& table, const std::string& digest,
    const std::vector<TableProblem>& problems, uint32_t shared, bool stale,
    const Configuration* incumbent) {
  const auto all_default = [&](DefaultReason reason) {
    return std::vector<Decision>(problems.size(),
                                 DefaultOf(table, digest, reason));
  };
  // By the shared values, the best offer of each problem.
  std::vector<std::map<Values, ReferenceOffer>> best(problems.size());
  for (size_t i = 0; i < problems.size(); ++i) {
    const ReferenceRows rows =
        LegalRows(table, problems[i].sub_table, problems[i].problem);
    if (rows.reason != DefaultReason::kNone) return all_default(rows.reason);
    for (const ReferenceOffer& offer :
         OffersOf(table.sub_tables[static_cast<size_t>(problems[i].sub_table)],
                  rows, problems[i].problem, shared)) {
      const auto [known, added] = best[i].emplace(offer.values, offer);
      if (!added && offer.rank_us < known->second.rank_us)
        known->second = offer;
    }
  }
  std::vector<ReferenceOffer> firsts;
  for (const auto& [values, offer] : best[0]) firsts.push_back(offer);
  std::sort(firsts.begin(), firsts.end(),
            [](const ReferenceOffer& a, const ReferenceOffer& b) {
              return a.order < b.order;
            });
  const auto sum_of = [&](const ReferenceOffer& first) -> double {
    double sum_us = 0;
    for (const auto& offers : best) {
      const auto found = offers.find(first.values);
      if (found == offers.end()) return INFINITY;
      sum_us += found->second.rank_us;
    }
    return sum_us;
  };
  double best_us = INFINITY;
  for (const ReferenceOffer& first : firsts)
    best_us = std::min(best_us, sum_of(first));
  if (best_us == INFINITY) return all_default(DefaultReason::kNoLegalCandidate);
  const Values chosen =
      std::find_if(firsts.begin(), firsts.end(), [&](const ReferenceOffer& f) {
        return sum_of(f) <= best_us * (1 + table.near_tie);
      })->values;
  const auto decisions_of = [&](const Values& values) {
    std::vector<Decision> decisions;
    for (size_t i = 0; i < problems.size(); ++i) {
      const ReferenceOffer& offer = best[i].at(values);
      decisions.push_back(
          AnswerOf(table, digest,
                   table.sub_tables[static_cast<size_t>(problems[i].sub_table)],
                   offer.row, offer.candidate, stale));
    }
    return decisions;
  };
  const std::vector<Decision> lowest = decisions_of(chosen);
  if (incumbent == nullptr) return lowest;
  double bound = 0;
  for (const Decision& decision : lowest)
    bound = std::max(bound, double{decision.relative_bound});
  for (const ReferenceOffer& first : firsts) {
    if (first.values != SharedValues(*incumbent, shared)) continue;
    const double limit_us =
        sum_of(first) * (1 - CompiledTable::kIncumbentShare * bound);
    const double lowest_us = sum_of(best[0].at(chosen));
    if (sum_of(first) < INFINITY && limit_us <= lowest_us)
      return decisions_of(first.values);
  }
  return lowest;
}

}  // namespace wavetune::testing
