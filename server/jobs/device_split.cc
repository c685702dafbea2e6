#include "server/jobs/device_split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace wavetune {
namespace {

// Indices of each problem, in the order of their first items.
std::vector<std::vector<size_t>> ByProblem(
    absl::Span<const MeasureItem> items) {
  std::vector<std::vector<size_t>> groups;
  std::map<Problem, size_t> known;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto [it, added] = known.emplace(items[i].problem, groups.size());
    if (added) groups.emplace_back();
    groups[it->second].push_back(i);
  }
  return groups;
}

std::vector<std::vector<size_t>> OneByOne(size_t count) {
  std::vector<std::vector<size_t>> groups(count);
  for (size_t i = 0; i < count; ++i) groups[i] = {i};
  return groups;
}

// Items that stay together, of one load level.
struct Group {
  std::vector<size_t> indices;
  int level = 0;
  double cost = 0;
};

// Sets what each group takes, as far as its level tells: an item takes some
// time however light it is, and work grows with three quarters of the level, as
// the intensity of dense products does with the cube root of their work.
// Returns the sum. Groups are sorted by level.
double SetCosts(std::vector<Group>& groups) {
  double sum = 0;
  for (Group& group : groups) {
    const int octaves = group.level - groups[groups.size() / 2].level;
    group.cost = static_cast<double>(group.indices.size()) *
                 (1 + std::exp2(0.75 * std::min(octaves, 40)));
    sum += group.cost;
  }
  return sum;
}

}  // namespace

std::vector<std::vector<size_t>> SplitIntoParts(
    absl::Span<const MeasureItem> items, KeepTogether together, size_t devices,
    absl::FunctionRef<int(const Problem&)> load_level) {
  // A step of few items is spread, too; two parts a device, so that one with
  // long launches does not end alone.
  const size_t wanted = 2 * std::max<size_t>(devices, 1);
  const size_t most = std::clamp<size_t>((items.size() + wanted - 1) / wanted,
                                         1, kMaxPartItems);
  std::vector<Group> groups;
  for (std::vector<size_t>& indices : together == KeepTogether::kProblem
                                          ? ByProblem(items)
                                          : OneByOne(items.size())) {
    const int level = load_level(items[indices.front()].problem);
    groups.push_back({.indices = std::move(indices), .level = level});
  }
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const Group& a, const Group& b) { return a.level < b.level; });
  const double most_cost = SetCosts(groups) / static_cast<double>(2 * wanted);
  std::vector<std::vector<size_t>> parts;
  double cost = 0;  // Of the last part.
  for (const Group& group : groups) {
    if (parts.empty() || parts.back().size() + group.indices.size() > most ||
        cost + group.cost > most_cost) {
      parts.emplace_back();
      cost = 0;
    }
    parts.back().insert(parts.back().end(), group.indices.begin(),
                        group.indices.end());
    cost += group.cost;
  }
  return parts;
}

size_t NextPart(size_t device, size_t devices, absl::Span<const size_t> at,
                size_t all) {
  // Both in units of 1 / (devices - 1) parts.
  const size_t steps = std::max<size_t>(devices, 2) - 1;
  const size_t home = std::min(device, steps) * (std::max<size_t>(all, 1) - 1);
  const auto distance = [&](size_t place) {
    return std::max(place * steps, home) - std::min(place * steps, home);
  };
  size_t nearest = 0;
  for (size_t i = 1; i < at.size(); ++i) {
    if (distance(at[i]) < distance(at[nearest])) nearest = i;
  }
  return nearest;
}

std::vector<size_t> CommonSet(absl::Span<const MeasureItem> items,
                              size_t count) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].vendor_baseline.empty()) candidates.push_back(i);
  }
  const size_t taken = std::min(count, candidates.size());
  std::vector<size_t> common;
  for (size_t i = 0; i < taken; ++i) {
    common.push_back(candidates[i * candidates.size() / taken]);
  }
  return common;
}

}  // namespace wavetune
