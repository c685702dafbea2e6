// One work item per column.
__kernel void add_scaled_reference(__global const float* a, __global float* y,
                                   float scale, int n, int k) {
  const size_t j = get_global_id(0);
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[(size_t)p * n + j];
  y[j] += scale * sum;
}
