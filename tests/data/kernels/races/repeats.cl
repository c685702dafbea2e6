// c[j] = sum of column j of a[k][n], computed REPEAT times over; one work item
// per group computes BLOCK_N columns. The race: the group also writes 0 to the
// first column of the tile before its own. Whoever ends last wins.
__kernel void repeats(__global const float* a, __global float* c, int n,
                      int k) {
  const int begin = (int)get_group_id(0) * BLOCK_N;
  const int end = min(begin + BLOCK_N, n);
  for (int j = begin; j < end; ++j) {
    for (int repeat = 0; repeat < REPEAT; ++repeat) {
      // volatile, or the compiler would drop all sums but the last.
      volatile float sum = 0.0f;
      for (int p = 0; p < k; ++p) sum += a[(size_t)p * n + j];
      c[j] = sum;
    }
  }
  if (begin > 0) c[begin - BLOCK_N] = 0.0f;
}
