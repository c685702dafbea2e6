// gemm_f32: C[m,n] = A[m,k] * B[k,n] in float32, all three dense and row major.
//
// A tunable kernel for OpenCL devices that are CPUs (written for PoCL). One work
// item computes one whole tile of C with vector types; parallelism comes from the
// tiles. The grid is linear: ceil(m / BLOCK_M) * ceil(n / BLOCK_N) work groups of
// one work item, numbered down a column first: neighbours share a panel of B in
// cache. Any m, n, k from 1 to 2^30 is correct.
//
//   for each block of BLOCK_K steps of k
//     for each strip of STRIP_N columns        rows of B are prefetched
//       acc[BLOCK_M][VECTORS] += A * B         one broadcast of A per row and step
//       C += acc                               the first block of k overwrites C
//
// Macro parameters (change the grid or the loop count):
//   BLOCK_M       rows of C per work group, accumulated together in registers
//   BLOCK_N       columns of C per work group; a multiple of STRIP_N
//   BLOCK_K       steps of k between two passes over the tile of C: few touch few
//                 pages of B at a time, many update C less often
// Micro parameters:
//   VECTOR_WIDTH  floats per vector: 2, 4, 8 or 16
//   VECTORS       vectors side by side in the registers; STRIP_N = VECTORS *
//                 VECTOR_WIDTH. More hide the latency of the fused multiply-add
//                 and use a row of A longer, too many spill
//   UNROLL        steps of k unrolled in the innermost loop; more than 1 pays only
//                 where a step does little, and costs build time
//
// Edges: the last rows of C are filled up by repeating the last one and only real
// ones are stored, so a tile takes the same time however it is filled. Columns are
// done in whole strips: a strip that crosses n is staged in local memory with zeros
// behind column n, and only real columns are stored.
//
// Ideas: blocking for caches and registers after K. Goto and R. van de Geijn,
// "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
// Deviations: nothing is packed (decode has few rows), and the tile of C is one
// register tile high, so that work follows the number of tiles.

#define STRIP_N (VECTOR_WIDTH * VECTORS)

#if BLOCK_N % STRIP_N != 0
#error "BLOCK_N must be a multiple of VECTORS * VECTOR_WIDTH"
#endif

#define CONCAT_TOKENS(a, b) a##b
#define CONCAT(a, b) CONCAT_TOKENS(a, b)
typedef CONCAT(float, VECTOR_WIDTH) vec;
#define LOAD(p) CONCAT(vload, VECTOR_WIDTH)(0, (p))
#define STORE(v, p) CONCAT(vstore, VECTOR_WIDTH)((v), 0, (p))

#define PRAGMA_TEXT(text) _Pragma(#text)
#define UNROLL_BY(count) PRAGMA_TEXT(unroll count)

// Asks for a row of the strip of B ahead of its use. The cores' own prefetchers
// lose its rows, which lie n floats apart: without this they came at half the
// speed of memory, and n decided the time as much as (G, L) did. 16 rows ahead
// was best of 4, 8, 16 and 32 (Xeon with AVX-512, PoCL 3.1: 1.2-1.6 times as
// fast where B is cold).
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
inline void prefetch_nothing(__local const float* row) {}

// acc += A[BLOCK_M rows, steps] * B[steps, STRIP_N]. OpenCL C 1.2 has no generic
// address space, hence one function per place where the strip of B can be.
#define DEFINE_ACCUMULATE(name, space, prefetch_ahead)                       \
  inline __attribute__((always_inline)) void name(                           \
      vec acc[BLOCK_M][VECTORS],                                             \
      __global const float* const a_rows[BLOCK_M],                           \
      space const float* b, int b_stride, int steps) {                       \
    UNROLL_BY(UNROLL)                                                        \
    for (int p = 0; p < steps; ++p) {                                        \
      space const float* b_row = b + (size_t)p * b_stride;                   \
      vec b_values[VECTORS];                                                 \
      _Pragma("unroll")                                                      \
      for (int v = 0; v < VECTORS; ++v)                                      \
        b_values[v] = LOAD(b_row + v * VECTOR_WIDTH);                        \
      prefetch_ahead(b_row + (size_t)PREFETCH_STEPS * b_stride);             \
      _Pragma("unroll")                                                      \
      for (int r = 0; r < BLOCK_M; ++r) {                                    \
        const vec a_value = (vec)(a_rows[r][p]);                             \
        _Pragma("unroll")                                                    \
        for (int v = 0; v < VECTORS; ++v)                                    \
          acc[r][v] += a_value * b_values[v];                                \
      }                                                                      \
    }                                                                        \
  }
DEFINE_ACCUMULATE(accumulate_from_global, __global, prefetch_row)
DEFINE_ACCUMULATE(accumulate_from_local, __local, prefetch_nothing)

// Copies `steps` rows of the strip at `b` to `staged`, STRIP_N floats per row; zeros
// take the place of columns from `cols` on.
inline void stage_strip(__local float* staged, __global const float* b,
                        int b_stride, int steps, int cols) {
  for (int p = 0; p < steps; ++p) {
    __global const float* b_row = b + (size_t)p * b_stride;
    __local float* staged_row = staged + p * STRIP_N;
    for (int j = 0; j < STRIP_N; ++j)
      staged_row[j] = j < cols ? b_row[j] : 0.0f;
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
  __local float staged[BLOCK_K * STRIP_N];  // The strip that crosses column n.

  const int tiles_m = (m + BLOCK_M - 1) / BLOCK_M;
  const size_t tile = get_group_id(0);
  const int row0 = (int)(tile % tiles_m) * BLOCK_M;
  const int col0 = (int)(tile / tiles_m) * BLOCK_N;
  const int rows = min(BLOCK_M, m - row0);
  const int cols = min(BLOCK_N, n - col0);

  for (int k0 = 0; k0 < k; k0 += BLOCK_K) {
    const int steps = min(BLOCK_K, k - k0);
    __global const float* a_rows[BLOCK_M];
    _Pragma("unroll")
    for (int r = 0; r < BLOCK_M; ++r)
      a_rows[r] = a + (size_t)(row0 + min(r, rows - 1)) * k + k0;

    for (int j = 0; j < cols; j += STRIP_N) {
      __global const float* b_strip = b + (size_t)k0 * n + col0 + j;
      vec acc[BLOCK_M][VECTORS];
      _Pragma("unroll")
      for (int r = 0; r < BLOCK_M; ++r)
        for (int v = 0; v < VECTORS; ++v) acc[r][v] = (vec)(0.0f);
      if (cols - j < STRIP_N) {
        stage_strip(staged, b_strip, n, steps, cols - j);
        accumulate_from_local(acc, a_rows, staged, STRIP_N, steps);
      } else {
        accumulate_from_global(acc, a_rows, b_strip, n, steps);
      }
      _Pragma("unroll")
      for (int r = 0; r < BLOCK_M; ++r) {
        if (r < rows)
          update_row(c + (size_t)(row0 + r) * n + col0 + j, acc[r], cols - j,
                     k0 == 0);
      }
    }
  }
}
