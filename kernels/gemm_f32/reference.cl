// Reference for gemm_f32: C[m,n] = A[m,k] * B[k,n], float32, dense, row major.
//
// Obvious rather than fast: one work item per element of C, 1-D range of at least
// m * n work items (surplus ones do nothing). Sums in double where the device has
// it, so that the difference to a tuned kernel is the tuned kernel's own rounding.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double accumulator;
#else
typedef float accumulator;
#endif

__kernel void gemm_f32_reference(__global const float* a,
                                 __global const float* b, __global float* c,
                                 int m, int n, int k) {
  const size_t element = get_global_id(0);
  if (element >= (size_t)m * n) return;
  const size_t row = element / n;
  const size_t col = element % n;
  accumulator sum = 0;
  for (int p = 0; p < k; ++p)
    sum += (accumulator)a[row * k + p] * (accumulator)b[(size_t)p * n + col];
  c[element] = (float)sum;
}
