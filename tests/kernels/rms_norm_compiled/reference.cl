// Reference for rms_norm_compiled: rows of HIDDEN floats, dense, row major.
//
// Obvious rather than fast: one work item per row. Sums in double where the device
// has it.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double accumulator;
#else
typedef float accumulator;
#endif

__kernel void rms_norm_compiled_reference(__global const float* x,
                                          __global const float* w,
                                          __global float* y, int rows) {
  const size_t row = get_global_id(0);
  if (row >= (size_t)rows) return;
  accumulator sum = 0;
  for (int c = 0; c < HIDDEN; ++c) {
    const accumulator value = x[row * HIDDEN + c];
    sum += value * value;
  }
  const accumulator factor = 1 / sqrt(sum / HIDDEN + (accumulator)1e-5f);
  for (int c = 0; c < HIDDEN; ++c)
    y[row * HIDDEN + c] = (float)(x[row * HIDDEN + c] * factor * w[c]);
}
