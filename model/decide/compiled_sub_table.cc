#include "model/decide/compiled_sub_table.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "model/decide/exact_quotient.h"
#include "model/kernel/fold.h"
#include "model/kernel/mapping.h"
#include "model/table/table_check.h"
#include "model/table/wave_arithmetic.h"
#include "model/table/wave_model.h"

namespace wavetune {
namespace {

static_assert(kMaxLanes == kMaxGroups);
static_assert(
    kMaxWaveRegimes <= 16 && kMaxLoopAnchors <= 32,
    "kMaxWaveBounds, kMaxAnchorLanes (model/decide/simd/lane_kernel_impl.h)");
static_assert(kLaneLimit == kExactQuotientLimit);
static_assert(kExpressionLimit == kExactQuotientLimit);

int RepeatedDimension(const Table& table) {
  for (size_t i = 0; i < table.dimensions.size(); ++i) {
    if (table.dimensions[i].repeated) return static_cast<int>(i);
  }
  return -1;
}

std::vector<int> AddClasses(const SubTable& sub, RowClasses& classes) {
  std::vector<int> class_of_group;
  for (const MacroGroup& group : sub.groups) {
    class_of_group.push_back(
        classes.Add(sub.portfolio[group.lead].configuration));
  }
  return class_of_group;
}

// Returns the groups' tiles along the rows, where an extent gives the regime.
std::vector<int64_t> TilesOfExtents(const RowClasses& classes,
                                    const std::vector<int>& class_of_group) {
  std::vector<int64_t> tiles;
  if (!classes.varies() || classes.repeated()) return tiles;
  for (const int row_class : class_of_group) {
    tiles.push_back(classes.tile(row_class));
  }
  return tiles;
}

// Excludes all groups but one, unless that one is excluded; returns whether it
// does.
bool PreferGroup(int group, uint64_t* excluded) {
  const uint64_t own[2] = {group < 64 ? uint64_t{1} << group : 0,
                           group < 64 ? 0 : uint64_t{1} << (group - 64)};
  if (((excluded[0] & own[0]) | (excluded[1] & own[1])) != 0) {
    return false;
  }
  excluded[0] = ~own[0];
  excluded[1] = ~own[1];
  return true;
}

}  // namespace

CompiledSubTable::CompiledSubTable(const Table& table, size_t index,
                                   SimdPath path)
    : source_(&table.sub_tables[index]),
      kernel_(FindLaneKernel(path)),
      layers_(*source_),
      part_tiles_(*source_),
      predicates_(RepeatedDimension(table)),
      classes_(*source_, RepeatedDimension(table)),
      class_of_group_(AddClasses(*source_, classes_)),
      program_(static_cast<int>(table.dimensions.size()),
               RepeatedDimension(table)),
      planes_(*source_, classes_.share(),
              TilesOfExtents(classes_, class_of_group_)) {
  for (size_t i = 0; i < source_->groups.size(); ++i) {
    for (const uint8_t predicate : source_->groups[i].predicates) {
      predicates_.Add(source_->predicates[predicate], i);
    }
  }
  AddCoordinates();
  AddConstants(table);
  AddMembers();
  if (source_->wary) default_group_ = DefaultGroup(table, *source_);
  fast_path_ = std::make_unique<const GemmFastPath>(
      GemmFastPath::Parts{.table = table,
                          .sub = *source_,
                          .predicates = predicates_,
                          .classes = classes_,
                          .program = program_,
                          .part_tiles = part_tiles_,
                          .layout = layout_,
                          .planes = planes_,
                          .kernel = *kernel_});
}

void CompiledSubTable::AddCoordinates() {
  std::vector<Mapping> mappings;
  for (const MacroGroup& group : source_->groups) {
    mappings.push_back(FoldMapping(
        source_->mapping, source_->portfolio[group.lead].configuration));
  }
  const auto add = [&](const auto& expression_of) {
    std::vector<Expression> rows;
    for (const Mapping& mapping : mappings) {
      rows.push_back(expression_of(mapping));
    }
    return program_.Add(rows);
  };
  layout_.loop_is_total = source_->mapping.total_iterations.has_value();
  layout_.has_longest = source_->mapping.longest_loop.has_value();
  layout_.tiles = add([](const Mapping& m) { return m.tiles; });
  layout_.loop = add([](const Mapping& m) {
    return m.total_iterations ? *m.total_iterations : *m.iterations_per_tile;
  });
  if (layout_.has_longest) {
    layout_.longest = add([](const Mapping& m) { return *m.longest_loop; });
  }
  if (classes_.varies() && classes_.repeated()) {
    for (size_t i = 0; i < classes_.size(); ++i) {
      sum_of_class_.push_back(
          program_.AddSum(classes_.tile(static_cast<int>(i))));
    }
  }
  program_.Seal();
}

void CompiledSubTable::AddConstants(const Table& table) {
  std::vector<double> tiles_per_wave;
  std::vector<double> inverse;
  std::vector<double> row_tile;
  std::vector<double> inverse_row_tile;
  for (size_t i = 0; i < source_->groups.size(); ++i) {
    const int64_t own = source_->groups[i].tiles_per_wave;
    const int64_t tile = classes_.tile(class_of_group_[i]);
    tiles_per_wave.push_back(static_cast<double>(own));
    inverse.push_back(InverseBelow(own));
    row_tile.push_back(static_cast<double>(tile));
    inverse_row_tile.push_back(InverseBelow(tile));
  }
  tiles_per_wave_ = ToLanes(tiles_per_wave);
  inverse_tiles_per_wave_ = ToLanes(inverse);
  row_tile_ = ToLanes(row_tile);
  inverse_row_tile_ = ToLanes(inverse_row_tile);
  std::vector<double> anchors = source_->loop_anchors;
  anchors.resize((anchors.size() + kBlockLanes - 1) / kBlockLanes * kBlockLanes,
                 std::numeric_limits<double>::infinity());
  loop_anchors_ = ToLanes(anchors);
  layout_.lanes = static_cast<int>(tiles_per_wave_.size()) * kBlockLanes;
  layout_.tiles_per_wave = tiles_per_wave_.data()->lane;
  layout_.inverse_tiles_per_wave = inverse_tiles_per_wave_.data()->lane;
  layout_.row_tile = row_tile_.data()->lane;
  layout_.inverse_row_tile = inverse_row_tile_.data()->lane;
  layout_.anchors = loop_anchors_.data()->lane;
  layout_.anchor_lanes = static_cast<int>(loop_anchors_.size()) * kBlockLanes;
  layout_.overlaps = source_->form == WaveForm::kOverlap;
  layout_.cold = source_->mapping.cold_bytes.has_value();
  layout_.max_waves = planes_.max_waves().data();
  layout_.tie_factor = 1 + table.near_tie;
}

void CompiledSubTable::AddMembers() {
  for (const MacroGroup& group : source_->groups) {
    Members& members = members_.emplace_back();
    members.set(group.lead);
    for (const GroupModel& model : group.models) {
      for (const WaveSegment& segment : model.segments) {
        for (const uint8_t candidate : segment.micro) members.set(candidate);
      }
    }
  }
}

bool CompiledSubTable::FindRegimes(const ProblemView& problem,
                                   const LaneScratch& scratch,
                                   uint8_t* regimes) const noexcept {
  if (!sum_of_class_.empty()) {
    bool all_last = true;
    for (const int sum : sum_of_class_) {
      all_last &= classes_.InLastRegime(scratch.sums[sum]);
    }
    if (all_last) {
      regimes[0] = static_cast<uint8_t>(source_->row_regimes.size() - 1);
      return true;
    }
  }
  uint8_t of_class[kMaxGroups];
  if (sum_of_class_.empty()) {
    classes_.FindRegimes(problem, of_class);
  } else {
    for (size_t i = 0; i < sum_of_class_.size(); ++i) {
      of_class[i] = classes_.RegimeOfSum(
          static_cast<int>(i), scratch.sums[sum_of_class_[i]], problem);
    }
  }
  bool alike = true;
  for (size_t i = 0; i < classes_.size(); ++i) {
    alike = alike && of_class[i] == of_class[0];
  }
  regimes[0] = of_class[0];
  if (alike) return true;
  for (size_t i = 0; i < class_of_group_.size(); ++i) {
    regimes[i] = of_class[class_of_group_[i]];
  }
  return false;
}

inline void CompiledSubTable::Answer(const ProblemView& problem,
                                     const LaneChoice& row, size_t row_regime,
                                     bool of_layer,
                                     GroupAnswer& answer) const noexcept {
  const auto group = static_cast<size_t>(row.lane);
  const SegmentRecord& record =
      planes_.Record(group, row_regime, planes_.WaveRegimeOf(row.waves));
  const bool extrapolated =
      record.IsOutside(row.waves, row.iterations) ||
      (!of_layer && part_tiles_.AreOf(group, problem.extents.data()));
  answer.latency_us = row.latency_us;
  answer.relative_bound = record.bounds[extrapolated ? 1 : 0];
  answer.pick = GroupPick::Of(static_cast<unsigned>(row.lane),
                              record.micro[row.anchor], extrapolated ? 1 : 0);
}

bool CompiledSubTable::FindInputs(const ProblemView& problem,
                                  LaneScratch& scratch,
                                  LaneInputs& inputs) const noexcept {
  if (!program_.Run(problem, *kernel_, scratch)) return false;
  inputs.values = scratch.values;
  inputs.lane_values = scratch.lane_values;
  if (layout_.cold) {
    inputs.cold_mib = ColdMib(source_->mapping, problem);
    return inputs.cold_mib <= kMaxColdMib;
  }
  if (!layout_.overlaps || !classes_.share()) return true;
  inputs.row_extent = static_cast<double>(
      problem.extents[static_cast<size_t>(classes_.dimension())]);
  return true;
}

bool CompiledSubTable::ChooseInLanes(const ProblemView& problem,
                                     const uint64_t* excluded, bool of_layer,
                                     GroupAnswer& answer) const noexcept {
  LaneScratch scratch;  // Not initialised: only what has been written is read.
  LaneInputs inputs;
  if (!FindInputs(problem, scratch, inputs)) return false;
  if (!planes_.has_intervals()) {
    return ChooseByRegimes(problem, scratch, inputs, excluded, of_layer,
                           answer);
  }
  const int plane = planes_.PlaneAt(
      *kernel_,
      static_cast<double>(
          problem.extents[static_cast<size_t>(classes_.dimension())]));
  LaneChoice row;
  if (!kernel_->choose(layout_, inputs, planes_.Plane(plane), excluded, row)) {
    return false;
  }
  if (row.lane >= 0) {
    Answer(problem, row, planes_.RegimeOf(plane, static_cast<size_t>(row.lane)),
           of_layer, answer);
  }
  return true;
}

bool CompiledSubTable::ChooseByRegimes(const ProblemView& problem,
                                       const LaneScratch& scratch,
                                       const LaneInputs& inputs,
                                       const uint64_t* excluded, bool of_layer,
                                       GroupAnswer& answer) const noexcept {
  uint8_t regimes[kMaxGroups];
  LaneBlock assembled[SegmentPlanes::kMaxAssembled];
  SegmentPlane segments;
  const bool alike = FindRegimes(problem, scratch, regimes);
  if (alike) std::fill_n(regimes + 1, class_of_group_.size() - 1, regimes[0]);
  const int plane = alike ? planes_.UniformPlane(regimes[0]) : -1;
  if (plane >= 0) {
    segments = planes_.Plane(plane);
  } else {
    alignas(64) double waves[kMaxLanes];
    if (!kernel_->locate(layout_, inputs, waves)) return false;
    segments = planes_.Assemble(regimes, waves, assembled);
  }
  LaneChoice row;
  if (!kernel_->choose(layout_, inputs, segments, excluded, row)) return false;
  if (row.lane >= 0) {
    Answer(problem, row, regimes[row.lane], of_layer, answer);
  }
  return true;
}

void CompiledSubTable::Choose(const ProblemView& problem,
                              GroupAnswer& answer) const noexcept {
  uint64_t excluded[2] = {0, 0};
  predicates_.Run(problem, excluded);
  const int known = layers_.GroupAt(problem.extents.data());
  uint64_t others[2] = {excluded[0], excluded[1]};
  const bool of_layer = known >= 0 && PreferGroup(known, others);
  if (!ChooseAmong(problem, of_layer ? others : excluded, of_layer, answer)) {
    answer.pick = {};
  } else if (default_group_ >= 0 && !of_layer) {
    KeepDefault(problem, excluded, answer);
  }
}

void CompiledSubTable::KeepDefault(const ProblemView& problem,
                                   const uint64_t* excluded,
                                   GroupAnswer& answer) const noexcept {
  const unsigned lead =
      source_->groups[static_cast<size_t>(default_group_)].lead;
  if (answer.pick.extrapolated() == 0 || answer.pick.candidate() == lead) {
    return;
  }
  uint64_t others[2] = {excluded[0], excluded[1]};
  GroupAnswer kept;
  if (!PreferGroup(default_group_, others) ||
      !ChooseAmong(problem, others, /*of_layer=*/false, kept) ||
      kept.latency_us > answer.latency_us * (1 + answer.relative_bound)) {
    return;
  }
  answer = kept;
  answer.pick = GroupPick::KeptDefault(static_cast<unsigned>(default_group_),
                                       lead, kept.pick.extrapolated());
}

double CompiledSubTable::RankOfRow(const LaneChoice& row, size_t row_regime,
                                   double latency_us) const noexcept {
  const auto group = static_cast<size_t>(row.lane);
  const size_t wave_regime = planes_.WaveRegimeOf(row.waves);
  const bool outside = planes_.Record(group, row_regime, wave_regime)
                           .IsOutside(row.waves, row.iterations);
  const WaveSegment& segment =
      source_->groups[group].models[row_regime].segments[wave_regime];
  return PowerLimitedUs(source_->power_limit,
                        RankOf(source_->form, segment, latency_us, outside));
}

size_t CompiledSubTable::AnswerEach(const ProblemView& problem,
                                    GroupRow* rows) const noexcept {
  uint64_t excluded[2] = {0, 0};
  predicates_.Run(problem, excluded);
  LaneScratch scratch;
  LaneInputs inputs;
  if (!FindInputs(problem, scratch, inputs)) return 0;
  uint8_t regimes[kMaxGroups];
  const size_t groups = source_->groups.size();
  if (FindRegimes(problem, scratch, regimes))
    std::fill_n(regimes + 1, groups - 1, regimes[0]);
  alignas(64) double waves[kMaxLanes];
  if (!kernel_->locate(layout_, inputs, waves)) return 0;
  LaneBlock assembled[SegmentPlanes::kMaxAssembled];
  const SegmentPlane segments = planes_.Assemble(regimes, waves, assembled);
  const int known = layers_.GroupAt(problem.extents.data());
  size_t count = 0;
  for (size_t group = 0; group < groups; ++group) {
    uint64_t others[2] = {excluded[0], excluded[1]};
    if (!PreferGroup(static_cast<int>(group), others)) continue;
    LaneChoice row;
    if (!kernel_->choose(layout_, inputs, segments, others, row)) return 0;
    GroupRow& out = rows[count++];
    Answer(problem, row, regimes[group], known == row.lane, out.answer);
    out.rank_us = RankOfRow(row, regimes[group], out.answer.latency_us);
    out.answer.latency_us =
        PowerLimitedUs(source_->power_limit, out.answer.latency_us);
  }
  return count;
}

bool CompiledSubTable::ChooseAmong(const ProblemView& problem,
                                   const uint64_t* excluded, bool of_layer,
                                   GroupAnswer& answer) const noexcept {
  answer.pick = {};
  return fast_path_->ChooseAmong(problem, excluded, answer) ||
         ChooseInLanes(problem, excluded, of_layer, answer);
}

}  // namespace wavetune
