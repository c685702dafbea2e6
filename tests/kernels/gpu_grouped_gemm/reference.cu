// Reference for gpu_grouped_gemm: C[rows of e, n] = A[rows of e, k] * B[e, n, k]^T,
// bf16 with sums in float.
//
// Obvious rather than fast: one thread per element of C.
#include <cuda_bf16.h>

extern "C" __global__ void gpu_grouped_gemm_reference(
    const __nv_bfloat16* a, const __nv_bfloat16* b, const int* group_rows,
    __nv_bfloat16* c, int experts, int /*row_tiles*/, int n, int k) {
  const size_t element =
      static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t row = element / n;
  size_t expert = 0;
  for (size_t end = group_rows[0]; row >= end; end += group_rows[expert]) {
    if (++expert == experts) return;
  }
  const __nv_bfloat16* const a_row = a + row * k;
  const __nv_bfloat16* const b_row = b + (expert * n + element % n) * k;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p)
    sum += __bfloat162float(a_row[p]) * __bfloat162float(b_row[p]);
  c[element] = __float2bfloat16(sum);
}
