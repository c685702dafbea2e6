#include "cli/report/map_axes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

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

}  // namespace wavetune::cli
