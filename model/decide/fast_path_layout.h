// FastPathLayout: a GEMM's sub-table as LaneKernel reads it in one go, from a
// problem's extents to the answer (model/decide/gemm_fast_path.h builds it).
//
// Usual is what GEMM kernels have: G is a constant times two quotients
// ceil(extent / tile), L a constant times one; two wave regimes; row regimes
// that follow from the extent of the first quotient alone. All numbers of such
// a problem are at most kLaneLimit, which whoever asks has made sure of.
//
// FitTable fits an overlap across wave regimes and measures it from the first
// wave on. Such segments differ by few columns, and only those are laid out
// for each regime (SharedColumn). Which of them were measured at a problem's
// iterations follows from the extent of the loop's dimension, and is looked
// up.
//
// Where waves are compared with whole numbers, tiles are compared with those
// times the tiles per wave instead: ceil(G / C) > w exactly where G > w * C.
//
// Rows share few heights of tiles: what follows from extent and height alone is
// found once for each.
//
// Plain structs and pointers only, as model/decide/simd/lane_kernel.h.
#ifndef WAVETUNE_MODEL_DECIDE_FAST_PATH_LAYOUT_H_
#define WAVETUNE_MODEL_DECIDE_FAST_PATH_LAYOUT_H_

#include <cstdint>

#include "model/decide/group_answer.h"
#include "model/decide/simd/lane_kernel.h"

namespace wavetune {

// What lanes have whatever the problem; one LaneBlock each.
enum FastPathColumn : int {
  kInverseRows,     // InverseBelow(tile) of the quotients.
  kInverseColumns,  //
  kInverseLoop,     //
  kTilesConstant,
  kLoopConstant,
  kTilesPerWave,
  kInverseCapacity,
  kFastPathColumns,
};

// Segments of WaveForm::kOverlap that differ between the two wave regimes by
// floor, rank factor and measured range alone. First come the common columns,
// then the second's own. Of the measured range the waves are a column, the
// iterations are in FastPathInterval::unmeasured.
enum SharedColumn : int {
  kSharedRankFactor = kWaveGamma + 1,
  // More waves than these were not measured, whatever the wave regime.
  kSharedMaxWave,
  kSecondFloor,
  kSecondRankFactor,
  kSharedColumns,
};

// Lanes whose segments were not measured at as many iterations: a bit for each,
// of the first wave regime and of the second.
struct FastPathLanes {
  uint64_t first[kMaxLanes / 64] = {};
  uint64_t second[kMaxLanes / 64] = {};
};

// A segment of the coefficient table, as an answer from it reads it: one cache
// line.
struct alignas(64) FastPathRecord {
  static constexpr int kMaxAnchors = 16;  // FitTable makes no more than ten.

  // The measured range, all at least 0.
  double min_tiles = 0;
  double max_tiles = 0;
  double min_iterations = 0;
  double max_iterations = 0;
  double bounds[2] = {0, 0};  // Inside of it and outside.
  uint8_t micro[kMaxAnchors] = {};

  bool Measures(double iterations) const {
    return min_iterations <= iterations && iterations <= max_iterations;
  }
};

static_assert(sizeof(FastPathRecord) == 64);

// Extents of the first quotient in which each row has one row regime.
struct FastPathInterval {
  // [block][wave regime][SegmentColumn], or [block][kSharedColumns].
  const LaneBlock* segments = nullptr;
  const FastPathRecord* const* records = nullptr;  // [lane][wave regime]
  // By FastPathLayout::loop_class_of; of kSharedColumns alone.
  const FastPathLanes* unmeasured = nullptr;
};

struct FastPathLayout {
  static constexpr int kMaxIntervals = 64;
  static constexpr int kIndices = 4096;
  static constexpr int kMaxHeights = 16;  // Two AVX-512 registers.

  int rows_dimension = 0;  // The quotients'.
  int columns_dimension = 0;
  int loop_dimension = 0;
  int lanes = 0;  // In whole blocks.
  double tie_factor = 1;
  const LaneBlock* constants = nullptr;  // [block][FastPathColumn]
  // Heights of tiles along the rows' axis, and each lane's
  // (LaneKernel::height_place); read by WaveForm::kOverlap alone. Filled up
  // with the first.
  int heights = 0;
  alignas(64) double height[kMaxHeights];
  alignas(64) double inverse_height[kMaxHeights];
  alignas(64) int64_t height_of[kMaxLanes];
  // For each lane: more tiles are in the second wave regime.
  alignas(64) double first_regime_tiles[kMaxLanes];
  // kSharedColumns': extents of the loop's dimension, divided by two to this
  // and rounded up. In each class of them the same lanes were measured.
  int loop_shift = 0;
  uint16_t loop_class_of[kIndices];
  FastPathInterval intervals[kMaxIntervals];
  // The interval of an extent; longer ones have the last one's.
  uint8_t interval_of[kIndices];
  // The loop anchor nearest to so many iterations; more have the last one's.
  uint8_t anchor_of[kIndices];
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_FAST_PATH_LAYOUT_H_
