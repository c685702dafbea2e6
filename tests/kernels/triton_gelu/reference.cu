// Reference for triton_gelu: y[r, c] = GELU(x[r, c] + bias[c]), float32, dense,
// row major.
//
// Obvious rather than fast: one thread per element, in double.
extern "C" __global__ void gelu_reference(const float* x, const float* bias,
                                          float* y, int rows, int columns) {
  const unsigned long long element =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= static_cast<unsigned long long>(rows) * columns) return;
  const double v = static_cast<double>(x[element]) + bias[element % columns];
  const double inner = 0.7978845608 * (v + 0.044715 * v * v * v);
  y[element] = static_cast<float>(0.5 * v * (1 + tanh(inner)));
}
