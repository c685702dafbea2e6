#include "cli/report/configuration_map.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/problem_arguments.h"
#include "wavetune/decision.h"

namespace wavetune::cli {
namespace {

constexpr int64_t kLargestAlignment = 64;
constexpr double kAlignedShare = 0.9;

std::vector<int64_t> Extents(const std::vector<Dimension>& dimensions,
                             const std::vector<Problem>& typical,
                             int dimension) {
  const auto index = static_cast<size_t>(dimension);
  std::vector<int64_t> extents;
  for (const Problem& problem : typical) {
    if (dimensions[index].repeated) {
      extents.insert(extents.end(), problem.repeated.begin(),
                     problem.repeated.end());
    } else if (index < problem.extents.size()) {
      extents.push_back(problem.extents[index]);
    }
  }
  std::erase_if(extents, [](int64_t extent) { return extent < 1; });
  if (extents.empty()) extents.push_back(1);
  return extents;
}

double Span(const std::vector<int64_t>& extents) {
  const auto [low, high] = std::minmax_element(extents.begin(), extents.end());
  return static_cast<double>(*high) / static_cast<double>(*low);
}

absl::StatusOr<int> FindDimension(const std::vector<Dimension>& dimensions,
                                  const std::string& name) {
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i].name == name) return static_cast<int>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the kernel has no dimension \"", name, "\"; it has: ",
      absl::StrJoin(dimensions, ", ", [](std::string* out, const auto& d) {
        out->append(d.name);
      })));
}

// The dimension that spans the largest factor and is not `other`; of equal ones
// the first. -1 where there is none.
int WidestDimension(const std::vector<Dimension>& dimensions,
                    const std::vector<Problem>& typical, int other) {
  int widest = -1;
  double width = 0;
  for (int i = 0; i < static_cast<int>(dimensions.size()); ++i) {
    const double span = Span(Extents(dimensions, typical, i));
    if (i == other || span <= width) continue;
    widest = i;
    width = span;
  }
  return widest;
}

int64_t Alignment(const std::vector<int64_t>& extents) {
  for (int64_t alignment = kLargestAlignment; alignment > 1; alignment /= 2) {
    const auto aligned = std::count_if(
        extents.begin(), extents.end(),
        [alignment](int64_t extent) { return extent % alignment == 0; });
    if (static_cast<double>(aligned) >=
        kAlignedShare * static_cast<double>(extents.size()))
      return alignment;
  }
  return 1;
}

}  // namespace

absl::StatusOr<std::pair<int, int>> ChooseAxes(
    const std::vector<Dimension>& dimensions,
    const std::vector<Problem>& typical, const MapOptions& options) {
  int x = -1;
  int y = -1;
  if (!options.x.empty()) {
    ASSIGN_OR_RETURN(x, FindDimension(dimensions, options.x));
  }
  if (!options.y.empty()) {
    ASSIGN_OR_RETURN(y, FindDimension(dimensions, options.y));
  }
  if (x >= 0 && x == y)
    return absl::InvalidArgumentError(
        absl::StrCat("both axes of the map are \"", options.x, "\""));
  if (x < 0) x = WidestDimension(dimensions, typical, y);
  if (y < 0) y = WidestDimension(dimensions, typical, x);
  if (options.x.empty() && options.y.empty() && y >= 0 && y < x)
    std::swap(x, y);
  return std::pair(x, y);
}

MapAxis MakeAxis(const std::vector<Dimension>& dimensions,
                 const std::vector<Problem>& typical, int dimension, int most) {
  MapAxis axis;
  if (dimension < 0) {
    axis.extents = {1};
    return axis;
  }
  const Dimension& named = dimensions[static_cast<size_t>(dimension)];
  axis.dimension = named.name;
  axis.repeated = named.repeated;
  const std::vector<int64_t> extents = Extents(dimensions, typical, dimension);
  const int64_t alignment = Alignment(extents);
  const auto [low, high] = std::minmax_element(extents.begin(), extents.end());
  const double ratio = static_cast<double>(*high) / static_cast<double>(*low);
  for (int i = 0; i < most; ++i) {
    const double exact =
        static_cast<double>(*low) *
        std::pow(ratio, static_cast<double>(i) / std::max(1, most - 1));
    int64_t extent =
        std::max<int64_t>(
            1, std::llround(exact / static_cast<double>(alignment))) *
        alignment;
    extent = std::clamp(extent, named.min, named.max);
    if (axis.extents.empty() || extent > axis.extents.back())
      axis.extents.push_back(extent);
  }
  return axis;
}

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
