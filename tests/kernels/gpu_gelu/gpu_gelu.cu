// gpu_gelu: y[r, c] = GELU(x[r, c] + bias[c]), bf16, dense, row major, computed in
// float, with the usual approximation by a hyperbolic tangent.
//
// A block computes a tile of BLOCK_R rows and BLOCK_C columns; blocks are numbered
// along a row first. Launch: 32 * num_warps threads, a block for each tile.
//
// Macro parameters (change the grid):
//   BLOCK_R    rows per block
//   BLOCK_C    columns per block
// Micro parameter:
//   num_warps  warps per block
//
// Rows and columns that are not there are skipped.
#include <cuda_bf16.h>

// v times a half of 1 + tanh(z), which is 1 - 1 / (exp(2 z) + 1).
__device__ float gelu_of(float v) {
  const float z = 0.7978845608f * (v + 0.044715f * v * v * v);
  return v * (1.0f - 1.0f / (__expf(2.0f * z) + 1.0f));
}

extern "C" __global__ void __launch_bounds__(32 * num_warps)
    gpu_gelu(const __nv_bfloat16* __restrict__ x,
             const __nv_bfloat16* __restrict__ bias,
             __nv_bfloat16* __restrict__ y, int rows, int columns) {
  const int blocks_c = (columns + BLOCK_C - 1) / BLOCK_C;
  const int row0 = blockIdx.x / blocks_c * BLOCK_R;
  const int column0 = blockIdx.x % blocks_c * BLOCK_C;
#pragma unroll
  for (int r = row0; r < row0 + BLOCK_R; ++r) {
    if (r >= rows) return;
#pragma unroll
    for (int i = 0; i < BLOCK_C; i += 32 * num_warps) {
      const int c = column0 + i + threadIdx.x;
      if (c >= columns) break;
      const size_t at = static_cast<size_t>(r) * columns + c;
      const float v = __bfloat162float(x[at]) + __bfloat162float(bias[c]);
      y[at] = __float2bfloat16(gelu_of(v));
    }
  }
}
