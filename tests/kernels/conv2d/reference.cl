// Reference for conv2d: a two-dimensional convolution without padding.
//
// Obvious rather than fast: one work item per element of y. Sums in double where
// the device has it.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double accumulator;
#else
typedef float accumulator;
#endif

__kernel void conv2d_reference(__global const float* x, __global const float* w,
                               __global float* y, int batch, int channels,
                               int filters, int out_h, int out_w, int kernel_h,
                               int kernel_w) {
  size_t element = get_global_id(0);
  if (element >= (size_t)batch * filters * out_h * out_w) return;
  __global float* out = y + element;
  const int j = (int)(element % out_w);
  element /= out_w;
  const int i = (int)(element % out_h);
  element /= out_h;
  const int f = (int)(element % filters);
  const int b = (int)(element / filters);
  const int in_h = (out_h - 1) * STRIDE + kernel_h;
  const int in_w = (out_w - 1) * STRIDE + kernel_w;

  accumulator sum = 0;
  for (int c = 0; c < channels; ++c)
    for (int u = 0; u < kernel_h; ++u)
      for (int v = 0; v < kernel_w; ++v) {
        const size_t row = ((size_t)b * channels + c) * in_h + i * STRIDE + u;
        const size_t weight = (((size_t)f * channels + c) * kernel_h + u) * kernel_w + v;
        sum += (accumulator)x[row * in_w + j * STRIDE + v] * (accumulator)w[weight];
      }
  *out = (float)sum;
}
