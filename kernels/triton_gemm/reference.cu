// Reference for triton_gemm: C[m,n] = A[m,k] * B[n,k]^T, bf16 with sums in
// fp32, row major.
//
// Obvious rather than fast: one thread per element of C, at least m * n threads
// (surplus ones do nothing). What blocks leave each other is not used.
extern "C" __global__ void triton_gemm_reference(
    const unsigned short* a, const unsigned short* b, unsigned short* c,
    float* /*partials*/, int* /*arrivals*/, int m, int n, int k) {
  const unsigned long long element =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= static_cast<unsigned long long>(m) * n) return;
  const unsigned short* a_row = a + element / n * k;
  const unsigned short* b_row = b + element % n * k;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p)
    sum += __uint_as_float(a_row[p] << 16) * __uint_as_float(b_row[p] << 16);
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(c[element]) : "f"(sum));
}
