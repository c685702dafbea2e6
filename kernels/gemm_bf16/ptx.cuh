// Thin wrappers around the PTX instructions that gemm_bf16 uses, one per
// function, named after what they do. Semantics: PTX ISA, chapter 9
// "Instruction Set".
//
// No headers: NVRTC compiles them in milliseconds, header-heavy templates take
// seconds.
#ifndef GEMM_BF16_PTX_CUH_
#define GEMM_BF16_PTX_CUH_

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

#define DEVICE __device__ __forceinline__

// ---- Everywhere ------------------------------------------------------------

DEVICE u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// Two floats rounded to bf16; `low` goes to the lower half.
DEVICE u32 pack_bf16(float low, float high) {
  u32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

DEVICE float load_shared(u32 shared) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];"
               : "=f"(value)
               : "r"(shared)
               : "memory");
  return value;
}

// ---- sm_80 and newer: asynchronous copies, ldmatrix, mma -------------------

// Copies 16 bytes to shared memory; writes zeros instead where !valid.
DEVICE void copy_async_16(u32 shared, const void* global, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared),
               "l"(global), "r"(valid ? 16 : 0)
               : "memory");
}
DEVICE void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most `pending` of the latest groups are under way.
template <int pending>
DEVICE void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Four 8x8 matrices of 16-bit elements; lane i gives the address of row i % 8
// of matrix i / 8.
DEVICE void load_matrices(u32 (&fragment)[4], u32 shared) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]),
        "=r"(fragment[3])
      : "r"(shared)
      : "memory");
}

// d[16x8] += a[16x16] * b[8x16]^T.
DEVICE void mma_16x8x16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#if HOPPER

// ---- sm_90: clusters -------------------------------------------------------

DEVICE u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Whole warps arrive and wait together. Relaxed: an ordered arrival costs a
// device-wide fence, and what blocks tell each other here goes through
// mbarriers.
DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// The address in block `rank` of the cluster that corresponds to `shared` here.
DEVICE u32 map_to_rank(u32 shared, u32 rank) {
  u32 mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(mapped)
               : "r"(shared), "r"(rank));
  return mapped;
}

// ---- sm_90: mbarriers ------------------------------------------------------

DEVICE void mbarrier_init(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier),
               "r"(arrivals)
               : "memory");
}
// Makes initialised barriers visible to the copy engine and to the cluster.
DEVICE void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Arrives, and makes the phase wait for `bytes` more of asynchronous writes.
DEVICE void mbarrier_arrive_expect(u32 barrier, u32 bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
      "r"(bytes)
      : "memory");
}
DEVICE void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
// `barrier` is an address from map_to_rank. Orders no ordinary accesses in the
// cluster: what it guards here is read by wgmma and written by the copy engine,
// both complete by their own means. An explicit .release.cluster costs a fence
// per call.
DEVICE void mbarrier_arrive_remote(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
// Waits until the phase of this parity has completed.
DEVICE void mbarrier_wait(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!done);
}
// The same, and sees what other blocks of the cluster wrote before.
DEVICE void mbarrier_wait_cluster(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], "
        "%2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!done);
}
// Writes two floats into a block of the cluster and counts them at its barrier.
// Both addresses are from map_to_rank.
DEVICE void store_async_remote(u32 shared, float x, float y, u32 barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 "
      "[%0], {%1, %2}, [%3];" ::"r"(shared),
      "f"(x), "f"(y), "r"(barrier)
      : "memory");
}

// ---- sm_90: the copy engine (TMA) ------------------------------------------

// What cuTensorMapEncodeTiled fills in; opaque to the device.
struct alignas(64) TensorMap {
  u64 opaque[16];
};

DEVICE void tma_prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
// A policy under which what is loaded is the first to leave the second-level
// cache.
DEVICE u64 evict_first_policy() {
  u64 policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;"
               : "=l"(policy));
  return policy;
}
// Loads the map's box at (x, y), x being the contiguous dimension. Elements
// outside of the tensor read as zero and count as loaded.
DEVICE void tma_load(u32 shared, const TensorMap* map, u32 barrier, int x,
                     int y, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx"
      "::bytes.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
      : "memory");
}
// The same into every block of the cluster whose bit in `ranks` is set, at the
// same offset, counted at the barrier at the same offset.
DEVICE void tma_load_multicast(u32 shared, const TensorMap* map, u32 barrier,
                               int x, int y, u64 policy, u32 ranks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx"
      "::bytes.multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], "
      "%5, %6;" ::"r"(shared),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(static_cast<u16>(ranks)),
      "l"(policy)
      : "memory");
}
// Stores the map's box; what lies outside of the tensor is not written.
DEVICE void tma_store(const TensorMap* map, u32 shared, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], "
      "[%1];" ::"l"(map),
      "r"(shared), "r"(x), "r"(y)
      : "memory");
}
DEVICE void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until at most `pending` of the latest groups still read shared memory.
template <int pending>
DEVICE void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}
// Orders this thread's writes to shared memory before later reads by the copy
// engine.
DEVICE void async_proxy_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- sm_90: warpgroups -----------------------------------------------------

DEVICE void warpgroup_barrier(u32 id) {
  asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory");
}
template <int count>
DEVICE void decrease_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
DEVICE void increase_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// Stores four 8x8 matrices transposed: an accumulator fragment's rows become
// columns.
DEVICE void store_matrices_transposed(u32 shared, u32 a, u32 b, u32 c, u32 d) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, "
      "%4};" ::"r"(shared),
      "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}

#endif  // HOPPER
#endif  // GEMM_BF16_PTX_CUH_
