// gpu_rms_norm: y[r, c] = x[r, c] * w[c] / sqrt(mean of x[r, :]^2 + epsilon), bf16,
// dense, row major, computed in float.
//
// A block computes BLOCK_R rows, one after the other, with all of its threads. Each
// row is read twice, in steps of BLOCK_H columns: for the sum of its squares, then
// to be scaled. Launch: 32 * num_warps threads, ceil(rows / BLOCK_R) blocks.
//
// Macro parameter (changes the grid):
//   BLOCK_R    rows per block
// Micro parameters:
//   BLOCK_H    columns per step: BLOCK_H / (32 * num_warps) loads of a thread are
//              under way side by side
//   num_warps  warps per block
//
// Rows and columns that are not there are skipped.
#include <cuda_bf16.h>

constexpr int kThreads = 32 * num_warps;

// Returns the sum of `value` over all threads of the block, to each of them.
__device__ float block_sum(float value) {
  __shared__ float parts[num_warps];
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(0xffffffff, value, lanes);
  __syncthreads();  // The parts of the row before have been read.
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int warp = 0; warp < num_warps; ++warp) sum += parts[warp];
  return sum;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gpu_rms_norm(const __nv_bfloat16* __restrict__ x,
                 const __nv_bfloat16* __restrict__ w,
                 __nv_bfloat16* __restrict__ y, int rows, int hidden,
                 float epsilon) {
  for (int i = 0; i < BLOCK_R; ++i) {
    const int row = blockIdx.x * BLOCK_R + i;
    if (row >= rows) return;
    const size_t at = static_cast<size_t>(row) * hidden;
    float squares = 0.0f;
    for (int c0 = threadIdx.x; c0 < hidden; c0 += BLOCK_H) {
#pragma unroll
      for (int j = 0; j < BLOCK_H; j += kThreads) {
        const float v = c0 + j < hidden ? __bfloat162float(x[at + c0 + j]) : 0.0f;
        squares += v * v;
      }
    }
    const float factor = rsqrtf(block_sum(squares) / hidden + epsilon);
    for (int c0 = threadIdx.x; c0 < hidden; c0 += BLOCK_H) {
#pragma unroll
      for (int j = 0; j < BLOCK_H; j += kThreads) {
        const int c = c0 + j;
        if (c >= hidden) break;
        y[at + c] = __float2bfloat16(__bfloat162float(x[at + c]) * factor *
                                     __bfloat162float(w[c]));
      }
    }
  }
}
