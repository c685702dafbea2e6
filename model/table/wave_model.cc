#include "model/table/wave_model.h"

#include <cmath>
#include <cstddef>

#include "model/table/wave_arithmetic.h"

namespace wavetune {

double PredictLatencyUs(WaveForm form, int64_t tiles_per_wave,
                        const WaveSegment& segment, const Coordinates& at) {
  const WaveCoefficients& c = segment.coefficients;
  double latency_us = 0;
  if (form == WaveForm::kSum) {
    latency_us = SumLatencyUs(
        c, StepTiles(at.tiles, Waves(at.tiles, segment.step_tiles)), at);
  } else {
    latency_us = OverlapLatencyUs(
        c, LaunchWavesOf(at.tiles, tiles_per_wave, segment.step_tiles),
        LoopLengthsOf(at));
  }
  return latency_us > segment.floor_us ? latency_us : segment.floor_us;
}

double TypicalRowShare(const RowRegime& regime) {
  if (regime.max_rows == 1) return RowShare(1, regime.max_fill / 2);
  return regime.max_rows < kExpressionLimit ? RowShare(regime.max_rows, 1) : 0;
}

bool IsExtrapolated(const WaveSegment& segment, double iterations,
                    int64_t waves) {
  return waves < segment.min_wave || waves > segment.max_wave ||
         iterations < segment.min_iterations ||
         iterations > segment.max_iterations;
}

int RowRegimeIndex(const SubTable& sub_table, int64_t rows, double row_fill) {
  const int last = static_cast<int>(sub_table.row_regimes.size()) - 1;
  for (int i = 0; i < last; ++i) {
    const RowRegime& regime = sub_table.row_regimes[static_cast<size_t>(i)];
    if (rows <= regime.max_rows && row_fill <= regime.max_fill) return i;
  }
  return last;
}

int WaveRegimeIndex(const SubTable& sub_table, int64_t waves) {
  const int last = static_cast<int>(sub_table.max_waves.size()) - 1;
  for (int i = 0; i < last; ++i) {
    if (waves <= sub_table.max_waves[static_cast<size_t>(i)]) return i;
  }
  return last;
}

int LoopAnchorIndex(const SubTable& sub_table, double iterations) {
  const std::vector<double>& anchors = sub_table.loop_anchors;
  size_t nearest = 0;
  for (size_t i = 1; i < anchors.size(); ++i) {
    if (std::abs(iterations - anchors[i]) <
        std::abs(iterations - anchors[nearest])) {
      nearest = i;
    }
  }
  return static_cast<int>(nearest);
}

int DefaultGroup(const Table& table, const SubTable& sub_table) {
  for (size_t i = 0; i < sub_table.groups.size(); ++i) {
    const uint8_t lead = sub_table.groups[i].lead;
    if (sub_table.portfolio[lead].configuration ==
        table.default_configuration) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace wavetune
