// Reference for grouped_gemm: c[r, n] = a[r, k] * b[expert of r][k, n].
//
// Obvious rather than fast: one work item per element of c. Sums in double where
// the device has it.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double accumulator;
#else
typedef float accumulator;
#endif

__kernel void grouped_gemm_reference(__global const float* a,
                                     __global const float* b,
                                     __global const int* group_rows,
                                     __global float* c, int experts,
                                     int row_tiles, int n, int k) {
  const size_t element = get_global_id(0);
  const size_t row = element / n;
  const size_t col = element % n;
  size_t end = 0;
  int expert = 0;
  for (; expert < experts; ++expert) {
    end += group_rows[expert];
    if (row < end) break;
  }
  if (expert == experts) return;
  b += (size_t)expert * k * n;
  accumulator sum = 0;
  for (int p = 0; p < k; ++p)
    sum += (accumulator)a[row * k + p] * (accumulator)b[(size_t)p * n + col];
  c[element] = (float)sum;
}
