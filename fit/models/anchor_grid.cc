#include "fit/models/anchor_grid.h"

#include <algorithm>
#include <cmath>

namespace wavetune {
namespace {

// In eighths of a wave, at it or just past it.
struct Step {
  int64_t eighths;
  bool past;
};
constexpr Step kSteps[] = {{8, false},  {8, true},  {16, false}, {4, false},
                           {32, false}, {16, true}, {64, false}, {1, false},
                           {24, true},  {2, false}, {6, false},  {128, false},
                           {24, false}, {32, true}, {48, false}, {12, false},
                           {96, false}, {64, true}, {7, false}};
constexpr int kLadderSteps = 16;

struct LoopStep {
  double share;
  size_t delay;
};
constexpr LoopStep kLoopSteps[] = {{0, 0},       {1, 0},     {0.5, 8},
                                   {0.25, 14},   {0.75, 14}, {1.0 / 8, 20},
                                   {7.0 / 8, 20}};

// What is measured need not agree bit for bit everywhere, so libm will do.
double Between(double low, double high, double share) {
  return low * std::pow(high / low, share);
}

}  // namespace

std::vector<int64_t> GridTileCounts(int64_t tiles_per_wave, int64_t reach,
                                    const std::vector<int64_t>& also) {
  std::vector<int64_t> tiles;
  const auto add = [&](int64_t g) {
    if (g >= 1 && g <= reach &&
        std::find(tiles.begin(), tiles.end(), g) == tiles.end()) {
      tiles.push_back(g);
    }
  };
  for (const Step& step : kSteps) {
    add(tiles_per_wave * step.eighths / 8 + (step.past ? 1 : 0));
  }
  for (const int64_t g : also) add(g);
  for (int step = 1; step < kLadderSteps; ++step) {
    add(static_cast<int64_t>(
        Between(1, static_cast<double>(reach),
                static_cast<double>(step) / kLadderSteps)));
  }
  return tiles;
}

std::vector<GridLoop> GridLoops(double low, double high) {
  if (!(low < high)) return {{low, 0}};
  std::vector<GridLoop> loops;
  for (const LoopStep& step : kLoopSteps) {
    loops.push_back({Between(low, high, step.share), step.delay});
  }
  return loops;
}

}  // namespace wavetune
