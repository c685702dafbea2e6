// Attention with grouped queries, float32: for each query of each head,
//   out = softmax(q . keys / sqrt(HEAD_DIM)) * values
// over the keys that it sees. q and out are [batch, heads, seq_q, HEAD_DIM], keys
// and values [batch, kv_heads, seq_kv, HEAD_DIM]; heads / kv_heads heads share keys
// and values. CAUSAL = 1: queries are aligned to the end of the keys, and a query
// sees none behind itself (and always the first). CAUSAL and HEAD_DIM are constants
// of the specialisation.
//
// For OpenCL devices that are CPUs: one work item computes BLOCK_Q queries of one
// head. The grid is batch * heads * ceil(seq_q / BLOCK_Q) blocks of one work item,
// numbered along the queries first.
//
//   for each BLOCK_KV keys that the tile sees      one step of the loop
//     for each query
//       scores, their maximum, their exponentials
//       out[query] = out[query] * correction + exponentials * values
//
// Macro parameters (change the grid or the loop count):
//   BLOCK_Q       queries per block: they share keys and values in the cache
//   BLOCK_KV      keys per step
// Micro parameters:
//   VECTOR_WIDTH  floats per vector: 8 or 16
//
// Queries and keys that are not there are skipped: a tile takes as long as it has
// pairs of queries and keys.
//
// Source: T. Dao and others, "FlashAttention", arXiv 2205.14135 (softmax over
// blocks of keys).

#define VECTORS (HEAD_DIM / VECTOR_WIDTH)

#define CONCAT_TOKENS(a, b) a##b
#define CONCAT(a, b) CONCAT_TOKENS(a, b)
typedef CONCAT(float, VECTOR_WIDTH) vec;
#define LOAD(p) CONCAT(vload, VECTOR_WIDTH)(0, (p))
#define STORE(v, p) CONCAT(vstore, VECTOR_WIDTH)((v), 0, (p))

inline float sum_of(vec v) {
  float values[VECTOR_WIDTH];
  STORE(v, values);
  _Pragma("unroll")
  for (int width = VECTOR_WIDTH / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) values[i] += values[i + width];
  return values[0];
}

// One query and `count` keys; `scores` is room for BLOCK_KV floats. Updates the
// query's maximum and sum of exponentials, and its row of out.
inline void visit_keys(__local float* out, __local float* maximum,
                       __local float* sum, __local float* scores,
                       __global const float* q, __global const float* keys,
                       __global const float* values, int count) {
  vec query[VECTORS];
  _Pragma("unroll")
  for (int v = 0; v < VECTORS; ++v) query[v] = LOAD(q + v * VECTOR_WIDTH);
  float largest = *maximum;
  for (int j = 0; j < count; ++j) {
    __global const float* key = keys + (size_t)j * HEAD_DIM;
    vec product = query[0] * LOAD(key);
    _Pragma("unroll")
    for (int v = 1; v < VECTORS; ++v)
      product += query[v] * LOAD(key + v * VECTOR_WIDTH);
    scores[j] = sum_of(product) * rsqrt((float)HEAD_DIM);
    largest = fmax(largest, scores[j]);
  }

  const float correction = exp(*maximum - largest);
  *maximum = largest;
  float added = 0;
  for (int j = 0; j < count; ++j) {
    scores[j] = exp(scores[j] - largest);
    added += scores[j];
  }
  *sum = *sum * correction + added;

  vec acc[VECTORS];
  _Pragma("unroll")
  for (int v = 0; v < VECTORS; ++v) acc[v] = LOAD(out + v * VECTOR_WIDTH) * correction;
  for (int j = 0; j < count; ++j) {
    __global const float* value = values + (size_t)j * HEAD_DIM;
    _Pragma("unroll")
    for (int v = 0; v < VECTORS; ++v)
      acc[v] += scores[j] * LOAD(value + v * VECTOR_WIDTH);
  }
  _Pragma("unroll")
  for (int v = 0; v < VECTORS; ++v) STORE(acc[v], out + v * VECTOR_WIDTH);
}

// Keys that a query sees.
inline int visible(int query, int seq_q, int seq_kv) {
  return CAUSAL ? clamp(query + 1 + seq_kv - seq_q, 1, seq_kv) : seq_kv;
}

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void attention(__global const float* restrict q,
                        __global const float* restrict keys,
                        __global const float* restrict values,
                        __global float* restrict out, int heads, int kv_heads,
                        int seq_q, int seq_kv) {
  __local float tile[BLOCK_Q * HEAD_DIM];
  __local float scores[BLOCK_KV];
  __local float maxima[BLOCK_Q];
  __local float sums[BLOCK_Q];

  const int tiles_q = (seq_q + BLOCK_Q - 1) / BLOCK_Q;
  const size_t block = get_group_id(0);
  const int query0 = (int)(block % tiles_q) * BLOCK_Q;
  const size_t head = block / tiles_q;  // Of all elements of the batch.
  const int queries = min(BLOCK_Q, seq_q - query0);
  const size_t kv_head = head / heads * kv_heads + head % heads / (heads / kv_heads);
  q += (head * seq_q + query0) * HEAD_DIM;
  out += (head * seq_q + query0) * HEAD_DIM;
  keys += kv_head * seq_kv * HEAD_DIM;
  values += kv_head * seq_kv * HEAD_DIM;

  for (int r = 0; r < queries; ++r) {
    maxima[r] = -INFINITY;
    sums[r] = 0;
    for (int d = 0; d < HEAD_DIM; ++d) tile[r * HEAD_DIM + d] = 0;
  }

  const int last = visible(query0 + queries - 1, seq_q, seq_kv);
  for (int k0 = 0; k0 < last; k0 += BLOCK_KV) {
    for (int r = 0; r < queries; ++r) {
      const int count = min(BLOCK_KV, visible(query0 + r, seq_q, seq_kv) - k0);
      if (count <= 0) continue;
      visit_keys(tile + r * HEAD_DIM, maxima + r, sums + r, scores,
                 q + (size_t)r * HEAD_DIM, keys + (size_t)k0 * HEAD_DIM,
                 values + (size_t)k0 * HEAD_DIM, count);
    }
  }

  for (int r = 0; r < queries; ++r) {
    const float factor = 1.0f / sums[r];
    for (int d = 0; d < HEAD_DIM; ++d)
      out[(size_t)r * HEAD_DIM + d] = tile[r * HEAD_DIM + d] * factor;
  }
}
