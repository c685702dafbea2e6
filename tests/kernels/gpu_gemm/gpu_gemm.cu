// gpu_gemm: C[m,n] = A[m,k] * B[n,k]^T, bf16 with sums in float, row major. B is a
// linear layer's weight. Devices of compute capability 8.0 and newer.
//
// A block computes a tile of BLOCK_M rows and BLOCK_N columns of C; blocks are
// numbered down a column first, so that neighbours share a panel of B. Tiles of A
// and B, BLOCK_K deep, lie in a ring of num_stages in shared memory: while one is
// multiplied, those after it are copied (cp.async). Warps divide the tile, and
// multiply 16 x 8 x 16 elements at once (mma.sync).
//
// Launch: 32 * num_warps threads, a block for each tile, and
// 2 * num_stages * (BLOCK_K + 8) * (BLOCK_M + BLOCK_N) bytes of shared memory.
//
// Macro parameters (change the grid or the loop count): BLOCK_M, BLOCK_N, BLOCK_K
// Micro parameters:
//   num_warps   warps per block
//   num_stages  depth of the ring
//
// Edges: rows of A and B that are not there, and k beyond its end, are zeros in
// shared memory; of C only what is there is stored. k is a multiple of 8.
#include <cuda_bf16.h>

constexpr int kThreads = 32 * num_warps;
// Elements from row to row in shared memory. Without the 8 more, the rows of a
// fragment would lie in the same banks.
constexpr int kPitch = BLOCK_K + 8;
constexpr int kStage = kPitch * (BLOCK_M + BLOCK_N);
// How warps divide the tile, and what each has of it: blocks of 16 x 8.
constexpr int kWarpsM = BLOCK_M >= 32 ? 2 : 1;
constexpr int kWarpsN = num_warps / kWarpsM;
constexpr int kBlocksM = BLOCK_M / kWarpsM / 16;
constexpr int kBlocksN = BLOCK_N / kWarpsN / 8;

// Copies 16 bytes to shared memory, or zeros where they are not `inside`.
__device__ void copy_16(__nv_bfloat16* to, const __nv_bfloat16* from,
                        bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(inside ? 16 : 0)
               : "memory");
}
__device__ void end_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most `pending` of this thread's last groups are under way.
template <int pending>
__device__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Copies BLOCK_K columns from `k0` on of `height` rows from `row0` on.
__device__ void copy_tile(__nv_bfloat16* to, const __nv_bfloat16* from,
                          int height, int row0, int rows, int k0, int k) {
  constexpr int kChunks = BLOCK_K / 8;
  for (int i = threadIdx.x; i < height * kChunks; i += kThreads) {
    const int row = i / kChunks;
    const int column = i % kChunks * 8;
    const bool inside = row0 + row < rows && k0 + column < k;
    const size_t at = static_cast<size_t>(row0 + row) * k + k0 + column;
    copy_16(to + row * kPitch + column, inside ? from + at : from, inside);
  }
}

// d[16 x 8] += a[16 x 16] * b[8 x 16]^T.
__device__ void multiply(float (&d)[4], const unsigned (&a)[4],
                         const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Two neighbouring elements, as mma takes them.
__device__ unsigned pair(const __nv_bfloat16* at) {
  return *reinterpret_cast<const unsigned*>(at);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gpu_gemm(const __nv_bfloat16* __restrict__ a,
             const __nv_bfloat16* __restrict__ b, __nv_bfloat16* __restrict__ c,
             int m, int n, int k) {
  extern __shared__ __align__(16) __nv_bfloat16 ring[];
  const int tiles_m = (m + BLOCK_M - 1) / BLOCK_M;
  const int row0 = blockIdx.x % tiles_m * BLOCK_M;
  const int column0 = blockIdx.x / tiles_m * BLOCK_N;
  const int steps = (k + BLOCK_K - 1) / BLOCK_K;

  // An empty group where there is no such step, so that groups count steps.
  const auto copy_step = [&](int step) {
    __nv_bfloat16* const stage = ring + step % num_stages * kStage;
    if (step < steps) {
      copy_tile(stage, a, BLOCK_M, row0, m, step * BLOCK_K, k);
      copy_tile(stage + BLOCK_M * kPitch, b, BLOCK_N, column0, n,
                step * BLOCK_K, k);
    }
    end_group();
  };
  for (int step = 0; step < num_stages - 1; ++step) copy_step(step);

  const int warp = threadIdx.x / 32;
  // Where this warp's part of the tile begins, and a thread's part of a fragment.
  const int warp_row = warp % kWarpsM * kBlocksM * 16;
  const int warp_column = warp / kWarpsM * kBlocksN * 8;
  const int line = threadIdx.x % 32 / 4;
  const int place = threadIdx.x % 4 * 2;
  float sums[kBlocksM][kBlocksN][4] = {};
  for (int step = 0; step < steps; ++step) {
    wait_for_groups<num_stages - 2>();
    // This step's tiles are there for all, and the ones before are used up.
    __syncthreads();
    copy_step(step + num_stages - 1);
    const __nv_bfloat16* const tile_a =
        ring + step % num_stages * kStage + (warp_row + line) * kPitch + place;
    const __nv_bfloat16* const tile_b =
        ring + step % num_stages * kStage +
        (BLOCK_M + warp_column + line) * kPitch + place;
#pragma unroll
    for (int p = 0; p < BLOCK_K; p += 16) {
      unsigned part_b[kBlocksN][2];
#pragma unroll
      for (int j = 0; j < kBlocksN; ++j) {
        part_b[j][0] = pair(tile_b + j * 8 * kPitch + p);
        part_b[j][1] = pair(tile_b + j * 8 * kPitch + p + 8);
      }
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i) {
        const __nv_bfloat16* const at = tile_a + i * 16 * kPitch + p;
        const unsigned part_a[4] = {pair(at), pair(at + 8 * kPitch),
                                    pair(at + 8), pair(at + 8 * kPitch + 8)};
#pragma unroll
        for (int j = 0; j < kBlocksN; ++j)
          multiply(sums[i][j], part_a, part_b[j]);
      }
    }
  }

#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = row0 + warp_row + i * 16 + e / 2 * 8 + line;
        const int column = column0 + warp_column + j * 8 + place + e % 2;
        if (row < m && column < n)
          c[static_cast<size_t>(row) * n + column] =
              __float2bfloat16(sums[i][j][e]);
      }
    }
  }
}
