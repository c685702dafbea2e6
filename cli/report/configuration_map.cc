#include "cli/report/configuration_map.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/problem_arguments.h"
#include "cli/report/map_axes.h"
#include "wavetune/decision.h"

namespace wavetune::cli {
namespace {

// 56 x 40 cells of a map of about 700 x 500 pixels.
constexpr int kMostX = 56;
constexpr int kMostY = 40;

void SetExtent(const std::vector<Dimension>& dimensions, int dimension,
               int64_t extent, Problem& problem) {
  if (dimension < 0) return;
  const auto index = static_cast<size_t>(dimension);
  if (dimensions[index].repeated) {
    std::fill(problem.repeated.begin(), problem.repeated.end(), extent);
  } else {
    problem.extents[index] = extent;
  }
}

// Puts the extents that the user gave into every problem.
absl::Status SetFixed(const std::vector<Dimension>& dimensions,
                      std::pair<int, int> axes, const MapOptions& options,
                      std::vector<Problem>& problems) {
  std::vector<std::string> faults;
  std::set<std::string> known;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const Dimension& dimension = dimensions[i];
    known.insert(dimension.name);
    const auto given = options.fixed.find(dimension.name);
    if (given == options.fixed.end()) continue;
    if (static_cast<int>(i) == axes.first ||
        static_cast<int>(i) == axes.second) {
      faults.push_back(absl::StrCat(dimension.name, " is an axis of the map"));
      continue;
    }
    std::vector<int64_t> extents;
    for (const absl::string_view text : absl::StrSplit(given->second, ','))
      extents.push_back(ParseExtent(dimension, text, faults));
    if (!dimension.repeated && extents.size() != 1)
      faults.push_back(absl::StrCat(dimension.name, " takes one extent"));
    for (Problem& problem : problems) {
      if (dimension.repeated) {
        problem.repeated = extents;
      } else {
        problem.extents[i] = extents[0];
      }
    }
  }
  for (const auto& [name, text] : options.fixed) {
    if (!known.contains(name))
      faults.push_back(absl::StrCat("the kernel has no dimension ", name));
  }
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
}

// The other dimensions' most frequent combinations, ascending.
std::vector<Problem> MostFrequent(const std::vector<Problem>& problems) {
  std::map<Problem, int> counts;
  for (const Problem& problem : problems) ++counts[problem];
  std::vector<std::pair<int, Problem>> ranked;
  for (const auto& [problem, count] : counts)
    ranked.emplace_back(count, problem);
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  ranked.resize(std::min(ranked.size(), kMaxMaps));
  std::vector<Problem> result;
  for (auto& [count, problem] : ranked) result.push_back(std::move(problem));
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<MapCell> Decide(const CompiledTable& table, int sub_table,
                            const ConfigurationMap& map,
                            std::pair<int, int> axes) {
  const std::vector<Dimension>& dimensions = table.table().dimensions;
  std::vector<MapCell> cells;
  Problem problem = map.fixed;
  for (const int64_t y : map.y.extents) {
    SetExtent(dimensions, axes.second, y, problem);
    for (const int64_t x : map.x.extents) {
      SetExtent(dimensions, axes.first, x, problem);
      const Decision decision = table.Resolve(sub_table, problem.View());
      const bool found = decision.source != DecisionSource::kDefault;
      cells.push_back(
          {.candidate = found ? decision.candidate : -1,
           .latency_us = decision.latency_us,
           .extrapolated = decision.source == DecisionSource::kExtrapolated});
    }
  }
  return cells;
}

}  // namespace

absl::StatusOr<std::vector<ConfigurationMap>> ConfigurationMaps(
    const CompiledTable& table, int sub_table,
    const std::vector<Problem>& typical, const MapOptions& options) {
  const std::vector<Dimension>& dimensions = table.table().dimensions;
  if (typical.empty())
    return absl::FailedPreconditionError(
        "nothing says which problems are typical: no samples, and no "
        "representative problems");
  ASSIGN_OR_RETURN(const auto axes, ChooseAxes(dimensions, typical, options));
  const MapAxis x = MakeAxis(dimensions, typical, axes.first, kMostX);
  const MapAxis y = MakeAxis(dimensions, typical, axes.second, kMostY);
  std::vector<Problem> others = typical;
  for (Problem& problem : others) {
    problem.extents.resize(dimensions.size(), 1);
    SetExtent(dimensions, axes.first, 1, problem);
    SetExtent(dimensions, axes.second, 1, problem);
  }
  RETURN_IF_ERROR(SetFixed(dimensions, axes, options, others));
  std::vector<ConfigurationMap> maps;
  for (Problem& fixed : MostFrequent(others)) {
    ConfigurationMap& map = maps.emplace_back();
    map = {.x = x, .y = y, .fixed = std::move(fixed)};
    map.cells = Decide(table, sub_table, map, axes);
  }
  return maps;
}

}  // namespace wavetune::cli
