// gemm_f32: C[m,n] = A[m,k] * B[k,n] in float32, all three dense and row major.
//
// A tunable kernel for OpenCL devices that are CPUs (written for PoCL). One work
// item computes one whole tile of C with vector types; parallelism comes from the
// tiles. The grid is linear: ceil(m / BLOCK_M) * ceil(n / BLOCK_N) work groups of
// one work item, numbered along a row of tiles first. Any m, n, k from 1 to 2^30 is
// correct.
//
//   for each block of BLOCK_K steps of k
//     for each strip of STRIP_N columns        the strip of B stays in L1
//       for each TILE_M rows that hold C       accumulators stay in registers
//         acc[TILE_M][VECTORS] += A * B        one broadcast of A per row and step
//         C += acc                             the first block of k overwrites C
//
// An iteration in the sense of the wave model is one register tile (TILE_M rows of
// the whole tile's width) at one block of k: L = ceil(rows / TILE_M) *
// ceil(k / BLOCK_K), so that the model sees how far a tile is filled.
//
// Macro parameters (change the grid or the loop count):
//   BLOCK_M       rows of C per work group
//   BLOCK_N       columns of C per work group; a multiple of STRIP_N
//   BLOCK_K       steps of k between two passes over the tile of C
//   TILE_M        rows accumulated together in registers; divides BLOCK_M
// Micro parameters:
//   VECTOR_WIDTH  floats per vector: 2, 4, 8 or 16
//   UNROLL        steps of k unrolled in the innermost loop; more than 1 pays only
//                 while a register tile is a single row, and costs build time
//   STAGE_B       1 copies the BLOCK_K x BLOCK_N block of B strip by strip into
//                 local memory first: pays when many rows reuse it, costs a pass
//                 over B when few do
//
// Edges: a tile does only the register tiles that hold rows of C. The last one is
// filled by repeating its last row and stores the real rows only, so time depends
// on ceil(rows / TILE_M). Columns are done in whole strips: a strip that crosses n
// is staged in local memory with zeros behind column n, and only real columns are
// stored.
//
// Ideas: blocking for caches and registers after K. Goto and R. van de Geijn,
// "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
// Deviations: A is not packed (decode has few rows), packing B is optional.

// Vectors side by side in a register tile. Two hide the latency of the fused
// multiply-add at TILE_M = 4 (8 accumulators) and leave room for TILE_M = 8 in the
// 32 registers of AVX-512; four were within 5 % (Xeon with AVX-512, PoCL 3.1).
#define VECTORS 2
#define STRIP_N (VECTOR_WIDTH * VECTORS)

#if BLOCK_N % STRIP_N != 0
#error "BLOCK_N must be a multiple of 2 * VECTOR_WIDTH"
#endif
#if BLOCK_M % TILE_M != 0
#error "BLOCK_M must be a multiple of TILE_M"
#endif

#define CONCAT_TOKENS(a, b) a##b
#define CONCAT(a, b) CONCAT_TOKENS(a, b)
typedef CONCAT(float, VECTOR_WIDTH) vec;
#define LOAD(p) CONCAT(vload, VECTOR_WIDTH)(0, (p))
#define STORE(v, p) CONCAT(vstore, VECTOR_WIDTH)((v), 0, (p))

#define PRAGMA_TEXT(text) _Pragma(#text)
#define UNROLL_BY(count) PRAGMA_TEXT(unroll count)

// acc += A[TILE_M rows, steps] * B[steps, STRIP_N]. OpenCL C 1.2 has no generic
// address space, hence one function per place where the strip of B can be.
#define DEFINE_ACCUMULATE(name, space)                                       \
  inline __attribute__((always_inline)) void name(                           \
      vec acc[TILE_M][VECTORS], __global const float* const a_rows[TILE_M],  \
      space const float* b, int b_stride, int steps) {                       \
    UNROLL_BY(UNROLL)                                                        \
    for (int p = 0; p < steps; ++p) {                                        \
      space const float* b_row = b + (size_t)p * b_stride;                   \
      vec b_values[VECTORS];                                                 \
      _Pragma("unroll")                                                      \
      for (int v = 0; v < VECTORS; ++v)                                      \
        b_values[v] = LOAD(b_row + v * VECTOR_WIDTH);                        \
      _Pragma("unroll")                                                      \
      for (int r = 0; r < TILE_M; ++r) {                                     \
        const vec a_value = (vec)(a_rows[r][p]);                             \
        _Pragma("unroll")                                                    \
        for (int v = 0; v < VECTORS; ++v)                                    \
          acc[r][v] += a_value * b_values[v];                                \
      }                                                                      \
    }                                                                        \
  }
DEFINE_ACCUMULATE(accumulate_from_global, __global)
DEFINE_ACCUMULATE(accumulate_from_local, __local)

// Copies `steps` rows of the strip at `b` to `staged`, STRIP_N floats per row; zeros
// take the place of columns from `cols` on.
inline void stage_strip(__local float* staged, __global const float* b,
                        int b_stride, int steps, int cols) {
  for (int p = 0; p < steps; ++p) {
    __global const float* b_row = b + (size_t)p * b_stride;
    __local float* staged_row = staged + p * STRIP_N;
    if (cols >= STRIP_N) {
      for (int v = 0; v < STRIP_N; v += VECTOR_WIDTH)
        STORE(LOAD(b_row + v), staged_row + v);
    } else {
      for (int j = 0; j < STRIP_N; ++j)
        staged_row[j] = j < cols ? b_row[j] : 0.0f;
    }
  }
}

// Adds one row of a register tile to C, or sets it in the first block of k. Stores
// `cols` columns at most.
inline __attribute__((always_inline)) void update_row(
    __global float* c, const vec acc[VECTORS], int cols, bool first) {
  if (cols >= STRIP_N) {
    _Pragma("unroll")
    for (int v = 0; v < VECTORS; ++v) {
      __global float* c_part = c + v * VECTOR_WIDTH;
      STORE(first ? acc[v] : LOAD(c_part) + acc[v], c_part);
    }
  } else {
    float values[STRIP_N];
    for (int v = 0; v < VECTORS; ++v) STORE(acc[v], values + v * VECTOR_WIDTH);
    for (int j = 0; j < cols; ++j) c[j] = first ? values[j] : c[j] + values[j];
  }
}

__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void gemm_f32(__global const float* restrict a,
                       __global const float* restrict b,
                       __global float* restrict c, int m, int n, int k) {
  // The whole block of B, or only the strip that crosses column n.
  __local float staged[BLOCK_K * (STAGE_B ? BLOCK_N : STRIP_N)];

  const int tiles_n = (n + BLOCK_N - 1) / BLOCK_N;
  const int tile = (int)get_group_id(0);
  const int row0 = tile / tiles_n * BLOCK_M;
  const int col0 = tile % tiles_n * BLOCK_N;
  const int rows = min(BLOCK_M, m - row0);
  const int cols = min(BLOCK_N, n - col0);

  for (int k0 = 0; k0 < k; k0 += BLOCK_K) {
    const int steps = min(BLOCK_K, k - k0);
    for (int j = 0; j < cols; j += STRIP_N) {
      const bool in_local = STAGE_B || cols - j < STRIP_N;
      __global const float* b_strip = b + (size_t)k0 * n + col0 + j;
      __local float* staged_strip = staged + (STAGE_B ? j * BLOCK_K : 0);
      if (in_local) stage_strip(staged_strip, b_strip, n, steps, cols - j);

      for (int i = 0; i < rows; i += TILE_M) {
        __global const float* a_rows[TILE_M];
        vec acc[TILE_M][VECTORS];
        _Pragma("unroll")
        for (int r = 0; r < TILE_M; ++r) {
          const int row = row0 + min(i + r, rows - 1);
          a_rows[r] = a + (size_t)row * k + k0;
          for (int v = 0; v < VECTORS; ++v) acc[r][v] = (vec)(0.0f);
        }
        if (in_local)
          accumulate_from_local(acc, a_rows, staged_strip, STRIP_N, steps);
        else
          accumulate_from_global(acc, a_rows, b_strip, n, steps);
        _Pragma("unroll")
        for (int r = 0; r < TILE_M; ++r) {
          if (i + r < rows)
            update_row(c + (size_t)(row0 + i + r) * n + col0 + j, acc[r],
                       cols - j, k0 == 0);
        }
      }
    }
  }
}
