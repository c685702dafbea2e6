// gemm_bf16 on sm_80 and newer: cp.async into a ring of stages, ldmatrix,
// mma.sync.
//
// VECTOR is how many elements one copy from global memory moves: 8 needs rows
// of 16-byte multiples; 1 is legal for every problem and slow.
//
// Tiles with few rows (decode) give each warp a share of k instead of a share
// of the tile, and add up at the end through shared memory.
#ifndef GEMM_BF16_PORTABLE_CUH_
#define GEMM_BF16_PORTABLE_CUH_

#include "tiles.cuh"

namespace portable {

constexpr int kThreads = CONSUMERS * 128;
constexpr int kWarpsK = BLOCK_M * BLOCK_N <= 2048 ? 4 : 1;
constexpr int kWarpsM = BLOCK_M >= 64 ? 2 : 1;
constexpr int kWarpsN = kThreads / 32 / (kWarpsM * kWarpsK);
constexpr int kWarpRows = BLOCK_M / kWarpsM;
constexpr int kWarpCols = BLOCK_N / kWarpsN;
constexpr int kChunks = BLOCK_K / 8;  // 16-byte chunks in a row of a tile
constexpr u32 kRowBytes = BLOCK_K * 2;
constexpr u32 kStageBytes = (BLOCK_M + BLOCK_N) * kRowBytes;

static_assert(kWarpRows % 16 == 0 && kWarpCols % 16 == 0, "whole mma tiles");
static_assert(BLOCK_K % (16 * kWarpsK) == 0, "whole mma steps per warp");
static_assert(kChunks == 4 || kChunks % 8 == 0,
              "the swizzle knows these widths");
static_assert(VECTOR == 1 || VECTOR == 8, "elements per copy");
static_assert(SPLIT_K == 1 && CLUSTER_M == 1 && CLUSTER_N == 1, "Hopper only");
static_assert((kWarpsK - 1) * 4 * BLOCK_M * BLOCK_N <= STAGES * kStageBytes,
              "partial sums take the place of the stages");

// Offset of a 16-byte chunk in a tile. Chunks are permuted within eight rows so
// that the eight rows that ldmatrix reads lie in different banks.
DEVICE u32 chunk_offset(int row, int chunk) {
  const int permuted = kChunks == 4 ? chunk ^ (row / 2 % 4) : chunk ^ (row % 8);
  return row * kRowBytes + permuted * 16;
}

// Copies `tile_rows` rows of BLOCK_K elements from (first_row, first_k); zeros
// stand for what lies outside of the matrix.
template <int tile_rows>
DEVICE void copy_tile(u32 shared, const u16* matrix, int rows, int k,
                      int first_row, int first_k) {
#pragma unroll
  for (int i = threadIdx.x; i < tile_rows * kChunks; i += kThreads) {
    const int row = i / kChunks, chunk = i % kChunks;
    const int at_row = first_row + row, at_k = first_k + chunk * 8;
    const u16* source = matrix + static_cast<u64>(at_row) * k + at_k;
    const u32 target = shared + chunk_offset(row, chunk);
    if (VECTOR == 8) {
      const bool valid = at_row < rows && at_k < k;
      copy_async_16(target, valid ? source : matrix, valid);
    } else {
      u32 values[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const u32 low = at_row < rows && at_k + 2 * j < k ? source[2 * j] : 0;
        const u32 high =
            at_row < rows && at_k + 2 * j + 1 < k ? source[2 * j + 1] : 0;
        values[j] = low | high << 16;
      }
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(target),
                   "r"(values[0]), "r"(values[1]), "r"(values[2]),
                   "r"(values[3])
                   : "memory");
    }
  }
}

using Accumulators = float[kWarpRows / 16][kWarpCols / 8][4];

DEVICE void multiply_stage(u32 tile_a, u32 tile_b, int warp_row, int warp_col,
                           int warp_k, Accumulators& sums) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 0; step < BLOCK_K / 16; step += kWarpsK) {
    const int chunk = (step + warp_k) * 2;
    u32 a[kWarpRows / 16][4];
#pragma unroll
    for (int i = 0; i < kWarpRows / 16; ++i)
      load_matrices(a[i], tile_a + chunk_offset(warp_row + i * 16 + lane % 16,
                                                chunk + lane / 16));
#pragma unroll
    for (int j = 0; j < kWarpCols / 16; ++j) {
      u32 b[4];
      load_matrices(
          b, tile_b + chunk_offset(warp_col + j * 16 + lane % 8 + lane / 16 * 8,
                                   chunk + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < kWarpRows / 16; ++i) {
        mma_16x8x16(sums[i][2 * j], a[i], b[0], b[1]);
        mma_16x8x16(sums[i][2 * j + 1], a[i], b[2], b[3]);
      }
    }
  }
}

// Adds the sums of the warps that share a part of the tile into the first of
// them.
DEVICE void add_up(float* partials, int warp_mn, int warp_k,
                   Accumulators& sums) {
  constexpr int kPerWarp = kWarpRows * kWarpCols;
  const int lane = threadIdx.x % 32;
  __syncthreads();  // all warps have read the stages
  float* flat = &sums[0][0][0];
  if (warp_k > 0) {
    float* own =
        partials + ((warp_k - 1) * kWarpsM * kWarpsN + warp_mn) * kPerWarp;
#pragma unroll
    for (int i = 0; i < kPerWarp / 32; ++i) own[i * 32 + lane] = flat[i];
  }
  __syncthreads();
  if (warp_k > 0) return;
#pragma unroll
  for (int w = 0; w < kWarpsK - 1; ++w) {
    const float* other =
        partials + (w * kWarpsM * kWarpsN + warp_mn) * kPerWarp;
#pragma unroll
    for (int i = 0; i < kPerWarp / 32; ++i) flat[i] += other[i * 32 + lane];
  }
}

DEVICE void store_tile(const Accumulators& sums, int first_row, int first_col,
                       u16* c, int m, int n) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kWarpRows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kWarpCols / 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + i * 16 + half * 8 + lane / 4;
        const int col = first_col + j * 8 + lane % 4 * 2;
        if (row >= m || col >= n) continue;
        u16* target = c + static_cast<u64>(row) * n + col;
        const u32 pair =
            pack_bf16(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
        if (VECTOR == 8) {
          *reinterpret_cast<u32*>(target) = pair;
        } else {
          target[0] = static_cast<u16>(pair);
          if (col + 1 < n) target[1] = static_cast<u16>(pair >> 16);
        }
      }
    }
  }
}

DEVICE void gemm(const u16* a, const u16* b, u16* c, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char dynamic_shared[];
  const u32 shared = shared_address(dynamic_shared);
  const TilePosition tile =
      tile_position(blockIdx.x, ceil_div(m, BLOCK_M), ceil_div(n, BLOCK_N));
  const int row = tile.row * BLOCK_M, col = tile.col * BLOCK_N;
  const int warp = threadIdx.x / 32;
  const int warp_k = warp / (kWarpsM * kWarpsN);
  const int warp_mn = warp % (kWarpsM * kWarpsN);
  const int warp_row = warp_mn % kWarpsM * kWarpRows;
  const int warp_col = warp_mn / kWarpsM * kWarpCols;
  const int iterations = ceil_div(k, BLOCK_K);

  // Copies what iteration i reads; past the end an empty group keeps the count.
  auto copy_stage = [&](int i) {
    if (i < iterations) {
      const u32 stage = shared + i % STAGES * kStageBytes;
      copy_tile<BLOCK_M>(stage, a, m, k, row, i * BLOCK_K);
      copy_tile<BLOCK_N>(stage + BLOCK_M * kRowBytes, b, n, k, col,
                         i * BLOCK_K);
    }
    copy_async_commit();
  };

  Accumulators sums = {};
  for (int i = 0; i < STAGES - 1; ++i) copy_stage(i);
  for (int i = 0; i < iterations; ++i) {
    copy_async_wait<STAGES - 2>();
    __syncthreads();  // stage i has arrived, and all warps are done with stage
                      // i - 1
    copy_stage(i + STAGES - 1);
    const u32 stage = shared + i % STAGES * kStageBytes;
    multiply_stage(stage, stage + BLOCK_M * kRowBytes, warp_row, warp_col,
                   warp_k, sums);
  }
  copy_async_wait<0>();
  if (kWarpsK > 1)
    add_up(reinterpret_cast<float*>(dynamic_shared), warp_mn, warp_k, sums);
  if (warp_k == 0) store_tile(sums, row + warp_row, col + warp_col, c, m, n);
}

}  // namespace portable

#endif  // GEMM_BF16_PORTABLE_CUH_
