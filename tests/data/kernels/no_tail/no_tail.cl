// column_sum; with BREAK=1 rows behind the last whole block are left out.
__kernel void no_tail(__global const float* a, __global float* c, int n,
                      int k) {
  const int rows = BREAK ? k / BLOCK_K * BLOCK_K : k;
  const int begin = (int)get_group_id(0) * BLOCK_N;
  const int end = min(begin + BLOCK_N, n);
  for (int j = begin; j < end; ++j) c[j] = 0.0f;
  for (int p0 = 0; p0 < rows; p0 += BLOCK_K) {
    for (int p = p0; p < min(p0 + BLOCK_K, rows); ++p) {
      for (int j = begin; j < end; ++j) c[j] += a[(size_t)p * n + j];
    }
  }
}
