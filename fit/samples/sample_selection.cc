#include "fit/samples/sample_selection.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace wavetune {
namespace {

constexpr double kSuspectWeight = 0.1;
// The worst of 25,359 anchors on an H200 was 4.9 times above its own minimum.
constexpr double kContradiction = 4;

// The order decides sums later on: never that of the input.
std::vector<const Sample*> Usable(absl::Span<const Sample* const> samples,
                                  SelectionCounts& counts) {
  std::vector<const Sample*> usable;
  for (const Sample* sample : samples) {
    if (!IsPlausibleLatency(sample->latency_us)) {
      ++counts.absurd;
    } else {
      usable.push_back(sample);
    }
  }
  std::sort(usable.begin(), usable.end(), [](const Sample* a, const Sample* b) {
    if (a->problem != b->problem) return a->problem < b->problem;
    if (a->suspect != b->suspect) return b->suspect;
    return a->latency_us < b->latency_us;
  });
  return usable;
}

// `begin`..`end` are the samples of one problem, the trusted ones first.
Observation Merge(const Mapping& mapping, const Sample* const* begin,
                  const Sample* const* end, SelectionCounts& counts) {
  const bool suspect = (*begin)->suspect;
  const auto trusted = static_cast<size_t>(std::count_if(
      begin, end, [&](const Sample* s) { return s->suspect == suspect; }));
  Observation observation;
  observation.problem = (*begin)->problem;
  observation.at =
      MapProblem(mapping, observation.problem.View(), (*begin)->configuration);
  observation.latency_us =
      (begin[(trusted - 1) / 2]->latency_us + begin[trusted / 2]->latency_us) *
      0.5;
  if (suspect) {
    observation.weight = kSuspectWeight;
    ++counts.suspect;
    counts.throttled +=
        std::any_of(begin, end, [](const Sample* s) { return s->throttled; });
  }
  counts.merged += (end - begin) - 1;
  return observation;
}

double FilledRows(const Coordinates& at) {
  return static_cast<double>(at.rows - 1) + at.row_fill;
}

// Whether `small` asks for no more than `large` in every respect and yet took
// several times as long.
bool Contradicts(const Observation& small, const Observation& large) {
  return small.latency_us > kContradiction * large.latency_us &&
         small.at.tiles <= large.at.tiles &&
         small.at.iterations <= large.at.iterations &&
         FilledRows(small.at) <= FilledRows(large.at);
}

std::vector<int> CountContradictions(const std::vector<Observation>& all) {
  std::vector<int> count(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      if (i == j || !Contradicts(all[i], all[j])) continue;
      ++count[i];
      ++count[j];
    }
  }
  return count;
}

// Drops the worst contradiction until none is worse than its counterpart.
void DropContradictory(std::vector<Observation>& all, SelectionCounts& counts) {
  for (;;) {
    const std::vector<int> count = CountContradictions(all);
    const auto worst = std::max_element(count.begin(), count.end());
    if (worst == count.end() || *worst == 0) return;
    if (*worst == 1) {
      for (size_t i = 0; i < all.size(); ++i) {
        if (count[i] == 0 || all[i].weight < 1) continue;
        all[i].weight = kSuspectWeight;
        ++counts.suspect;
      }
      return;
    }
    all.erase(all.begin() + (worst - count.begin()));
    ++counts.contradictory;
  }
}

}  // namespace

Sample MedianSample(std::vector<Sample> samples) {
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) {
                     return a.latency_us < b.latency_us;
                   });
  return std::move(samples[samples.size() / 2]);
}

bool IsPlausibleLatency(double latency_us) {
  return std::isfinite(latency_us) && latency_us >= kShortestLatencyUs &&
         latency_us <= kLongestLatencyUs;
}

bool IsSound(const Sample& sample) {
  return !sample.throttled && IsPlausibleLatency(sample.latency_us);
}

std::vector<Observation> SelectObservations(
    const Mapping& mapping, absl::Span<const Sample* const> samples,
    SelectionCounts& counts) {
  const std::vector<const Sample*> usable = Usable(samples, counts);
  std::vector<Observation> observations;
  for (size_t begin = 0; begin < usable.size();) {
    size_t end = begin + 1;
    while (end < usable.size() &&
           usable[end]->problem == usable[begin]->problem) {
      ++end;
    }
    observations.push_back(
        Merge(mapping, usable.data() + begin, usable.data() + end, counts));
    begin = end;
  }
  DropContradictory(observations, counts);
  counts.used += static_cast<int64_t>(observations.size());
  return observations;
}

}  // namespace wavetune
