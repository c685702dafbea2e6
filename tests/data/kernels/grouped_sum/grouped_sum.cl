// c[r] = sum of row r of a[rows of all experts][k]; one work item per tile of
// BLOCK_M rows of one expert.
__kernel void grouped_sum(__global const float* a, __global const int* rows,
                          __global float* c, int experts, int k) {
  int tile = (int)get_group_id(0);
  int first = 0;  // Row of the expert.
  for (int e = 0; e < experts; ++e) {
    const int own = (rows[e] + BLOCK_M - 1) / BLOCK_M;
    if (tile < own) {
      const int end = first + min(rows[e], (tile + 1) * BLOCK_M);
      for (int r = first + tile * BLOCK_M; r < end; ++r) {
        float sum = 0.0f;
        for (int p0 = 0; p0 < k; p0 += BLOCK_K) {
          for (int p = p0; p < min(p0 + BLOCK_K, k); ++p) {
            sum += a[(size_t)r * k + p];
          }
        }
        c[r] = sum;
      }
      return;
    }
    tile -= own;
    first += rows[e];
  }
}
