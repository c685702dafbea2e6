// Reference for gpu_rms_norm: y[r, c] = x[r, c] * w[c] / sqrt(mean of x[r, :]^2 +
// epsilon), bf16, dense, row major.
//
// Obvious rather than fast: one thread per row, in double.
#include <cuda_bf16.h>

extern "C" __global__ void gpu_rms_norm_reference(const __nv_bfloat16* x,
                                                  const __nv_bfloat16* w,
                                                  __nv_bfloat16* y, int rows,
                                                  int hidden, float epsilon) {
  const size_t row = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= static_cast<size_t>(rows)) return;
  const __nv_bfloat16* own = x + row * hidden;
  double sum = 0;
  for (int c = 0; c < hidden; ++c) {
    const double value = __bfloat162float(own[c]);
    sum += value * value;
  }
  const double factor = 1 / sqrt(sum / hidden + epsilon);
  for (int c = 0; c < hidden; ++c)
    y[row * hidden + c] = __float2bfloat16(static_cast<float>(
        __bfloat162float(own[c]) * factor * __bfloat162float(w[c])));
}
