// grouped_gemm: for each expert e, the rows of c that are its own are those of a
// times b[e]: c[r, n] = a[r, k] * b[e][k, n], float32, all dense and row major. The
// rows of all experts lie one below the other, group_rows[e] of them are of expert
// e. An expert may be without rows.
//
// For OpenCL devices that are CPUs: one work item computes one whole tile of c. The
// grid is (sum over experts of ceil(group_rows[e] / BLOCK_M)) * ceil(n / BLOCK_N)
// blocks of one work item, numbered down the rows first: neighbours share a panel
// of an expert's weights.
//
// Macro parameters (change the grid or the loop count):
//   BLOCK_M       rows of c per block, accumulated together in registers
//   BLOCK_N       columns of c per block; a multiple of STRIP_N
//   BLOCK_K       steps of k between two passes over the tile of c
// Micro parameters:
//   VECTOR_WIDTH  floats per vector: 4, 8 or 16
//   VECTORS       vectors side by side in the registers; STRIP_N = VECTORS *
//                 VECTOR_WIDTH
//
// The last rows of an expert's last tile are filled up by repeating its last one,
// so that a tile takes the same time however it is filled. Columns behind the last
// whole strip are done one by one.

#define STRIP_N (VECTOR_WIDTH * VECTORS)

#if BLOCK_N % STRIP_N != 0
#error "BLOCK_N must be a multiple of VECTORS * VECTOR_WIDTH"
#endif

#define CONCAT_TOKENS(a, b) a##b
#define CONCAT(a, b) CONCAT_TOKENS(a, b)
typedef CONCAT(float, VECTOR_WIDTH) vec;
#define LOAD(p) CONCAT(vload, VECTOR_WIDTH)(0, (p))
#define STORE(v, p) CONCAT(vstore, VECTOR_WIDTH)((v), 0, (p))

// Asks for a row of the strip of b ahead of its use: its rows lie n floats apart,
// where the cores' own prefetchers lose them.
#define PREFETCH_STEPS 16
#define LINE_FLOATS 16
inline void prefetch_row(__global const float* row) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_prefetch)
  _Pragma("unroll")
  for (int j = 0; j < STRIP_N; j += LINE_FLOATS)
    __builtin_prefetch((const void*)(size_t)(row + j));
#endif
#endif
}

// c[rows, STRIP_N] (+)= a[BLOCK_M rows, steps] * b[steps, STRIP_N].
inline void whole_strip(__global float* c, __global const float* const a[BLOCK_M],
                        __global const float* b, int n, int steps, int rows,
                        bool first) {
  vec acc[BLOCK_M][VECTORS];
  _Pragma("unroll")
  for (int r = 0; r < BLOCK_M; ++r)
    for (int v = 0; v < VECTORS; ++v) acc[r][v] = (vec)(0.0f);
  for (int p = 0; p < steps; ++p) {
    __global const float* b_row = b + (size_t)p * n;
    vec b_values[VECTORS];
    _Pragma("unroll")
    for (int v = 0; v < VECTORS; ++v) b_values[v] = LOAD(b_row + v * VECTOR_WIDTH);
    prefetch_row(b_row + (size_t)PREFETCH_STEPS * n);
    _Pragma("unroll")
    for (int r = 0; r < BLOCK_M; ++r)
      for (int v = 0; v < VECTORS; ++v) acc[r][v] += (vec)(a[r][p]) * b_values[v];
  }
  _Pragma("unroll")
  for (int r = 0; r < BLOCK_M; ++r) {
    if (r >= rows) break;
    _Pragma("unroll")
    for (int v = 0; v < VECTORS; ++v) {
      __global float* part = c + (size_t)r * n + v * VECTOR_WIDTH;
      STORE(first ? acc[r][v] : LOAD(part) + acc[r][v], part);
    }
  }
}

// The same for one column.
inline void one_column(__global float* c, __global const float* const a[BLOCK_M],
                       __global const float* b, int n, int steps, int rows,
                       bool first) {
  for (int r = 0; r < rows; ++r) {
    float sum = 0;
    for (int p = 0; p < steps; ++p) sum += a[r][p] * b[(size_t)p * n];
    c[(size_t)r * n] = first ? sum : c[(size_t)r * n] + sum;
  }
}

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void grouped_gemm(__global const float* restrict a,
                           __global const float* restrict b,
                           __global const int* restrict group_rows,
                           __global float* restrict c, int experts,
                           int row_tiles, int n, int k) {
  const size_t tile = get_group_id(0);
  const int col0 = (int)(tile / row_tiles) * BLOCK_N;
  const int cols = min(BLOCK_N, n - col0);

  // The expert that has this row of tiles, and its first row.
  int row_tile = (int)(tile % row_tiles);
  int expert = 0;
  size_t row0 = 0;
  for (; expert < experts; ++expert) {
    const int own = (group_rows[expert] + BLOCK_M - 1) / BLOCK_M;
    if (row_tile < own) break;
    row_tile -= own;
    row0 += group_rows[expert];
  }
  const int rows = min(BLOCK_M, group_rows[expert] - row_tile * BLOCK_M);
  row0 += (size_t)row_tile * BLOCK_M;
  b += (size_t)expert * k * n;

  for (int k0 = 0; k0 < k; k0 += BLOCK_K) {
    const int steps = min(BLOCK_K, k - k0);
    __global const float* a_rows[BLOCK_M];
    _Pragma("unroll")
    for (int r = 0; r < BLOCK_M; ++r)
      a_rows[r] = a + (row0 + min(r, rows - 1)) * k + k0;
    __global const float* b_block = b + (size_t)k0 * n + col0;
    __global float* c_block = c + row0 * n + col0;
    int j = 0;
    for (; j + STRIP_N <= cols; j += STRIP_N)
      whole_strip(c_block + j, a_rows, b_block + j, n, steps, rows, k0 == 0);
    for (; j < cols; ++j)
      one_column(c_block + j, a_rows, b_block + j, n, steps, rows, k0 == 0);
  }
}
