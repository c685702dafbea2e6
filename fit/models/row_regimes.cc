#include "fit/models/row_regimes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace wavetune {
namespace {

constexpr double kNearlyEmpty = 0.25;
constexpr double kDefaultLongestLoop = 512;

// The share of weight that falls into (rows, at most max_fill).
double Share(const RepresentativeView& view, int64_t rows, double max_fill) {
  double inside = 0;
  double all = 0;
  for (size_t i = 0; i < view.at.size(); ++i) {
    all += view.weights[i];
    if (view.at[i].rows == rows && view.at[i].row_fill <= max_fill) {
      inside += view.weights[i];
    }
  }
  return all > 0 ? inside / all : 0;
}

}  // namespace

std::vector<RowRegime> ChooseRowRegimes(
    bool has_rows, absl::Span<const RepresentativeView> candidates) {
  bool one = has_rows;
  bool two = has_rows;
  bool nearly_empty = false;
  if (has_rows && !candidates.empty() && !candidates[0].at.empty()) {
    one = two = false;
    nearly_empty = true;
    for (const RepresentativeView& view : candidates) {
      one = one || Share(view, 1, 1) >= kLeastRegimeShare;
      two = two || Share(view, 2, 1) >= kLeastRegimeShare;
      nearly_empty =
          nearly_empty && Share(view, 1, kNearlyEmpty) >= kLeastRegimeShare;
    }
  }
  std::vector<RowRegime> regimes;
  if (nearly_empty) regimes.push_back({1, kNearlyEmpty});
  if (one) regimes.push_back({1, 1});
  if (two) regimes.push_back({2, 1});
  regimes.push_back({std::numeric_limits<int64_t>::max(), 1});
  return regimes;
}

std::vector<int64_t> WaveRegimes() {
  return {1, std::numeric_limits<int64_t>::max()};
}

std::vector<double> ChooseLoopAnchors(
    absl::Span<const RepresentativeView> candidates) {
  double low = 0;
  double high = 0;
  for (const RepresentativeView& view : candidates) {
    for (const Coordinates& at : view.at) {
      low = low == 0 ? at.iterations : std::min(low, at.iterations);
      high = std::max(high, at.iterations);
    }
  }
  if (low == 0) {
    low = 1;
    high = kDefaultLongestLoop;
  }
  std::vector<double> anchors = {1};
  while (anchors[0] * 2 <= low) anchors[0] *= 2;
  // 2^24 iterations and beyond share the last anchor.
  while (anchors.back() < high && anchors.size() < 25) {
    anchors.push_back(anchors.back() * 2);
  }
  return anchors;
}

}  // namespace wavetune
