#include "server/jobs/board_split.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace wavetune {
namespace {

// Groups of indices, in the order of their first items.
template <typename Key>
std::vector<std::vector<size_t>> GroupBy(
    absl::Span<const MeasureItem> items,
    const std::function<Key(const MeasureItem&)>& key_of) {
  std::vector<std::vector<size_t>> groups;
  std::map<Key, size_t> known;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto [it, added] = known.emplace(key_of(items[i]), groups.size());
    if (added) groups.emplace_back();
    groups[it->second].push_back(i);
  }
  return groups;
}

std::vector<std::vector<size_t>> GroupsOf(absl::Span<const MeasureItem> items,
                                          KeepTogether together) {
  if (together == KeepTogether::kProblem) {
    return GroupBy<Problem>(
        items, [](const MeasureItem& item) { return item.problem; });
  }
  using Candidate = std::tuple<std::string, Configuration, std::string>;
  return GroupBy<Candidate>(items, [](const MeasureItem& item) {
    return Candidate(item.problem.specialisation, item.configuration,
                     item.vendor_baseline);
  });
}

// Cuts groups into pieces of at most `most`.
std::vector<std::vector<size_t>> Cut(
    const std::vector<std::vector<size_t>>& groups, size_t most) {
  std::vector<std::vector<size_t>> pieces;
  for (const std::vector<size_t>& group : groups) {
    for (size_t begin = 0; begin < group.size(); begin += most) {
      const size_t end = std::min(begin + most, group.size());
      pieces.emplace_back(group.begin() + static_cast<ptrdiff_t>(begin),
                          group.begin() + static_cast<ptrdiff_t>(end));
    }
  }
  return pieces;
}

}  // namespace

std::vector<std::vector<size_t>> SplitIntoParts(
    absl::Span<const MeasureItem> items, KeepTogether together, size_t boards,
    absl::FunctionRef<int(const Problem&)> load_level) {
  // A step of few items is spread, too; two parts a board, so that one with
  // long launches does not end alone.
  const size_t wanted = 2 * std::max<size_t>(boards, 1);
  const size_t most = std::clamp<size_t>((items.size() + wanted - 1) / wanted,
                                         1, kMaxPartItems);
  std::vector<std::vector<size_t>> groups = GroupsOf(items, together);
  if (together == KeepTogether::kCandidate) {
    groups = Cut(groups, most);
  } else {
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const auto& a, const auto& b) {
                       return load_level(items[a.front()].problem) <
                              load_level(items[b.front()].problem);
                     });
  }
  std::vector<std::vector<size_t>> parts;
  for (std::vector<size_t>& group : groups) {
    if (parts.empty() || parts.back().size() + group.size() > most) {
      parts.push_back(std::move(group));
    } else {
      parts.back().insert(parts.back().end(), group.begin(), group.end());
    }
  }
  return parts;
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
