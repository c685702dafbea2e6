#include "model/compiled_sub_table.h"

#include <algorithm>
#include <limits>

#include "model/fold.h"
#include "model/table_check.h"
#include "model/wave_model.h"

namespace wavetune {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

int RepeatedDimension(const Table& table) {
  for (size_t i = 0; i < table.dimensions.size(); ++i) {
    if (table.dimensions[i].repeated) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

CompiledSubTable::CompiledSubTable(const Table& table, size_t index)
    : source_(&table.sub_tables[index]),
      loop_is_total_(!source_->mapping.iterations_per_tile.has_value()),
      has_longest_loop_(source_->mapping.longest_loop.has_value()),
      wave_regimes_(source_->max_waves.size()),
      row_regimes_(source_->row_regimes.size()),
      tie_factor_(1 + table.near_tie),
      coordinates_(static_cast<int>(table.dimensions.size()),
                   RepeatedDimension(table)),
      predicates_(RepeatedDimension(table)) {
  if (source_->mapping.rows) {
    row_dimension_ = source_->mapping.rows->dimension;
    rows_repeated_ = row_dimension_ == RepeatedDimension(table);
  }
  for (const MacroGroup& group : source_->groups) AddGroup(table, group);
  coordinates_.Seal();
}

int CompiledSubTable::AddRowClass(const Configuration& configuration) {
  const int64_t tile =
      source_->mapping.rows ? configuration[source_->mapping.rows->tile] : 1;
  for (size_t i = 0; i < row_tiles_.size(); ++i) {
    if (row_tiles_[i].divisor() == tile) return static_cast<int>(i);
  }
  row_tiles_.emplace_back(tile);
  return static_cast<int>(row_tiles_.size()) - 1;
}

void CompiledSubTable::AddGroup(const Table& table, const MacroGroup& group) {
  const Configuration& lead = source_->portfolio[group.lead].configuration;
  const Mapping mapping = FoldMapping(source_->mapping, lead);
  Group compiled{
      .capacity = ConstantDivider(group.capacity),
      .tiles_slot = coordinates_.Add(mapping.tiles),
      .loop_slot =
          coordinates_.Add(loop_is_total_ ? *mapping.total_iterations
                                          : *mapping.iterations_per_tile),
      .row_class = AddRowClass(lead),
      .predicates_begin = static_cast<int>(group_predicates_.size())};
  for (const Relation& relation : table.problem_predicates) {
    group_predicates_.push_back(predicates_.Add(FoldRelation(relation, lead)));
  }
  compiled.longest_slot = has_longest_loop_
                              ? coordinates_.Add(*mapping.longest_loop)
                              : compiled.loop_slot;
  compiled.predicates_end = static_cast<int>(group_predicates_.size());
  groups_.push_back(compiled);
  for (const TableRow& row : group.rows) {
    for (const WaveSegment& segment : row.segments) {
      segments_.push_back(
          {segment.coefficients, segment.floor_us,
           ConstantDivider(segment.step_tiles),
           StepTiles(group.capacity, Waves(group.capacity, segment.step_tiles)),
           segment.min_wave, segment.max_wave, segment.min_iterations,
           segment.max_iterations});
    }
  }
}

// The same arithmetic as MapProblem's, on each distinct tile once.
void CompiledSubTable::FindRowRegimes(const ProblemView& problem,
                                      size_t* regimes) const {
  if (row_dimension_ < 0 || row_regimes_ == 1) {
    const auto regime = static_cast<size_t>(RowRegimeIndex(*source_, 1, 1));
    std::fill_n(regimes, row_tiles_.size(), regime);
    return;
  }
  const absl::Span<const int64_t> extents =
      rows_repeated_
          ? problem.repeated
          : problem.extents.subspan(static_cast<size_t>(row_dimension_), 1);
  for (size_t i = 0; i < row_tiles_.size(); ++i) {
    const ConstantDivider& tile = row_tiles_[i];
    int64_t rows = 0;
    int64_t filled = 0;
    double fill = 0;
    for (const int64_t extent : extents) {
      if (extent == 0) continue;
      const int64_t own = tile.CeilDiv(extent);
      rows = std::min(rows + own, kExpressionLimit);
      fill += static_cast<double>(extent - (own - 1) * tile.divisor()) /
              static_cast<double>(tile.divisor());
      ++filled;
    }
    regimes[i] = static_cast<size_t>(
        filled == 0 ? RowRegimeIndex(*source_, 1, 1)
                    : RowRegimeIndex(*source_, rows,
                                     fill / static_cast<double>(filled)));
  }
}

bool CompiledSubTable::IsLegal(const Group& group, const uint8_t* holds) const {
  for (int i = group.predicates_begin; i < group.predicates_end; ++i) {
    if (holds[group_predicates_[static_cast<size_t>(i)]] == 0) return false;
  }
  return true;
}

inline CompiledSubTable::Place CompiledSubTable::Locate(
    size_t group, const int64_t* slots, const size_t* regimes) const {
  const Group& g = groups_[group];
  const int64_t tiles = std::max<int64_t>(1, slots[g.tiles_slot]);
  const int64_t loop = std::max<int64_t>(1, slots[g.loop_slot]);
  Place place;
  place.tiles = tiles;
  place.iterations = static_cast<double>(loop);
  place.longest_loop = std::max<int64_t>(1, slots[g.longest_slot]);
  if (loop_is_total_) {
    place.iterations = place.iterations / static_cast<double>(tiles);
    if (!has_longest_loop_) place.longest_loop = (loop + tiles - 1) / tiles;
  }
  place.waves = g.capacity.CeilDiv(tiles);
  size_t wave_regime = 0;
  for (size_t i = 0; i + 1 < wave_regimes_; ++i) {
    wave_regime += place.waves > source_->max_waves[i] ? 1 : 0;
  }
  place.segment =
      (group * row_regimes_ + regimes[g.row_class]) * wave_regimes_ +
      wave_regime;
  return place;
}

// As PredictLatencyUs (model/wave_model.h), without its divisions.
inline double CompiledSubTable::Predict(size_t group,
                                        const Place& place) const {
  const Segment& segment = segments_[place.segment];
  const LoopLengths loop = {place.iterations,
                            static_cast<double>(place.longest_loop)};
  double latency_us = 0;
  if (source_->form == WaveForm::kSum) {
    latency_us = SumLatencyUs(
        segment.coefficients,
        StepTiles(place.tiles, segment.step_tiles.CeilDiv(place.tiles)), loop);
  } else {
    const Group& g = groups_[group];
    const int64_t full_waves = place.waves - 1;
    const int64_t last = place.tiles - full_waves * g.capacity.divisor();
    latency_us =
        OverlapLatencyUs(segment.coefficients,
                         {static_cast<double>(full_waves), segment.full_wave,
                          StepTiles(last, segment.step_tiles.CeilDiv(last))},
                         loop);
  }
  return latency_us > segment.floor_us ? latency_us : segment.floor_us;
}

// As IsExtrapolated.
inline bool CompiledSubTable::IsOutside(const Place& place) const {
  const Segment& segment = segments_[place.segment];
  return place.waves < segment.min_wave || place.waves > segment.max_wave ||
         place.iterations < segment.min_iterations ||
         place.iterations > segment.max_iterations;
}

inline double CompiledSubTable::Rank(size_t group, const Place& place) const {
  const double latency_us = Predict(group, place);
  return RankOf(source_->form, latency_us,
                source_->form == WaveForm::kOverlap && IsOutside(place));
}

Choice CompiledSubTable::Choose(const ProblemView& problem) const noexcept {
  // Not initialised: only what the programs write is read.
  int64_t slots[CoordinateProgram::kMaxSlots];
  uint8_t holds[PredicateProgram::kMaxPredicates];
  size_t regimes[kMaxGroups];
  double rank[kMaxGroups];
  coordinates_.Run(problem, slots);
  predicates_.Run(problem, holds);
  FindRowRegimes(problem, regimes);

  // Stage I: the fastest row, then the earliest of those near it.
  double best = kNever;
  for (size_t i = 0; i < groups_.size(); ++i) {
    rank[i] = IsLegal(groups_[i], holds) ? Rank(i, Locate(i, slots, regimes))
                                         : kNever;
    best = rank[i] < best ? rank[i] : best;
  }
  if (best == kNever) return {};
  const double limit = best * tie_factor_;
  size_t chosen = 0;
  while (!(rank[chosen] <= limit)) ++chosen;

  // Stage II: the micro table.
  const Place place = Locate(chosen, slots, regimes);
  const size_t row = place.segment / wave_regimes_ - chosen * row_regimes_;
  const WaveSegment& segment =
      source_->groups[chosen].rows[row].segments[place.segment % wave_regimes_];
  const auto anchor =
      static_cast<size_t>(LoopAnchorIndex(*source_, place.iterations));
  const bool extrapolated = IsOutside(place);
  return {.latency_us = Predict(chosen, place),
          .relative_bound = extrapolated ? segment.extrapolated_bound
                                         : segment.relative_bound,
          .group = static_cast<int>(chosen),
          .candidate = segment.micro[anchor],
          .extrapolated = extrapolated};
}

}  // namespace wavetune
