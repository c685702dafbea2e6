__kernel void grouped_sum_reference(__global const float* a,
                                    __global const int* rows, __global float* c,
                                    int experts, int k) {
  const int r = (int)get_global_id(0);
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[(size_t)r * k + p];
  c[r] = sum;
}
