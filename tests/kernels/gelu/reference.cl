// Reference for gelu: y[r, c] = GELU(x[r, c] + bias[c]), float32, dense, row major.
//
// Obvious rather than fast: one work item per element, in double where the device
// has it.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
#else
typedef float real;
#endif

__kernel void gelu_reference(__global const float* x, __global const float* bias,
                             __global float* y, int rows, int columns) {
  const size_t element = get_global_id(0);
  if (element >= (size_t)rows * columns) return;
  const real v = (real)x[element] + (real)bias[element % columns];
  const real inner = (real)0.7978845608 * (v + (real)0.044715 * v * v * v);
  y[element] = (float)((real)0.5 * v * (1 + tanh(inner)));
}
