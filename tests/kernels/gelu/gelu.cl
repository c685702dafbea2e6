// gelu: y[r, c] = GELU(x[r, c] + bias[c]), float32, dense, row major, with
// GELU(v) = v / (1 + exp(-1.5957691 (v + 0.044715 v^3))), the usual approximation
// with a hyperbolic tangent.
//
// For OpenCL devices that are CPUs: one work item computes a tile of BLOCK_R rows
// and BLOCK_C columns; the grid is ceil(rows / BLOCK_R) * ceil(columns / BLOCK_C)
// blocks of one work item, numbered along a row first. There is no main loop: a
// tile is done at once.
//
// Macro parameters (change the grid):
//   BLOCK_R       rows per block
//   BLOCK_C       columns per block
// Micro parameter:
//   VECTOR_WIDTH  floats per vector: 4, 8 or 16
//
// Rows and columns that are not there are skipped.

#define CONCAT_TOKENS(a, b) a##b
#define CONCAT(a, b) CONCAT_TOKENS(a, b)
typedef CONCAT(float, VECTOR_WIDTH) vec;
#define LOAD(p) CONCAT(vload, VECTOR_WIDTH)(0, (p))
#define STORE(v, p) CONCAT(vstore, VECTOR_WIDTH)((v), 0, (p))

#define GELU(v) ((v) / (1.0f + exp(-1.5957691f * (v) * (1.0f + 0.044715f * (v) * (v)))))

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void gelu(__global const float* restrict x,
                   __global const float* restrict bias,
                   __global float* restrict y, int rows, int columns) {
  const int tiles_c = (columns + BLOCK_C - 1) / BLOCK_C;
  const size_t tile = get_group_id(0);
  const int row0 = (int)(tile / tiles_c) * BLOCK_R;
  const int column0 = (int)(tile % tiles_c) * BLOCK_C;
  const int own_rows = min(BLOCK_R, rows - row0);
  const int own_columns = min(BLOCK_C, columns - column0);
  for (int r = 0; r < own_rows; ++r) {
    const size_t at = (size_t)(row0 + r) * columns + column0;
    int c = 0;
    for (; c + VECTOR_WIDTH <= own_columns; c += VECTOR_WIDTH) {
      const vec v = LOAD(x + at + c) + LOAD(bias + column0 + c);
      STORE(GELU(v), y + at + c);
    }
    for (; c < own_columns; ++c) {
      const float v = x[at + c] + bias[column0 + c];
      y[at + c] = GELU(v);
    }
  }
}
