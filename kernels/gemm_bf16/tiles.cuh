// Which tile of C a block computes: both paths share it.
#ifndef GEMM_BF16_TILES_CUH_
#define GEMM_BF16_TILES_CUH_

#include "ptx.cuh"

// Rows of tiles that are worked on together. Not tuned: 4 and 16 came within a
// few per cent of it, on either side (H200, prefill shapes).
#define GROUP_M 8

DEVICE int ceil_div(int a, int b) { return (a + b - 1) / b; }
DEVICE int minimum(int a, int b) { return a < b ? a : b; }

struct TilePosition {
  int row;  // in tiles of m
  int col;  // in tiles of n
};

// Tiles in groups of GROUP_M rows, column by column within a group: blocks that
// run at the same time then share rows of A and of B in the second-level cache.
DEVICE TilePosition tile_position(int index, int rows, int cols) {
  const int group = index / (GROUP_M * cols);
  const int first_row = group * GROUP_M;
  const int group_rows = minimum(GROUP_M, rows - first_row);
  const int in_group = index - group * (GROUP_M * cols);
  return {first_row + in_group % group_rows, in_group / group_rows};
}

#endif  // GEMM_BF16_TILES_CUH_
