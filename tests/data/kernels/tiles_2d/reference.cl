// One work item per element.
__kernel void tiles_2d_reference(__global const float* a,
                                 __global const float* b, __global float* c,
                                 int m, int n, int k) {
  const size_t i = get_global_id(0) / n;
  const size_t j = get_global_id(0) % n;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[i * k + p] * b[(size_t)p * n + j];
  c[i * n + j] = sum;
}
