// Reference for gpu_conv2d: y[b, f, h, w] = sum of
// x[b, c, h * STRIDE + i, w * STRIDE + j] * w[f, c, i, j], bf16 with sums in float.
//
// Obvious rather than fast: one thread per element of y.
#include <cuda_bf16.h>

extern "C" __global__ void gpu_conv2d_reference(
    const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, int batch,
    int channels, int filters, int out_h, int out_w, int kernel_h,
    int kernel_w) {
  const size_t element =
      static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int v = element % out_w;
  const int h = element / out_w % out_h;
  const int f = element / out_w / out_h % filters;
  const size_t image = element / out_w / out_h / filters;
  if (image >= batch) return;
  const int image_h = (out_h - 1) * STRIDE + kernel_h;
  const int image_w = (out_w - 1) * STRIDE + kernel_w;
  float sum = 0.0f;
  for (int c = 0; c < channels; ++c)
    for (int i = 0; i < kernel_h; ++i)
      for (int j = 0; j < kernel_w; ++j)
        sum += __bfloat162float(
                   x[((image * channels + c) * image_h + h * STRIDE + i) *
                         image_w +
                     v * STRIDE + j]) *
               __bfloat162float(
                   w[((static_cast<size_t>(f) * channels + c) * kernel_h + i) *
                         kernel_w +
                     j]);
  y[element] = __float2bfloat16(sum);
}
