// Reference for attention.cl: softmax(q . keys / sqrt(HEAD_DIM)) * values, float32.
//
// Obvious rather than fast: one work item per query and head. Sums in double where
// the device has it.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
#else
typedef float real;
#endif

inline real score(__global const float* q, __global const float* key) {
  real sum = 0;
  for (int d = 0; d < HEAD_DIM; ++d) sum += (real)q[d] * (real)key[d];
  return sum / sqrt((real)HEAD_DIM);
}

__kernel void attention_reference(__global const float* q,
                                  __global const float* keys,
                                  __global const float* values,
                                  __global float* out, int heads, int kv_heads,
                                  int seq_q, int seq_kv) {
  const size_t row = get_global_id(0);
  const int query = (int)(row % seq_q);
  const size_t head = row / seq_q;
  const size_t kv_head = head / heads * kv_heads + head % heads / (heads / kv_heads);
  q += row * HEAD_DIM;
  out += row * HEAD_DIM;
  keys += kv_head * seq_kv * HEAD_DIM;
  values += kv_head * seq_kv * HEAD_DIM;
  const int count =
      CAUSAL ? clamp(query + 1 + seq_kv - seq_q, 1, seq_kv) : seq_kv;

  real largest = -INFINITY;
  for (int j = 0; j < count; ++j)
    largest = fmax(largest, score(q, keys + (size_t)j * HEAD_DIM));
  real sums[HEAD_DIM];
  for (int d = 0; d < HEAD_DIM; ++d) sums[d] = 0;
  real total = 0;
  for (int j = 0; j < count; ++j) {
    const real weight = exp(score(q, keys + (size_t)j * HEAD_DIM) - largest);
    total += weight;
    for (int d = 0; d < HEAD_DIM; ++d)
      sums[d] += weight * (real)values[(size_t)j * HEAD_DIM + d];
  }
  for (int d = 0; d < HEAD_DIM; ++d) out[d] = (float)(sums[d] / total);
}
