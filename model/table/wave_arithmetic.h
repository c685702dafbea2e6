// The arithmetic of the wave forms (model/kernel/wave_form.h), once for the
// slow and the compiled decision, so that both give the same bits.
//
// Include from .cc files of model/ only: they are compiled without contraction.
//
// Thread safety: pure functions.
#ifndef WAVETUNE_MODEL_TABLE_WAVE_ARITHMETIC_H_
#define WAVETUNE_MODEL_TABLE_WAVE_ARITHMETIC_H_

#include <cstdint>

#include "model/kernel/mapping.h"
#include "model/table/table.h"

namespace wavetune {

// Tiles, and the steps that they take.
struct StepTiles {
  StepTiles(int64_t tile_count, int64_t step_count)
      : tiles(static_cast<double>(tile_count)),
        steps(static_cast<double>(step_count)) {}

  double tiles;  // >= 1.
  double steps;  // ceil(tiles / WaveSegment::step_tiles).
};

// A launch as WaveForm::kOverlap sees it.
struct LaunchWaves {
  double full_waves;  // Before the last.
  StepTiles wave;     // A full one.
  StepTiles last;
};

// Returns the waves of `tiles` tiles on a device that runs `tiles_per_wave` at
// once. All >= 1. Cannot fail.
inline LaunchWaves LaunchWavesOf(int64_t tiles, int64_t tiles_per_wave,
                                 int64_t step_tiles) {
  const int64_t full_waves = Waves(tiles, tiles_per_wave) - 1;
  const int64_t last = tiles - full_waves * tiles_per_wave;
  return {static_cast<double>(full_waves),
          StepTiles(tiles_per_wave, Waves(tiles_per_wave, step_tiles)),
          StepTiles(last, Waves(last, step_tiles))};
}

// Main-loop iterations of a launch's tiles.
struct LoopLengths {
  double mean;           // L > 0.
  double longest;        // Lx >= 1.
  double row_share = 0;  // u of WaveForm::kOverlap, in [0, 1].
};

inline LoopLengths LoopLengthsOf(const Coordinates& at) {
  return {at.iterations, static_cast<double>(at.longest_loop), at.row_share};
}

// Returns WaveForm::kSum's latency at `at`, of which `all` are the tiles, in
// microseconds. Cannot fail.
inline double SumLatencyUs(const WaveCoefficients& c, const StepTiles& all,
                           const Coordinates& at) {
  const double longest = static_cast<double>(at.longest_loop);
  const double fixed = c.delta + c.delta_w * all.steps;
  const double per_iteration = (c.gamma + c.gamma_w * all.steps) * longest;
  const double of_tiles = ((fixed + per_iteration) + c.beta * all.tiles) +
                          (c.alpha * all.tiles) * at.iterations;
  return of_tiles + c.cold * at.cold_mib;
}

// The two times that overlap in F(x) of WaveForm::kOverlap, in microseconds.
struct OverlapParts {
  double tile;     // gamma * Lx.
  double steps;    // gamma_w * t(x) * Lx.
  double compute;  // The longer of both.
  double memory;   // (beta + (alpha + alpha_row * u) * L) * x.
};

inline OverlapParts OverlapPartsOf(const WaveCoefficients& c,
                                   const StepTiles& x,
                                   const LoopLengths& loop) {
  OverlapParts parts;
  parts.tile = c.gamma * loop.longest;
  parts.steps = (c.gamma_w * x.steps) * loop.longest;
  parts.compute = parts.tile > parts.steps ? parts.tile : parts.steps;
  const double per_iteration = c.alpha + c.alpha_row * loop.row_share;
  parts.memory = (c.beta + per_iteration * loop.mean) * x.tiles;
  return parts;
}

// Returns F(x).
inline double OverlapUs(const OverlapParts& parts) {
  const bool computes = parts.compute > parts.memory;
  const double longer = computes ? parts.compute : parts.memory;
  const double shorter = computes ? parts.memory : parts.compute;
  const double both = kOverlapLonger * longer + kOverlapShorter * shorter;
  return longer > both ? longer : both;
}

// Returns WaveForm::kOverlap's latency of `waves`, in microseconds. Cannot
// fail.
inline double OverlapLatencyUs(const WaveCoefficients& c,
                               const LaunchWaves& waves,
                               const LoopLengths& loop) {
  const double per_wave =
      c.delta_w + OverlapUs(OverlapPartsOf(c, waves.wave, loop));
  return (c.delta + waves.full_waves * per_wave) +
         OverlapUs(OverlapPartsOf(c, waves.last, loop));
}

// Returns 1 + the segment's rank margin.
inline double RankFactorOf(const WaveSegment& segment) {
  return 1 + static_cast<double>(segment.rank_margin) * kRankMarginUnit;
}

// Returns what a row competes with: its prediction, or slower where the form
// says so.
inline double RankOf(WaveForm form, const WaveSegment& segment,
                     double latency_us, bool extrapolated) {
  if (form != WaveForm::kOverlap) return latency_us;
  const double rank =
      extrapolated ? latency_us * (1 + kUnmeasuredMargin) : latency_us;
  return rank * RankFactorOf(segment);
}

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_TABLE_WAVE_ARITHMETIC_H_
