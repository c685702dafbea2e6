// Reference for triton_attention: softmax(q * keys^T / sqrt(HEAD_DIM)) *
// values, bf16 with everything else in fp32. With CAUSAL, query i sees the
// first seq_kv - seq_q + i + 1 keys, at least one.
//
// Obvious rather than fast: one thread per element of the output, exactly as
// many. What blocks leave each other is not used.
__device__ float Float(unsigned short bits) {
  return __uint_as_float(bits << 16);
}

extern "C" __global__ void triton_attention_reference(
    const unsigned short* q, const unsigned short* keys,
    const unsigned short* values, unsigned short* out, float* /*partials*/,
    float* /*logarithms*/, int* /*arrivals*/, int heads, int kv_heads,
    int seq_q, int seq_kv) {
  const unsigned long long element =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned long long row = element / HEAD_DIM;
  const int query = static_cast<int>(row % seq_q);
  const unsigned long long head = row / seq_q;
  const unsigned long long kv_head =
      head / heads * kv_heads + head % heads / (heads / kv_heads);
  const unsigned short* const q_row = q + row * HEAD_DIM;
  const unsigned short* const first_key = keys + kv_head * seq_kv * HEAD_DIM;
  const unsigned short* const first_value =
      values + kv_head * seq_kv * HEAD_DIM + element % HEAD_DIM;
  const int seen = CAUSAL ? max(seq_kv - seq_q + query + 1, 1) : seq_kv;

  float peak = 0.0f;
  float weights = 0.0f;
  float weighted = 0.0f;
  for (int j = 0; j < seen; ++j) {
    const unsigned short* const key = first_key + 1ull * j * HEAD_DIM;
    float score = 0.0f;
    for (int p = 0; p < HEAD_DIM; ++p) score += Float(q_row[p]) * Float(key[p]);
    score *= rsqrtf(static_cast<float>(HEAD_DIM));
    const float new_peak = j == 0 ? score : fmaxf(peak, score);
    const float fade = j == 0 ? 0.0f : expf(peak - new_peak);
    const float weight = expf(score - new_peak);
    weights = weights * fade + weight;
    weighted =
        weighted * fade + weight * Float(first_value[1ull * j * HEAD_DIM]);
    peak = new_peak;
  }
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out[element]) : "f"(weighted / weights));
}
