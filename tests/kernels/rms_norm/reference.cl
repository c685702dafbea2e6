// Reference for rms_norm: y[r, c] = x[r, c] * w[c] / sqrt(mean of x[r, :]^2 +
// epsilon), float32, dense, row major.
//
// Obvious rather than fast: one work item per row. Sums in double where the device
// has it.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double accumulator;
#else
typedef float accumulator;
#endif

__kernel void rms_norm_reference(__global const float* x,
                                 __global const float* w, __global float* y,
                                 int rows, int hidden, float epsilon) {
  const size_t row = get_global_id(0);
  if (row >= (size_t)rows) return;
  accumulator sum = 0;
  for (int c = 0; c < hidden; ++c) {
    const accumulator value = x[row * hidden + c];
    sum += value * value;
  }
  const accumulator factor = 1 / sqrt(sum / hidden + (accumulator)epsilon);
  for (int c = 0; c < hidden; ++c)
    y[row * hidden + c] = (float)(x[row * hidden + c] * factor * w[c]);
}
