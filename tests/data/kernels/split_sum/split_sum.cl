// y[j] = sum of column j of a[k][n]. SPLIT blocks of one work item share the
// BLOCK_N columns of a tile: each leaves its partial sums in `partials`, and
// the one that draws the last ticket adds them up. With FAULT
//    1  leaves its tickets drawn
//    2  leaves a partial sum unwritten
//    3  writes a partial sum past the end of `partials`
__kernel void split_sum(__global const float* a, __global float* y,
                        volatile __global int* tickets,
                        volatile __global float* partials, int n, int k) {
  const int tile = (int)get_group_id(0) / SPLIT;
  const int part = (int)get_group_id(0) % SPLIT;
  const int begin = tile * BLOCK_N;
  const int end = min(begin + BLOCK_N, n);
  const int length = (k + SPLIT - 1) / SPLIT;
  for (int j = begin; j < end; ++j) {
    if (FAULT == 2 && j == 0 && part == SPLIT - 1) continue;
    float sum = 0.0f;
    for (int p = part * length; p < min((part + 1) * length, k); ++p) {
      sum += a[(size_t)p * n + j];
    }
    partials[(size_t)part * n + j] = sum;
  }
  if (FAULT == 3 && get_group_id(0) == 0) partials[(size_t)SPLIT * n] = 0.0f;
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  if (atomic_inc(&tickets[tile]) != SPLIT - 1) return;
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  for (int j = begin; j < end; ++j) {
    float sum = 0.0f;
    for (int q = 0; q < SPLIT; ++q) sum += partials[(size_t)q * n + j];
    y[j] = sum;
  }
  if (FAULT != 1) tickets[tile] = 0;
}
