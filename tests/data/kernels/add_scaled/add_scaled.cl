// y[j] += scale * (sum of column j of a[k][n]); one work item per block does
// BLOCK_N columns. With FAULT
//    1  leaves out what y held
//    2  adds twice
//    3  rounds scale to a whole number
__kernel void add_scaled(__global const float* a, __global float* y,
                         float scale, int n, int k) {
  const int begin = (int)get_group_id(0) * BLOCK_N;
  const int end = min(begin + BLOCK_N, n);
  const float factor = FAULT == 3 ? rint(scale) : scale;
  for (int j = begin; j < end; ++j) {
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) sum += a[(size_t)p * n + j];
    y[j] = (FAULT == 1 ? 0.0f : y[j]) + factor * sum;
    if (FAULT == 2) y[j] += factor * sum;
  }
}
