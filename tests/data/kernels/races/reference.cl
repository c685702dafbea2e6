// One work item per column.
__kernel void repeats_reference(__global const float* a, __global float* c,
                                   int n, int k) {
  const size_t j = get_global_id(0);
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[(size_t)p * n + j];
  c[j] = sum;
}
