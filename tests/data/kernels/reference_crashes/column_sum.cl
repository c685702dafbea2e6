// c[j] = sum of column j of a[k][n]; one work item per group computes BLOCK_N
// columns.
__kernel void column_sum(__global const float* a, __global float* c, int n,
                         int k) {
  const int rows = k;
  const int begin = (int)get_group_id(0) * BLOCK_N;
  const int end = min(begin + BLOCK_N, n);
  for (int j = begin; j < end; ++j) c[j] = 0.0f;
  for (int p0 = 0; p0 < rows; p0 += BLOCK_K) {
    for (int p = p0; p < min(p0 + BLOCK_K, rows); ++p) {
      for (int j = begin; j < end; ++j) c[j] += a[(size_t)p * n + j];
    }
  }
}
