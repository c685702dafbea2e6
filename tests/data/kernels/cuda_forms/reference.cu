// One thread per column.
extern "C" __global__ void cuda_forms_reference(const float* a,
                                                const int* columns, float* y,
                                                float scale, int* tickets,
                                                float* partials, int n, int k) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[static_cast<size_t>(p) * n + columns[j]];
  y[j] += scale * sum;
}
