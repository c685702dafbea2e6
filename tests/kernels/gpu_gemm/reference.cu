// Reference for gpu_gemm: C[m,n] = A[m,k] * B[n,k]^T, bf16 with sums in float, row
// major.
//
// Obvious rather than fast: one thread per element of C.
#include <cuda_bf16.h>

extern "C" __global__ void gpu_gemm_reference(const __nv_bfloat16* a,
                                              const __nv_bfloat16* b,
                                              __nv_bfloat16* c, int m, int n,
                                              int k) {
  const size_t element =
      static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= static_cast<size_t>(m) * n) return;
  const __nv_bfloat16* const a_row = a + element / n * k;
  const __nv_bfloat16* const b_row = b + element % n * k;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p)
    sum += __bfloat162float(a_row[p]) * __bfloat162float(b_row[p]);
  c[element] = __float2bfloat16(sum);
}
