// rms_norm_compiled: y[r, c] = x[r, c] * w[c] / sqrt(mean of x[r, :]^2 + 1e-5) over
// rows of HIDDEN floats, dense, row major. HIDDEN is a constant of the
// specialisation, so that no loop has a length that only the launch knows.
//
// For OpenCL devices that are CPUs: one work item computes BLOCK_R rows, one after
// the other. The grid is ceil(rows / BLOCK_R) blocks of one work item.
//
// Macro parameter:
//   BLOCK_R       rows per block
// Micro parameters:
//   VECTOR_WIDTH  floats per vector: 4, 8 or 16
//   VECTORS       vectors added up side by side, which hides the addition's latency

#define GROUP (VECTOR_WIDTH * VECTORS)
#define EPSILON 1e-5f

#if HIDDEN % GROUP != 0
#error "HIDDEN must be a multiple of VECTOR_WIDTH * VECTORS"
#endif

#define CONCAT_TOKENS(a, b) a##b
#define CONCAT(a, b) CONCAT_TOKENS(a, b)
typedef CONCAT(float, VECTOR_WIDTH) vec;
#define LOAD(p) CONCAT(vload, VECTOR_WIDTH)(0, (p))
#define STORE(v, p) CONCAT(vstore, VECTOR_WIDTH)((v), 0, (p))

inline float sum_of(vec v) {
  float values[VECTOR_WIDTH];
  STORE(v, values);
  float sum = 0;
  _Pragma("unroll")
  for (int i = 0; i < VECTOR_WIDTH; ++i) sum += values[i];
  return sum;
}

inline float sum_of_squares(__global const float* x) {
  vec sums[VECTORS];
  _Pragma("unroll")
  for (int v = 0; v < VECTORS; ++v) sums[v] = (vec)(0.0f);
  for (int c = 0; c < HIDDEN; c += GROUP) {
    _Pragma("unroll")
    for (int v = 0; v < VECTORS; ++v) {
      const vec values = LOAD(x + c + v * VECTOR_WIDTH);
      sums[v] += values * values;
    }
  }
  _Pragma("unroll")
  for (int v = 1; v < VECTORS; ++v) sums[0] += sums[v];
  return sum_of(sums[0]);
}

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void rms_norm_compiled(__global const float* restrict x,
                                __global const float* restrict w,
                                __global float* restrict y, int rows) {
  const int row0 = (int)get_group_id(0) * BLOCK_R;
  const int own = min(BLOCK_R, rows - row0);
  for (int r = 0; r < own; ++r) {
    const size_t at = (size_t)(row0 + r) * HIDDEN;
    const float factor = 1.0f / sqrt(sum_of_squares(x + at) / HIDDEN + EPSILON);
    for (int c = 0; c < HIDDEN; c += VECTOR_WIDTH)
      STORE(LOAD(x + at + c) * LOAD(w + c) * factor, y + at + c);
  }
}
