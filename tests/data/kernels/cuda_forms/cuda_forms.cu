// y[j] += scale * (sum of column `columns[j]` of a[k][n]). A tile of BLOCK_N
// columns has SPLIT blocks along y, a block two rows of threads: each leaves
// its partial sums in `partials`, and the block that draws the last ticket adds
// them up. With FAULT
//    1  leaves its tickets drawn
//    2  reads a partial sum that nobody has written
//    3  leaves out what y held
extern "C" __global__ void cuda_forms(const float* a, const int* columns,
                                      float* y, float scale, int* tickets,
                                      float* partials, int n, int k) {
  __shared__ bool is_last;
  const int j = blockIdx.x * BLOCK_N + threadIdx.x;
  const int parts = 2 * SPLIT;
  const int part = 2 * blockIdx.y + threadIdx.y;
  const int length = (k + parts - 1) / parts;
  if (j < n) {
    float sum = 0.0f;
    for (int p = part * length; p < min((part + 1) * length, k); ++p) {
      sum += a[static_cast<size_t>(p) * n + columns[j]];
    }
    partials[static_cast<size_t>(part) * n + j] = sum;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    is_last = atomicAdd(&tickets[blockIdx.x], 1) == SPLIT - 1;
    if (is_last && FAULT != 1) tickets[blockIdx.x] = 0;
  }
  __syncthreads();
  if (!is_last || threadIdx.y != 0 || j >= n) return;
  __threadfence();
  float sum = 0.0f;
  for (int q = 0; q < parts + (FAULT == 2 ? 1 : 0); ++q) {
    sum += partials[static_cast<size_t>(q) * n + j];
  }
  y[j] = (FAULT == 3 ? 0.0f : y[j]) + scale * sum;
}
