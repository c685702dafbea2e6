#include "fit/models/incumbent_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wavetune {
namespace {

// Micro table cells that name each member of the portfolio.
std::vector<size_t> CellsOf(const SubTable& sub_table,
                            const MacroGroup& group) {
  std::vector<size_t> cells(sub_table.portfolio.size());
  for (const GroupModel& model : group.models) {
    for (const WaveSegment& segment : model.segments) {
      for (const uint8_t member : segment.micro) ++cells[member];
    }
  }
  return cells;
}

// As sub_table_builder.cc chooses whose coefficients a group gets.
size_t OwnerOf(const SubTable& sub_table, const MacroGroup& group) {
  const std::vector<size_t> cells = CellsOf(sub_table, group);
  size_t owner = group.lead;
  for (size_t m = 0; m < cells.size(); ++m) {
    if (cells[m] > cells[owner]) owner = m;
  }
  return owner;
}

bool HasShapeOf(const MacroGroup& group, const CandidateModel& model) {
  if (group.tiles_per_wave != model.tiles_per_wave ||
      group.models.size() != model.models.size()) {
    return false;
  }
  for (size_t r = 0; r < model.models.size(); ++r) {
    const std::vector<WaveSegment>& ours = model.models[r].segments;
    const std::vector<WaveSegment>& theirs = group.models[r].segments;
    if (ours.size() != theirs.size()) return false;
    for (size_t w = 0; w < ours.size(); ++w) {
      if (ours[w].step_tiles != theirs[w].step_tiles) return false;
    }
  }
  return true;
}

}  // namespace

const MacroGroup* GroupFittedTo(const SubTable& sub_table,
                                const Configuration& configuration) {
  for (const MacroGroup& group : sub_table.groups) {
    const size_t owner = OwnerOf(sub_table, group);
    if (sub_table.portfolio[owner].configuration == configuration) {
      return &group;
    }
  }
  return nullptr;
}

CandidateModel PreferIncumbent(const SubTable& axes,
                               const MacroGroup& incumbent,
                               absl::Span<const Observation> observations,
                               CandidateModel fitted) {
  if (!HasShapeOf(incumbent, fitted)) return fitted;
  CandidateModel kept = fitted;
  for (size_t r = 0; r < kept.models.size(); ++r) {
    for (size_t w = 0; w < kept.models[r].segments.size(); ++w) {
      const WaveSegment& serving = incumbent.models[r].segments[w];
      kept.models[r].segments[w].coefficients = serving.coefficients;
      kept.models[r].segments[w].floor_us = serving.floor_us;
    }
  }
  const double most =
      std::max(kNegligibleError, ErrorOf(axes, fitted, observations).Mean() *
                                     (1 + kIncumbentErrorMargin));
  if (!(ErrorOf(axes, kept, observations).Mean() <= most)) return fitted;
  kept.of_incumbent = true;
  SetQuality(axes, observations, kept);
  return kept;
}

}  // namespace wavetune
