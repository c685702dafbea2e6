#include "cli/report/step_curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "cli/statistics.h"
#include "model/table/wave_model.h"

namespace wavetune::cli {
namespace {

constexpr int64_t kPieces = 8;  // Of a step that is not straight.
constexpr size_t kLoops = 4;
constexpr double kSameLoop = 0.02;
constexpr int64_t kWavesWithoutSamples = 8;
// Beyond kStepsDrawn, each step drawn is so much farther out than the last.
constexpr double kThinning = 1.04;

bool SameLoop(double a, double b) { return std::abs(a / b - 1) <= kSameLoop; }

using Samples = std::vector<const PlacedSample*>;

Samples AtLoop(const Samples& samples, double iterations) {
  Samples result;
  for (const PlacedSample* sample : samples) {
    if (SameLoop(sample->at.iterations, iterations)) result.push_back(sample);
  }
  return result;
}

// The loops with the most distinct grids, ascending.
std::vector<double> ChooseLoops(const Samples& samples) {
  std::map<double, std::set<int64_t>> grids;
  for (const PlacedSample* sample : samples)
    grids[sample->at.iterations].insert(sample->at.tiles);
  std::vector<std::pair<size_t, double>> ranked;
  for (const auto& [iterations, tiles] : grids)
    ranked.emplace_back(tiles.size(), iterations);
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<double> loops;
  for (const auto& [tiles, iterations] : ranked) {
    const double candidate = iterations;
    const bool near = std::any_of(
        loops.begin(), loops.end(),
        [candidate](double other) { return SameLoop(candidate, other); });
    if (!near && loops.size() < kLoops) loops.push_back(candidate);
  }
  std::sort(loops.begin(), loops.end());
  return loops;
}

// Some of the loop anchors, the ends included.
std::vector<double> SpreadAnchors(const SubTable& sub) {
  const size_t count = sub.loop_anchors.size();
  if (count <= kLoops) return sub.loop_anchors;
  std::vector<double> loops;
  for (size_t i = 0; i < kLoops; ++i)
    loops.push_back(sub.loop_anchors[i * (count - 1) / (kLoops - 1)]);
  return loops;
}

// The longest loop belongs to a mean one as it does in the samples.
int64_t LongestLoop(const Samples& samples, double iterations) {
  std::vector<double> ratios;
  for (const PlacedSample* sample : samples)
    ratios.push_back(static_cast<double>(sample->at.longest_loop) /
                     sample->at.iterations);
  const double ratio = ratios.empty() ? 1 : Quantile(ratios, 0.5);
  return std::max<int64_t>(
      1, static_cast<int64_t>(std::llround(iterations * ratio)));
}

int64_t EndOfStep(int64_t tiles, int64_t step_tiles) {
  return Waves(tiles, step_tiles) * step_tiles;
}

// What of a launch a curve does not vary is that of a sample in the middle.
Coordinates TypicalCoordinates(const StepCurve& curve, const RowRegime& rows) {
  Coordinates at;
  if (!curve.measured.empty()) {
    Samples by_tiles = curve.measured;
    std::sort(by_tiles.begin(), by_tiles.end(),
              [](const PlacedSample* a, const PlacedSample* b) {
                return a->at.tiles < b->at.tiles;
              });
    at = by_tiles[by_tiles.size() / 2]->at;
  }
  at.iterations = curve.iterations;
  at.longest_loop = curve.longest_loop;
  at.row_share = TypicalRowShare(rows);
  return at;
}

void AddFit(const SubTable& sub, int64_t max_tiles, StepCurve& curve) {
  const GroupModel& model = sub.groups[static_cast<size_t>(curve.group)]
                                .models[static_cast<size_t>(curve.row_regime)];
  Coordinates at = TypicalCoordinates(
      curve, sub.row_regimes[static_cast<size_t>(curve.row_regime)]);
  const auto point = [&](const WaveSegment& segment, int64_t tiles) {
    const bool outside = IsExtrapolated(segment, curve.iterations,
                                        Waves(tiles, curve.tiles_per_wave));
    at.tiles = tiles;
    curve.fit.push_back(
        {.tiles = tiles,
         .latency_us = PowerLimitedUs(
             sub.power_limit,
             PredictLatencyUs(sub.form, curve.tiles_per_wave, segment, at)),
         .relative_bound =
             outside ? segment.extrapolated_bound : segment.relative_bound,
         .extrapolated = outside});
  };
  int steps = 0;
  for (int64_t tiles = 1; tiles <= max_tiles; ++steps) {
    const int64_t waves = Waves(tiles, curve.tiles_per_wave);
    const WaveSegment& segment =
        model.segments[static_cast<size_t>(WaveRegimeIndex(sub, waves))];
    // A wave regime ends with a wave, within a step or not.
    const int64_t end = std::min(EndOfStep(tiles, segment.step_tiles),
                                 EndOfStep(tiles, curve.tiles_per_wave));
    point(segment, tiles);
    // A sum is straight within a step; what overlaps has a bend there.
    const int64_t pieces = sub.form == WaveForm::kSum ? 1 : kPieces;
    for (int64_t i = 1; i < pieces; ++i) {
      const int64_t between = tiles + (end - tiles) * i / pieces;
      if (between > curve.fit.back().tiles) point(segment, between);
    }
    if (end > curve.fit.back().tiles) point(segment, end);
    tiles = end + 1;
    if (steps < kStepsDrawn) continue;
    const auto far =
        static_cast<int64_t>(kThinning * static_cast<double>(tiles));
    tiles = std::max(tiles, EndOfStep(far, segment.step_tiles) + 1);
  }
}

StepCurve MakeCurve(const SubTable& sub, int group, int row_regime,
                    double iterations, Samples measured) {
  const auto longest_loop = LongestLoop(measured, iterations);
  StepCurve curve{
      .group = group,
      .row_regime = row_regime,
      .tiles_per_wave = sub.groups[static_cast<size_t>(group)].tiles_per_wave,
      .iterations = iterations,
      .longest_loop = longest_loop,
      .measured = std::move(measured)};
  int64_t max_tiles =
      curve.measured.empty() ? kWavesWithoutSamples * curve.tiles_per_wave : 1;
  for (const PlacedSample* sample : curve.measured)
    max_tiles = std::max(max_tiles, sample->at.tiles);
  // To the end of the wave, so that the last step can be seen.
  AddFit(sub, EndOfStep(max_tiles, curve.tiles_per_wave), curve);
  return curve;
}

}  // namespace

std::vector<StepCurve> StepCurves(const SubTable& sub, const SampleGrid& grid) {
  std::map<std::pair<int, int>, Samples> by_row;
  for (const PlacedSample& sample : grid.samples) {
    if (sample.group >= 0)
      by_row[{sample.group, sample.row_regime}].push_back(&sample);
  }
  std::vector<StepCurve> curves;
  for (int group = 0; group < static_cast<int>(sub.groups.size()); ++group) {
    for (int row = 0; row < static_cast<int>(sub.row_regimes.size()); ++row) {
      const auto found = by_row.find({group, row});
      const Samples samples = found == by_row.end() ? Samples() : found->second;
      // A regime that this row has not met has no steps to look at.
      if (samples.empty() && !by_row.empty()) continue;
      const std::vector<double> loops =
          samples.empty() ? SpreadAnchors(sub) : ChooseLoops(samples);
      for (const double iterations : loops)
        curves.push_back(MakeCurve(sub, group, row, iterations,
                                   AtLoop(samples, iterations)));
    }
  }
  return curves;
}

}  // namespace wavetune::cli
