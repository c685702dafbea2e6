// Reference for gpu_gelu: y[r, c] = GELU(x[r, c] + bias[c]), bf16, dense, row
// major.
//
// Obvious rather than fast: one thread per element, in double.
#include <cuda_bf16.h>

extern "C" __global__ void gpu_gelu_reference(const __nv_bfloat16* x,
                                              const __nv_bfloat16* bias,
                                              __nv_bfloat16* y, int rows,
                                              int columns) {
  const size_t element =
      static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= static_cast<size_t>(rows) * columns) return;
  const double v = static_cast<double>(__bfloat162float(x[element])) +
                   __bfloat162float(bias[element % columns]);
  const double inner = 0.7978845608 * (v + 0.044715 * v * v * v);
  y[element] =
      __float2bfloat16(static_cast<float>(0.5 * v * (1 + tanh(inner))));
}
