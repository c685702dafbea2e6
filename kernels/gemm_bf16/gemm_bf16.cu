// gemm_bf16: C[m,n] = A[m,k] * B[n,k]^T, bf16 with sums in fp32, all row major.
// B is a linear layer's weight.
//
// Parameters, all of them macros:
//   HOPPER        1: TMA and wgmma (sm_90a, hopper.cuh); 0: cp.async and
//   mma.sync
//                 (sm_80 and newer, portable.cuh)
//   VECTOR        elements per copy from global memory: 8 needs n and k to be
//   multiples
//                 of 8 (16-byte rows); 1 (portable only) is legal for every
//                 problem
//   BLOCK_M/N/K   tile of C, and step along k
//   STAGES        depth of the ring of tiles in shared memory
//   CONSUMERS     groups of 128 threads that multiply; on the Hopper path one
//   more loads PINGPONG      1: each consumer works on a tile of its own, in
//   turns (Hopper) SPLIT_K       blocks that share the k of a tile, as a
//   cluster (Hopper) CLUSTER_M/N   tiles whose blocks form a cluster and share
//   loads (Hopper) RESIDENT      blocks per multiprocessor that registers must
//   leave room for
//
// Launch: 128 * (CONSUMERS + HOPPER) threads, dynamic shared memory of
//   2048 + 2 * BLOCK_K * STAGES * (BLOCK_M + BLOCK_N) + 8192 * CONSUMERS *
//   HOPPER bytes,
// clusters of CLUSTER_M * CLUSTER_N * SPLIT_K blocks. Blocks: one per tile and
// split; with HOPPER = 1 and SPLIT_K = 1 any smaller multiple of the cluster
// will do, and as many as are resident at once is best.
//
// Tensor maps (HOPPER = 1; not read otherwise), bf16, 128-byte swizzle, zeros
// outside:
//   map_a: A, box of 64 along k by BLOCK_M / CLUSTER_N rows
//   map_b: B, box of 64 along k by BLOCK_N / CLUSTER_M rows
//   map_c: C, box of 64 along n by 16 rows
#if HOPPER
#include "hopper.cuh"
#else
#include "portable.cuh"
// Filled in by the host for the Hopper path only.
struct alignas(64) TensorMap {
  u64 opaque[16];
};
#endif

extern "C" __global__ void __launch_bounds__(128 * (CONSUMERS + HOPPER),
                                             RESIDENT)
    gemm_bf16(const __grid_constant__ TensorMap map_a,
              const __grid_constant__ TensorMap map_b,
              const __grid_constant__ TensorMap map_c,
              const u16* __restrict__ a, const u16* __restrict__ b,
              u16* __restrict__ c, int m, int n, int k) {
#if !HOPPER
  portable::gemm(a, b, c, m, n, k);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  hopper::gemm(map_a, map_b, map_c, c, m, n, k);
#else
#error "HOPPER=1 needs sm_90a; choose HOPPER=0"
#endif
}
