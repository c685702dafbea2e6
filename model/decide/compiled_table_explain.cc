// CompiledTable::Explain: a decision's rows, for people. Walks the decoded
// table with MapProblem and Holds, not the compiled one: slow, obvious, and the
// same bits (tests/component/decision_differential_test.cc compares them).
#include <algorithm>
#include <cstddef>

#include "model/decide/compiled_sub_table.h"
#include "model/decide/compiled_table.h"
#include "model/table/wave_arithmetic.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

// `part_tiles`: the problem fills less than half of a tile of the group.
ExplainedGroup ExplainGroup(const SubTable& sub, const MacroGroup& group,
                            const ProblemView& problem, bool part_tiles) {
  ExplainedGroup row;
  row.coordinates =
      MapProblem(sub.mapping, problem, sub.portfolio[group.lead].configuration);
  const Coordinates& at = row.coordinates;
  row.tiles_per_wave = group.tiles_per_wave;
  row.waves = Waves(at.tiles, group.tiles_per_wave);
  const auto regime =
      static_cast<size_t>(RowRegimeIndex(sub, at.rows, at.row_fill));
  row.row_regime = sub.row_regimes[regime];
  const WaveSegment& segment =
      group.models[regime]
          .segments[static_cast<size_t>(WaveRegimeIndex(sub, row.waves))];
  const auto anchor = static_cast<size_t>(LoopAnchorIndex(sub, at.iterations));
  row.configuration = sub.portfolio[segment.micro[anchor]].configuration;
  row.latency_us =
      PredictLatencyUs(sub.form, group.tiles_per_wave, segment, at);
  row.extrapolated = IsExtrapolated(segment, at.iterations, row.waves);
  row.rank_us = RankOf(sub.form, segment, row.latency_us, row.extrapolated);
  row.latency_us = PowerLimitedUs(sub.power_limit, row.latency_us);
  row.rank_us = PowerLimitedUs(sub.power_limit, row.rank_us);
  row.extrapolated |= part_tiles;
  row.relative_bound =
      row.extrapolated ? segment.extrapolated_bound : segment.relative_bound;
  return row;
}

}  // namespace

std::vector<ExplainedGroup> CompiledTable::Explain(
    int sub_table, const ProblemView& problem) const {
  std::vector<ExplainedGroup> rows;
  if (CheckProblem(sub_table, problem) != DefaultReason::kNone) return rows;
  const auto index = static_cast<size_t>(sub_table);
  const SubTable& sub = table_.sub_tables[index];
  const int of_layer =
      sub_tables_[index]->layers().GroupAt(problem.extents.data());
  for (size_t i = 0; i < sub.groups.size(); ++i) {
    const MacroGroup& group = sub.groups[i];
    const bool part_tiles =
        static_cast<int>(i) != of_layer &&
        sub_tables_[index]->part_tiles().AreOf(i, problem.extents.data());
    ExplainedGroup& row =
        rows.emplace_back(ExplainGroup(sub, group, problem, part_tiles));
    for (const uint8_t predicate : group.predicates) {
      const Relation& relation = sub.predicates[predicate];
      if (Holds(relation, problem, repeated_dimension_)) continue;
      row.broken.push_back(FormatRelation(relation, table_.dimensions));
    }
    row.legal = row.broken.empty();
  }
  // What Resolve does not count it does not decide.
  if (std::any_of(rows.begin(), rows.end(), [](const ExplainedGroup& row) {
        return row.coordinates.saturated;
      })) {
    for (ExplainedGroup& row : rows) row.legal = false;
  }
  GroupAnswer answer;
  sub_tables_[index]->Choose(problem, answer);
  const int group = answer.pick.group();
  if (group >= 0) {
    ExplainedGroup& row = rows[static_cast<size_t>(group)];
    row.chosen = true;
    row.of_layer = of_layer == group;
    row.kept_default = answer.pick.kept_default();
    // Which the row's micro table need not name.
    if (row.kept_default) row.configuration = table_.default_configuration;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ExplainedGroup& a, const ExplainedGroup& b) {
                     if (a.legal != b.legal) return a.legal;
                     return a.rank_us < b.rank_us;
                   });
  return rows;
}

}  // namespace wavetune
