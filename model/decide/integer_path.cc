#include "model/decide/integer_path.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "model/kernel/fold.h"
#include "model/table/table_check.h"
#include "model/table/wave_arithmetic.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

constexpr double kNoRank = std::numeric_limits<double>::infinity();

}  // namespace

IntegerPath::IntegerPath(const Table& table, const SubTable& sub,
                         const RowClasses& classes, const PartTiles& part_tiles,
                         std::vector<int> class_of_group,
                         int repeated_dimension)
    : source_(&sub),
      classes_(&classes),
      part_tiles_(&part_tiles),
      class_of_group_(std::move(class_of_group)),
      tie_factor_(1 + table.near_tie),
      coordinates_(static_cast<int>(table.dimensions.size()),
                   repeated_dimension) {
  for (const MacroGroup& group : sub.groups) {
    const Mapping mapping =
        FoldMapping(sub.mapping, sub.portfolio[group.lead].configuration);
    Group compiled{
        .tiles_per_wave = ConstantDivider(group.tiles_per_wave),
        .tiles_slot = coordinates_.Add(mapping.tiles),
        .loop_slot = coordinates_.Add(mapping.total_iterations
                                          ? *mapping.total_iterations
                                          : *mapping.iterations_per_tile)};
    compiled.longest_slot = mapping.longest_loop
                                ? coordinates_.Add(*mapping.longest_loop)
                                : compiled.loop_slot;
    groups_.push_back(compiled);
  }
  coordinates_.Seal();
}

IntegerPath::Place IntegerPath::Locate(size_t group, const ProblemView& problem,
                                       const int64_t* slots,
                                       const uint8_t* regimes) const noexcept {
  const Group& g = groups_[group];
  const int64_t loop = std::max<int64_t>(1, slots[g.loop_slot]);
  Place place;
  place.at.tiles = std::max<int64_t>(1, slots[g.tiles_slot]);
  place.at.iterations = static_cast<double>(loop);
  place.at.longest_loop = std::max<int64_t>(1, slots[g.longest_slot]);
  place.at.saturated = std::max({place.at.tiles, loop, place.at.longest_loop}) >
                       kExpressionLimit;
  if (source_->mapping.total_iterations) {
    place.at.iterations =
        place.at.iterations / static_cast<double>(place.at.tiles);
    if (!source_->mapping.longest_loop) {
      place.at.longest_loop = (loop + place.at.tiles - 1) / place.at.tiles;
    }
  }
  place.at.row_share = classes_->RowShareOf(class_of_group_[group], problem);
  place.waves = g.tiles_per_wave.CeilDiv(place.at.tiles);
  const auto wave_regime =
      static_cast<size_t>(WaveRegimeIndex(*source_, place.waves));
  place.segment = &source_->groups[group]
                       .models[regimes[class_of_group_[group]]]
                       .segments[wave_regime];
  return place;
}

double IntegerPath::Predict(size_t group, const Place& place) const noexcept {
  return PredictLatencyUs(source_->form,
                          groups_[group].tiles_per_wave.divisor(),
                          *place.segment, place.at);
}

GroupAnswer IntegerPath::Choose(const ProblemView& problem,
                                const uint64_t* excluded,
                                bool of_layer) const noexcept {
  // Not initialised: only what the program writes is read.
  int64_t slots[CoordinateProgram::kMaxSlots];
  uint8_t regimes[kMaxGroups];
  double rank[kMaxGroups];
  coordinates_.Run(problem, slots);
  classes_->FindRegimes(problem, regimes);

  double best = kNoRank;
  for (size_t i = 0; i < groups_.size(); ++i) {
    rank[i] = kNoRank;
    if ((excluded[i / 64] >> (i % 64) & 1) != 0) continue;
    const Place place = Locate(i, problem, slots, regimes);
    if (place.at.saturated) continue;
    rank[i] = RankOf(
        source_->form, *place.segment, Predict(i, place),
        IsExtrapolated(*place.segment, place.at.iterations, place.waves));
    best = rank[i] < best ? rank[i] : best;
  }
  if (best == kNoRank) return {};
  const double limit = best * tie_factor_;
  size_t chosen = 0;
  while (!(rank[chosen] <= limit)) ++chosen;

  const Place place = Locate(chosen, problem, slots, regimes);
  const WaveSegment& segment = *place.segment;
  const bool extrapolated =
      IsExtrapolated(segment, place.at.iterations, place.waves) ||
      (!of_layer && part_tiles_->AreOf(chosen, problem.extents.data()));
  return {
      .latency_us = Predict(chosen, place),
      .pick = GroupPick::Of(static_cast<unsigned>(chosen),
                            segment.micro[static_cast<size_t>(LoopAnchorIndex(
                                *source_, place.at.iterations))],
                            extrapolated ? 1 : 0),
      .relative_bound =
          extrapolated ? segment.extrapolated_bound : segment.relative_bound};
}

}  // namespace wavetune
