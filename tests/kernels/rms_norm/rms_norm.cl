// rms_norm: y[r, c] = x[r, c] * w[c] / sqrt(mean of x[r, :]^2 + epsilon), float32,
// dense, row major.
//
// For OpenCL devices that are CPUs: one work item computes BLOCK_R rows, and the
// grid is ceil(rows / BLOCK_R) blocks of one work item. Each row is read twice, in
// steps of BLOCK_H columns: for the sum of its squares, then to be scaled. The rows
// of a tile share a step's weights while these are in the nearest cache.
//
// Macro parameters (change the grid or the loop count):
//   BLOCK_R       rows per block
//   BLOCK_H       columns per step of the loop
// Micro parameters:
//   VECTOR_WIDTH  floats per vector: 4, 8 or 16
//   VECTORS       vectors added up side by side, which hides the addition's latency
//
// Rows that are not there are skipped, columns behind the last whole group of
// vectors are done one by one.

#define GROUP (VECTOR_WIDTH * VECTORS)

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

inline float sum_of_squares(__global const float* x, int columns) {
  vec sums[VECTORS];
  _Pragma("unroll")
  for (int v = 0; v < VECTORS; ++v) sums[v] = (vec)(0.0f);
  int c = 0;
  for (; c + GROUP <= columns; c += GROUP) {
    _Pragma("unroll")
    for (int v = 0; v < VECTORS; ++v) {
      const vec values = LOAD(x + c + v * VECTOR_WIDTH);
      sums[v] += values * values;
    }
  }
  _Pragma("unroll")
  for (int v = 1; v < VECTORS; ++v) sums[0] += sums[v];
  float sum = sum_of(sums[0]);
  for (; c < columns; ++c) sum += x[c] * x[c];
  return sum;
}

inline void scale(__global float* y, __global const float* x,
                  __global const float* w, float factor, int columns) {
  int c = 0;
  for (; c + GROUP <= columns; c += GROUP) {
    _Pragma("unroll")
    for (int v = 0; v < VECTORS; ++v) {
      const int at = c + v * VECTOR_WIDTH;
      STORE(LOAD(x + at) * LOAD(w + at) * factor, y + at);
    }
  }
  for (; c < columns; ++c) y[c] = x[c] * w[c] * factor;
}

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void rms_norm(__global const float* restrict x,
                       __global const float* restrict w,
                       __global float* restrict y, int rows, int hidden,
                       float epsilon) {
  const int row0 = (int)get_group_id(0) * BLOCK_R;
  const int own = min(BLOCK_R, rows - row0);

  float factors[BLOCK_R];
  for (int r = 0; r < own; ++r) factors[r] = 0;
  for (int c = 0; c < hidden; c += BLOCK_H) {
    const int columns = min(BLOCK_H, hidden - c);
    for (int r = 0; r < own; ++r)
      factors[r] += sum_of_squares(x + (size_t)(row0 + r) * hidden + c, columns);
  }
  for (int r = 0; r < own; ++r)
    factors[r] = 1.0f / sqrt(factors[r] / hidden + epsilon);
  for (int c = 0; c < hidden; c += BLOCK_H) {
    const int columns = min(BLOCK_H, hidden - c);
    for (int r = 0; r < own; ++r) {
      const size_t at = (size_t)(row0 + r) * hidden + c;
      scale(y + at, x + at, w + c, factors[r], columns);
    }
  }
}
