// Reference for gpu_attention: softmax(q . keys / sqrt(HEAD_DIM)) * values, bf16.
//
// Obvious rather than fast: one thread per query and head.
#include <cuda_bf16.h>

__device__ float score(const __nv_bfloat16* q, const __nv_bfloat16* key) {
  float sum = 0.0f;
  for (int d = 0; d < HEAD_DIM; ++d)
    sum += __bfloat162float(q[d]) * __bfloat162float(key[d]);
  return sum * rsqrtf(HEAD_DIM);
}

extern "C" __global__ void gpu_attention_reference(
    const __nv_bfloat16* q, const __nv_bfloat16* keys,
    const __nv_bfloat16* values, __nv_bfloat16* out, int heads, int kv_heads,
    int seq_q, int seq_kv) {
  const size_t row = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int query = static_cast<int>(row % seq_q);
  const size_t head = row / seq_q;
  const size_t kv_head =
      head / heads * kv_heads + head % heads / (heads / kv_heads);
  q += row * HEAD_DIM;
  out += row * HEAD_DIM;
  keys += kv_head * seq_kv * HEAD_DIM;
  values += kv_head * seq_kv * HEAD_DIM;
  const int count =
      CAUSAL ? min(max(query + 1 + seq_kv - seq_q, 1), seq_kv) : seq_kv;

  float largest = -INFINITY;
  for (int j = 0; j < count; ++j)
    largest = fmaxf(largest, score(q, keys + static_cast<size_t>(j) * HEAD_DIM));
  float sums[HEAD_DIM] = {};
  float total = 0.0f;
  for (int j = 0; j < count; ++j) {
    const size_t at = static_cast<size_t>(j) * HEAD_DIM;
    const float weight = expf(score(q, keys + at) - largest);
    total += weight;
    for (int d = 0; d < HEAD_DIM; ++d)
      sums[d] += weight * __bfloat162float(values[at + d]);
  }
  for (int d = 0; d < HEAD_DIM; ++d)
    out[d] = __float2bfloat16(sums[d] / total);
}
