// QuickLayout: the usual sub-table as RowKernel reads it in one go, from a
// problem's extents to the answer (model/decision/quick_rows.h builds it).
//
// Usual is what GEMM kernels have: G is a constant times two quotients
// ceil(extent / tile), L a constant times one; two wave regimes; row regimes
// that follow from the extent of the first quotient alone. All numbers of such
// a problem are at most kLaneLimit, which whoever asks has made sure of.
//
// Where waves are compared with whole numbers, tiles are compared with those
// times the capacity instead: ceil(G / C) > w exactly where G > w * C.
//
// Plain structs and pointers only, as model/decision/row_kernel.h.
#ifndef WAVETUNE_MODEL_DECISION_QUICK_LAYOUT_H_
#define WAVETUNE_MODEL_DECISION_QUICK_LAYOUT_H_

#include <cstdint>

#include "model/decision/row_kernel.h"

namespace wavetune {

// What rows have whatever the problem; one LaneBlock each.
enum QuickColumn : int {
  kInverseRows,     // InverseBelow(tile) of the quotients.
  kInverseColumns,  //
  kInverseLoop,     //
  kTilesConstant,
  kLoopConstant,
  kCapacity,
  kInverseCapacity,
  kRowTile,  // Along the rows' axis; read by WaveForm::kOverlap alone.
  kInverseRowTile,
  kQuickColumns,
};

// A segment of the coefficient table, as an answer from it reads it.
struct QuickRecord {
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
struct QuickInterval {
  const LaneBlock* segments = nullptr;  // [block][wave regime][SegmentColumn]
  const QuickRecord* const* records = nullptr;  // [row][wave regime]
};

struct QuickLayout {
  static constexpr int kMaxRows = kMaxLanes;
  static constexpr int kMaxIntervals = 64;
  static constexpr int kIndices = 4096;

  int rows_dimension = 0;  // Of the quotients.
  int columns_dimension = 0;
  int loop_dimension = 0;
  int lanes = 0;  // The rows in whole blocks.
  double tie_factor = 1;
  const LaneBlock* constants = nullptr;  // [block][QuickColumn]
  // Of each row: more tiles are in the second wave regime.
  alignas(64) double first_regime_tiles[kMaxRows];
  QuickInterval intervals[kMaxIntervals];
  // The interval of an extent; longer ones have the last one's.
  uint8_t interval_of[kIndices];
  // The loop anchor nearest to so many iterations; more have the last one's.
  uint8_t anchor_of[kIndices];
};

}  // namespace wavetune

#endif  // WAVETUNE_MODEL_DECISION_QUICK_LAYOUT_H_
