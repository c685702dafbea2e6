#include "usage/heavy_hitters.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace wavetune {
namespace {

constexpr double kNegligible = 1e-6;

}  // namespace

HeavyHitters::HeavyHitters(size_t capacity)
    : capacity_(std::max<size_t>(1, capacity)) {}

void HeavyHitters::Add(const Problem& problem, double weight, double error) {
  if (!std::isfinite(weight) || !(weight > 0)) return;
  error = error > 0 ? std::min(error, weight) : 0;
  total_ += weight;
  const auto known = entries_.find(problem);
  if (known != entries_.end()) {
    known->second.weight += weight;
    known->second.error += error;
    return;
  }
  if (entries_.size() < capacity_) {
    entries_[problem] = {weight, error};
    return;
  }
  // The lightest makes room. What it weighed may have been this problem's,
  // which may have been evicted before: that is the error.
  const auto lightest = std::min_element(
      entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
        return a.second.weight < b.second.weight;
      });
  const double inherited = lightest->second.weight;
  entries_.erase(lightest);
  entries_[problem] = {inherited + weight, inherited + error};
}

void HeavyHitters::Scale(double factor) {
  if (!(factor >= 0) || factor > 1) return;
  total_ *= factor;
  for (auto it = entries_.begin(); it != entries_.end();) {
    it->second.weight *= factor;
    it->second.error *= factor;
    it = it->second.weight < kNegligible ? entries_.erase(it) : std::next(it);
  }
}

std::vector<HeavyHitters::Entry> HeavyHitters::Top(size_t count) const {
  std::vector<Entry> all;
  all.reserve(entries_.size());
  for (const auto& [problem, w] : entries_) {
    all.push_back({problem, w.weight, w.error});
  }
  // Stable: equal weights stay in the order of problems.
  std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return a.weight > b.weight;
  });
  if (all.size() > count) all.resize(count);
  return all;
}

void HeavyHitters::Clear() {
  entries_.clear();
  total_ = 0;
}

}  // namespace wavetune
