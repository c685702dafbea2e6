// gemm_bf16 on sm_90a: TMA loads into a ring of stages, wgmma from shared
// memory.
//
// The product is computed transposed: the weights (B) are wgmma's 64-row
// operand and the tokens (A) its columns, which can be as few as 16. So a
// decode step wastes little, and a tile's height BLOCK_M can follow the number
// of tokens in steps of 16.
//
// Warpgroup 0 produces: one thread keeps the ring of STAGES stages full. The
// others consume: each multiplies its 64 * kBlocks rows of weights with all
// tokens of the tile; with PINGPONG each has tiles of its own, and one stores
// while the other multiplies. A block works through its tiles, however many
// blocks are launched: with fewer blocks than tiles the ring runs ahead into
// the next tile while this one is stored.
//
// A cluster is either
//   CLUSTER_M x CLUSTER_N tiles: blocks in the same row of tiles load a part of
//   the
//     tokens each and multicast it, likewise the weights for the same column;
//     or
//   SPLIT_K blocks that divide the k of one tile: each sends its partial sums
//   to the
//     blocks that add them up and store them, through distributed shared
//     memory. The order of the additions is fixed, so results are reproducible.
//
// Warp specialisation with register reallocation: FlashAttention-3 (arXiv
// 2407.08608), section 3.1. Instructions: PTX ISA, "wgmma",
// "cp.async.bulk.tensor", "mbarrier".
#ifndef GEMM_BF16_HOPPER_CUH_
#define GEMM_BF16_HOPPER_CUH_

#include "tiles.cuh"
#include "wgmma.cuh"

namespace hopper {

// Consumers that share a tile, and blocks of 64 rows of weights for each.
constexpr int kTileConsumers = PINGPONG ? 1 : CONSUMERS;
constexpr int kBlocks = BLOCK_N / (64 * kTileConsumers);
constexpr int kCluster = CLUSTER_M * CLUSTER_N;
// A slab is 64 elements of k: 128 bytes, the span of the swizzle.
constexpr int kSlabs = BLOCK_K / 64;
constexpr u32 kWeightSlab = BLOCK_N * 128;
constexpr u32 kTokenSlab = BLOCK_M * 128;
constexpr u32 kStageBytes = kSlabs * (kWeightSlab + kTokenSlab);
// Rows that one TMA store moves; the tensor map's box is 64 columns by as many.
constexpr int kBoxRows = 16;
// Rows that a warpgroup stages at once on their way to C, in one of two
// buffers.
constexpr int kStoreRows = BLOCK_M < 32 ? BLOCK_M : 32;
constexpr u32 kStoreBuffer = 32 * 128;
constexpr u32 kStagingBytes = 2 * kStoreBuffer * CONSUMERS;
// With large accumulators the producer gives its registers to the consumers.
// The counts below add up to what the launch bounds leave: setmaxnreg waits for
// ever for more.
constexpr bool kMoveRegisters = CONSUMERS > 1 && kBlocks* BLOCK_M >= 192;

// Split-K: the columns of a tile whose partial sums one block of the cluster
// adds up, in groups of eight (the last blocks may have fewer or none). A
// column holds BLOCK_M sums; its pitch spreads the eight columns that a warp
// writes over all banks. Where the sums do not fit into the staging buffers
// they take the place of the stages, once all blocks have left their main
// loops.
constexpr int kOwnEights = (BLOCK_N / 8 + SPLIT_K - 1) / SPLIT_K;
constexpr int kPartialPitch = BLOCK_M + 8;
constexpr int kPartialBytes = 4 * kOwnEights * 8 * SPLIT_K * kPartialPitch;
constexpr bool kPartialsInStages = kPartialBytes > kStagingBytes;

static_assert(BLOCK_N % (64 * kTileConsumers) == 0,
              "64 rows of weights per wgmma");
static_assert(BLOCK_M % 16 == 0 && BLOCK_M <= 256, "columns of one wgmma");
static_assert(kBlocks * BLOCK_M <= 256, "128 accumulators per thread");
static_assert(BLOCK_K % 64 == 0, "whole slabs");
static_assert(STAGES >= 2, "a stage is given back one iteration later");
static_assert(BLOCK_M % (8 * CLUSTER_N) == 0, "whole swizzle atoms per block");
static_assert(SPLIT_K == 1 || kCluster == 1, "one use of the cluster");
static_assert(SPLIT_K == 1 || !PINGPONG, "a split tile is a block's only one");
static_assert(SPLIT_K == 1 || !kPartialsInStages ||
                  kPartialBytes <= STAGES * kStageBytes,
              "room for partial sums");

// Shared memory, as offsets from a 1024-byte boundary: stages (slabs of
// weights, slabs of tokens), staging, barriers.
struct Shared {
  u32 base;
  DEVICE u32 weights(int stage, int slab) const {
    return base + stage * kStageBytes + slab * kWeightSlab;
  }
  DEVICE u32 tokens(int stage, int slab) const {
    return base + stage * kStageBytes + kSlabs * kWeightSlab +
           slab * kTokenSlab;
  }
  DEVICE u32 staging() const { return base + STAGES * kStageBytes; }
  DEVICE u32 partials() const { return kPartialsInStages ? base : staging(); }
  DEVICE u32 barriers() const { return staging() + kStagingBytes; }
  DEVICE u32 full(int stage) const { return barriers() + 8 * stage; }
  DEVICE u32 empty(int stage) const {
    return barriers() + 8 * (STAGES + stage);
  }
  DEVICE u32 partials_arrived() const { return barriers() + 16 * STAGES; }
  DEVICE u32 turn(int consumer) const {
    return barriers() + 16 * STAGES + 8 + 8 * consumer;
  }
};

// The position in the ring: a stage, and the parity of the pass through the
// ring.
struct RingPosition {
  int stage = 0;
  u32 parity = 0;
  DEVICE void advance() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  DEVICE void skip(int count) {
    parity ^= (stage + count) / STAGES & 1;
    stage = (stage + count) % STAGES;
  }
};

// What this block computes: tiles `first`, `first + step`, ..., and for each
// the iterations [k_begin, k_end).
struct Work {
  int first, step, tiles;
  int cluster_rows, cluster_cols;  // tiles of C, in clusters
  int in_row, in_col;              // this block's place in its cluster of tiles
  int k_begin, k_end;
  int lowest_row;  // where the last row of tiles begins

  DEVICE Work(int m, int n, int k, int rank) {
    const int cluster_size = kCluster * SPLIT_K;
    first = blockIdx.x / cluster_size;
    step = gridDim.x / cluster_size;
    cluster_rows = ceil_div(m, BLOCK_M * CLUSTER_M);
    cluster_cols = ceil_div(n, BLOCK_N * CLUSTER_N);
    tiles = cluster_rows * cluster_cols;
    in_row = SPLIT_K > 1 ? 0 : rank % CLUSTER_M;
    in_col = SPLIT_K > 1 ? 0 : rank / CLUSTER_M;
    // Rows outside of A make a copy slow: 96 rows of which 76 lie outside take
    // 1.6 times as long as 96 inside (H200). So the last row of tiles is moved up
    // until it lies inside, where A is as high as a tile: some rows are then
    // computed twice, with the same bits.
    lowest_row = m > BLOCK_M ? m - BLOCK_M : 0;
    const int k_blocks = ceil_div(k, BLOCK_K);
    k_begin = SPLIT_K > 1 ? rank * k_blocks / SPLIT_K : 0;
    k_end = SPLIT_K > 1 ? (rank + 1) * k_blocks / SPLIT_K : k_blocks;
  }
  // First row and column of C.
  DEVICE TilePosition origin(int tile) const {
    const TilePosition at = tile_position(tile, cluster_rows, cluster_cols);
    return {minimum((at.row * CLUSTER_M + in_row) * BLOCK_M, lowest_row),
            (at.col * CLUSTER_N + in_col) * BLOCK_N};
  }
};

DEVICE void produce(const Shared& shared, const Work& work,
                    const TensorMap* map_a, const TensorMap* map_b) {
  // This block's parts, and the blocks that want them.
  constexpr int kTokenPart = BLOCK_M / CLUSTER_N;
  constexpr int kWeightPart = BLOCK_N / CLUSTER_M;
  u32 same_row = 0, same_col = 0;
  for (int i = 0; i < CLUSTER_N; ++i)
    same_row |= 1u << (i * CLUSTER_M + work.in_row);
  for (int i = 0; i < CLUSTER_M; ++i)
    same_col |= 1u << (work.in_col * CLUSTER_M + i);

  // Faster than no policy by 1 to 3 %, for one row of tiles as for many. An
  // explicit evict_normal is slower than none, by a quarter and more (H200,
  // driver 580.159.04).
  const u64 policy = evict_first_policy();
  RingPosition at;
  for (int tile = work.first; tile < work.tiles; tile += work.step) {
    const TilePosition origin = work.origin(tile);
    for (int i = work.k_begin; i < work.k_end; ++i) {
      mbarrier_wait(shared.empty(at.stage), at.parity ^ 1);
      const u32 full = shared.full(at.stage);
      mbarrier_arrive_expect(full, kStageBytes);
#pragma unroll
      for (int slab = 0; slab < kSlabs; ++slab) {
        const int x = i * BLOCK_K + slab * 64;
        const u32 weights =
            shared.weights(at.stage, slab) + work.in_row * kWeightPart * 128;
        const u32 tokens =
            shared.tokens(at.stage, slab) + work.in_col * kTokenPart * 128;
        const int weight_row = origin.col + work.in_row * kWeightPart;
        const int token_row = origin.row + work.in_col * kTokenPart;
        if (CLUSTER_M > 1)
          tma_load_multicast(weights, map_b, full, x, weight_row, policy,
                             same_col);
        else
          tma_load(weights, map_b, full, x, weight_row, policy);
        if (CLUSTER_N > 1)
          tma_load_multicast(tokens, map_a, full, x, token_row, policy,
                             same_row);
        else
          tma_load(tokens, map_a, full, x, token_row, policy);
      }
      at.advance();
    }
  }
}

// Blocks that write into this one's stages wait until its consumers have read
// them: the blocks in the same column of the cluster (this one too) and in the
// same row. Returns which of them this thread tells, -1 if none.
DEVICE int release_target(const Work& work) {
  const int thread = threadIdx.x % 128;
  if (thread < CLUSTER_M) return work.in_col * CLUSTER_M + thread;
  if (thread >= CLUSTER_M + CLUSTER_N - 1) return -1;
  const int other = thread - CLUSTER_M;
  return (other < work.in_col ? other : other + 1) * CLUSTER_M + work.in_row;
}

DEVICE void release(u32 empty, int target) {
  if (target < 0) return;
  if (kCluster == 1)
    mbarrier_arrive(empty);
  else
    mbarrier_arrive_remote(map_to_rank(empty, target));
}

using Accumulators = float[kBlocks][BLOCK_M / 2];

DEVICE void multiply_stage(const Shared& shared, int stage, int first_row,
                           Accumulators& sums) {
  wgmma_fence();
#pragma unroll
  for (int slab = 0; slab < kSlabs; ++slab) {
    const u64 weights =
        wgmma_descriptor(shared.weights(stage, slab) + first_row * 128);
    const u64 tokens = wgmma_descriptor(shared.tokens(stage, slab));
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block)
        wgmma(sums[block], weights + (block * 64 * 128 + step * 32) / 16,
              tokens + step * 32 / 16);
    }
  }
  wgmma_commit();
}

// Rounds to bf16 and stores through the copy engine, which clips at the edges
// of C.
DEVICE void store_tile(const Shared& shared, int consumer, int row, int col,
                       const Accumulators& sums, const TensorMap* map_c) {
  const int warp = threadIdx.x / 32 % 4;
  const int lane = threadIdx.x % 32;
  const bool leader = threadIdx.x % 128 == 0;
  const u32 buffers = shared.staging() + consumer * 2 * kStoreBuffer;
  // This lane's row address for stmatrix: rows are tokens, 16-byte chunks are
  // eight columns, swizzled as the tensor map says.
  const int token = lane % 8 + lane / 16 * 8;
  const int chunk = (warp * 2 + lane / 8 % 2) ^ (lane % 8);
  const u32 lane_offset = token * 128 + chunk * 16;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int next = 0; next < BLOCK_M; next += kStoreRows) {
      // The last part may overlap the one before it: it stores the same values
      // again.
      const int first =
          next + kStoreRows <= BLOCK_M ? next : BLOCK_M - kStoreRows;
      const int count =
          block * ((BLOCK_M + kStoreRows - 1) / kStoreRows) + next / kStoreRows;
      const u32 buffer = buffers + count % 2 * kStoreBuffer;
      // The other buffer may still be on its way, this one not.
      if (leader) tma_store_wait_read<1>();
      warpgroup_barrier(1 + consumer);
#pragma unroll
      for (int i = 0; i < kStoreRows; i += 16) {
        const float* d = &sums[block][(first + i) / 2];
        store_matrices_transposed(buffer + i * 128 + lane_offset,
                                  pack_bf16(d[0], d[1]), pack_bf16(d[2], d[3]),
                                  pack_bf16(d[4], d[5]), pack_bf16(d[6], d[7]));
      }
      async_proxy_fence();
      warpgroup_barrier(1 + consumer);
      if (leader) {
#pragma unroll
        for (int i = 0; i < kStoreRows; i += kBoxRows)
          tma_store(map_c, buffer + i * 128, col + block * 64, row + first + i);
        tma_store_commit();
      }
    }
  }
}

// Groups of eight columns that this block adds up.
DEVICE int own_eights(int rank) {
  const int left = BLOCK_N / 8 - rank * kOwnEights;
  return left < 0 ? 0 : minimum(left, kOwnEights);
}

// Split-K: sends each block of the cluster its columns of the partial sums,
// then adds up and stores this block's own columns. Sums are laid out
// [sender][column][row].
DEVICE void reduce_and_store(const Shared& shared, int consumer, int rank,
                             int row, int col, const Accumulators& sums, u16* c,
                             int m, int n) {
  const int warp = threadIdx.x / 32 % 4;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int eight = (consumer * kBlocks + block) * 8 + warp * 2 + half;
      const int owner = eight / kOwnEights;
      const int column =
          (rank * kOwnEights + eight % kOwnEights) * 8 + lane / 4;
      const u32 target = map_to_rank(
          shared.partials() + (column * kPartialPitch + lane % 4 * 2) * 4,
          owner);
      const u32 barrier = map_to_rank(shared.partials_arrived(), owner);
#pragma unroll
      for (int j = 0; j < BLOCK_M / 8; ++j)
        store_async_remote(target + j * 32, sums[block][4 * j + 2 * half],
                           sums[block][4 * j + 2 * half + 1], barrier);
    }
  }
  mbarrier_wait_cluster(shared.partials_arrived(), 0);

  for (int i = threadIdx.x - 128; i < own_eights(rank) * BLOCK_M;
       i += CONSUMERS * 128) {
    const int token = i % BLOCK_M;
    const int eight = i / BLOCK_M;
    const int out_row = row + token;
    const int out_col = col + (rank * kOwnEights + eight) * 8;
    if (out_row >= m || out_col >= n) continue;
    float total[8] = {};
#pragma unroll
    for (int from = 0; from < SPLIT_K; ++from) {
      const int column = (from * kOwnEights + eight) * 8;
#pragma unroll
      for (int j = 0; j < 8; ++j)
        total[j] += load_shared(shared.partials() +
                                ((column + j) * kPartialPitch + token) * 4);
    }
    *reinterpret_cast<uint4*>(c + static_cast<u64>(out_row) * n + out_col) =
        make_uint4(pack_bf16(total[0], total[1]), pack_bf16(total[2], total[3]),
                   pack_bf16(total[4], total[5]),
                   pack_bf16(total[6], total[7]));
  }
}

// Split-K: every block of the cluster can receive partial sums.
DEVICE void wait_for_cluster() {
  cluster_wait();  // all have set up their barriers
  if (kPartialsInStages) {
    cluster_arrive();
    cluster_wait();  // all have left their main loops
  }
}

DEVICE void consume(const Shared& shared, const Work& work, int rank,
                    const TensorMap* map_c, u16* c, int m, int n) {
  const int consumer = threadIdx.x / 128 - 1;
  const int first_row = PINGPONG ? 0 : consumer * kBlocks * 64;
  const int target = release_target(work);
  // Ping-pong: every CONSUMERS-th tile is this warpgroup's, and what the others
  // consume lies between in the ring. A parity tells only adjacent passes
  // through the ring apart, so a warpgroup does not look at the ring before its
  // turn. The first turn needs no waiting.
  const int turn = PINGPONG ? consumer : 0;
  const int turns = PINGPONG ? CONSUMERS : 1;
  u32 turn_parity = turn == 0 ? 1 : 0;
  const int iterations = work.k_end - work.k_begin;
  RingPosition at;
  at.skip(turn * iterations);
  for (int tile = work.first + turn * work.step; tile < work.tiles;
       tile += turns * work.step) {
    Accumulators sums;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < BLOCK_M / 2; ++i) sums[block][i] = 0.0f;
    }
    if (PINGPONG) mbarrier_wait(shared.turn(turn), turn_parity);
    turn_parity ^= 1;
    int previous = -1;
    for (int i = work.k_begin; i < work.k_end; ++i) {
      mbarrier_wait(shared.full(at.stage), at.parity);
      multiply_stage(shared, at.stage, first_row, sums);
      // One stage multiplies while the one before it is given back.
      wgmma_wait<1>();
      if (previous >= 0) release(shared.empty(previous), target);
      previous = at.stage;
      at.advance();
    }
    if (PINGPONG && threadIdx.x % 128 == 0)
      mbarrier_arrive(shared.turn((turn + 1) % turns));
    wgmma_wait<0>();
    if (previous >= 0) release(shared.empty(previous), target);

    const TilePosition origin = work.origin(tile);
    if (SPLIT_K > 1) {
      wait_for_cluster();
      reduce_and_store(shared, consumer, rank, origin.row, origin.col, sums, c,
                       m, n);
    } else {
      store_tile(shared, consumer, origin.row, origin.col + first_row, sums,
                 map_c);
    }
    at.skip((turns - 1) * iterations);
  }
}

DEVICE void gemm(const TensorMap& map_a, const TensorMap& map_b,
                 const TensorMap& map_c, u16* c, int m, int n, int k) {
  extern __shared__ unsigned char dynamic_shared[];
  const Shared shared{(shared_address(dynamic_shared) + 1023) & ~1023u};
  const int rank = kCluster * SPLIT_K > 1 ? cluster_rank() : 0;
  const Work work(m, n, k, rank);

  if (threadIdx.x == 0) {
    tma_prefetch_map(&map_a);
    tma_prefetch_map(&map_b);
    tma_prefetch_map(&map_c);
    for (int i = 0; i < STAGES; ++i) {
      mbarrier_init(shared.full(i), 1);
      mbarrier_init(shared.empty(i),
                    kTileConsumers * (CLUSTER_M + CLUSTER_N - 1));
    }
    mbarrier_init(shared.partials_arrived(), 1);
    for (int i = 0; i < CONSUMERS; ++i) mbarrier_init(shared.turn(i), 1);
    mbarrier_init_fence();
    if (SPLIT_K > 1)
      mbarrier_arrive_expect(shared.partials_arrived(),
                             own_eights(rank) * 8 * SPLIT_K * BLOCK_M * 4);
  }
  __syncthreads();
  if (kCluster * SPLIT_K > 1) cluster_arrive();
  if (kCluster > 1) cluster_wait();

  if (threadIdx.x < 128) {
    if (kMoveRegisters) decrease_registers<(CONSUMERS == 2 ? 40 : 32)>();
    if (threadIdx.x == 0) produce(shared, work, &map_a, &map_b);
    __syncwarp();
    if (SPLIT_K > 1) wait_for_cluster();
  } else {
    if (kMoveRegisters) increase_registers<(CONSUMERS == 2 ? 232 : 160)>();
    consume(shared, work, rank, &map_c, c, m, n);
  }
  if (threadIdx.x % 128 == 0) tma_store_wait_read<0>();
  __syncwarp();
  if (kCluster > 1) {
    // Others may still give stages back to this block's producer.
    cluster_arrive();
    cluster_wait();
  }
}

}  // namespace hopper

#endif  // GEMM_BF16_HOPPER_CUH_
