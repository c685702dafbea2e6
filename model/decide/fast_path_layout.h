// FastPathLayout: a GEMM's sub-table as LaneKernel reads it in one go, from a
// problem's extents to the answer (model/decide/gemm_fast_path.h builds it).
//
// Usual is what GEMM kernels have: G is a constant times two quotients
// ceil(extent / tile), L a constant times one; two wave regimes; row regimes
// that follow from the extent of the first quotient alone. All numbers of such
// a problem are at most kLaneLimit, which whoever asks has made sure of.
//
// FitTable fits what overlaps across wave regimes and measures it from the
// first wave on: such segments differ by few columns, and only those are laid
// out for each regime (kSharedColumns).
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

// Segments of WaveForm::kOverlap whose two wave regimes have the same
// coefficients and steps, and are measured from the first wave on: the columns
// of the first regime (kMinWave is not read), then those of the second that
// differ.
inline constexpr int kSharedColumns =
    kOverlapColumns + 1 + (kOverlapColumns - kMaxWave);
static_assert(kMinWave + 1 == kMaxWave && kRankFactor + 1 == kOverlapColumns,
              "of the columns before kMaxWave only kFloor may differ");

// Returns where the second regime's column is; -1 where both have the same.
WAVETUNE_ANSWER_INLINE constexpr int SecondSharedColumn(int column) {
  if (column == kFloor) return kOverlapColumns;
  return column >= kMaxWave ? kOverlapColumns + 1 + (column - kMaxWave) : -1;
}

// A segment of the coefficient table, as an answer from it reads it.
struct FastPathRecord {
  static constexpr int kMaxAnchors = 32;  // kMaxLoopAnchors.

  // The measured range, all at least 0.
  double min_tiles = 0;
  double max_tiles = 0;
  double min_iterations = 0;
  double max_iterations = 0;
  double bounds[2] = {0, 0};  // Inside of it and outside.
  uint8_t micro[kMaxAnchors] = {};
};

// Extents of the first quotient in which each row has one row regime.
struct FastPathInterval {
  // [block][wave regime][SegmentColumn], or [block][kSharedColumns].
  const LaneBlock* segments = nullptr;
  const FastPathRecord* const* records = nullptr;  // [lane][wave regime]
};

struct FastPathLayout {
  static constexpr int kMaxIntervals = 64;
  static constexpr int kIndices = 4096;
  static constexpr int kMaxHeights = 16;  // Two AVX-512 registers.

  int rows_dimension = 0;  // Of the quotients.
  int columns_dimension = 0;
  int loop_dimension = 0;
  int lanes = 0;  // In whole blocks.
  double tie_factor = 1;
  const LaneBlock* constants = nullptr;  // [block][FastPathColumn]
  // Heights of tiles along the rows' axis, and each row's; read by
  // WaveForm::kOverlap alone. Filled up with the first.
  int heights = 0;
  alignas(64) double height[kMaxHeights];
  alignas(64) double inverse_height[kMaxHeights];
  alignas(64) int64_t height_of[kMaxLanes];
  // Of each lane: more tiles are in the second wave regime.
  alignas(64) double first_regime_tiles[kMaxLanes];
  FastPathInterval intervals[kMaxIntervals];
  // The interval of an extent; longer ones have the last one's.
  uint8_t interval_of[kIndices];
  // The loop anchor nearest to so many iterations; more have the last one's.
  uint8_t anchor_of[kIndices];
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECIDE_FAST_PATH_LAYOUT_H_
