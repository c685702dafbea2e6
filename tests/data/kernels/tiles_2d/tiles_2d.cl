// c[m][n] = a[m][k] * b[k][n]; one work item per element, in blocks of
// BLOCK_N x BLOCK_M in a grid of as many sides. With FAULT = 1 it takes x for y.
__kernel void tiles_2d(__global const float* a, __global const float* b,
                       __global float* c, int m, int n, int k) {
  const int column = (int)get_global_id(FAULT == 1 ? 1 : 0);
  const int row = (int)get_global_id(FAULT == 1 ? 0 : 1);
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) {
    sum += a[(size_t)row * k + p] * b[(size_t)p * n + column];
  }
  c[(size_t)row * n + column] = sum;
}
