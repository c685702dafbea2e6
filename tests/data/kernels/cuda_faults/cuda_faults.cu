// One thread per column, BLOCK_N columns a tile; a group takes every
// gridDim.x-th tile, so that any number of groups does all of them.
#include "columns.cuh"

#if FAULT == 1
#error "broken on purpose"
#endif

extern "C" __global__ void cuda_faults(const float* a, float* c, int n, int k) {
  for (int tile = blockIdx.x; tile * BLOCK_N < n; tile += gridDim.x) {
    const int j = tile * BLOCK_N + threadIdx.x;
    const int rows = FAULT == 2 ? k - 1 : k;
    if (j < n) c[j] = column_sum(a, n, rows, j);
  }
  if (FAULT == 3 && blockIdx.x == 0) c[n + threadIdx.x] = 0.0f;
  if (FAULT == 4) *reinterpret_cast<volatile float*>(8) = 0.0f;
}
