// wgmma: the warpgroup's matrix multiply-accumulate (PTX ISA, "Asynchronous
// Warpgroup Level Matrix Instructions").
//
// The instruction names each accumulator register, so its text depends on the
// width. A compilation needs one width, BLOCK_M: the tables below hold, per 16
// columns, the 8 operands to append.
#ifndef GEMM_BF16_WGMMA_CUH_
#define GEMM_BF16_WGMMA_CUH_

#include "ptx.cuh"

// clang-format off
#define REGISTERS_0 ""
#define REGISTERS_16 REGISTERS_0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define REGISTERS_32 REGISTERS_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_48 REGISTERS_32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define REGISTERS_64 REGISTERS_48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_80 REGISTERS_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define REGISTERS_96 REGISTERS_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define REGISTERS_112 REGISTERS_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define REGISTERS_128 REGISTERS_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_144 REGISTERS_128 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define REGISTERS_160 REGISTERS_144 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define REGISTERS_176 REGISTERS_160 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define REGISTERS_192 REGISTERS_176 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define REGISTERS_208 REGISTERS_192 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define REGISTERS_224 REGISTERS_208 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define REGISTERS_240 REGISTERS_224 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define REGISTERS_256 REGISTERS_240 ", %120, %121, %122, %123, %124, %125, %126, %127"

#define EIGHT(d, i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), \
  "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define OPERANDS_16(d) EIGHT(d, 0)
#define OPERANDS_32(d) OPERANDS_16(d), EIGHT(d, 8)
#define OPERANDS_48(d) OPERANDS_32(d), EIGHT(d, 16)
#define OPERANDS_64(d) OPERANDS_48(d), EIGHT(d, 24)
#define OPERANDS_80(d) OPERANDS_64(d), EIGHT(d, 32)
#define OPERANDS_96(d) OPERANDS_80(d), EIGHT(d, 40)
#define OPERANDS_112(d) OPERANDS_96(d), EIGHT(d, 48)
#define OPERANDS_128(d) OPERANDS_112(d), EIGHT(d, 56)
#define OPERANDS_144(d) OPERANDS_128(d), EIGHT(d, 64)
#define OPERANDS_160(d) OPERANDS_144(d), EIGHT(d, 72)
#define OPERANDS_176(d) OPERANDS_160(d), EIGHT(d, 80)
#define OPERANDS_192(d) OPERANDS_176(d), EIGHT(d, 88)
#define OPERANDS_208(d) OPERANDS_192(d), EIGHT(d, 96)
#define OPERANDS_224(d) OPERANDS_208(d), EIGHT(d, 104)
#define OPERANDS_240(d) OPERANDS_224(d), EIGHT(d, 112)
#define OPERANDS_256(d) OPERANDS_240(d), EIGHT(d, 120)

// Both descriptors follow the accumulators.
#define DESCRIPTORS_16 "%8, %9"
#define DESCRIPTORS_32 "%16, %17"
#define DESCRIPTORS_48 "%24, %25"
#define DESCRIPTORS_64 "%32, %33"
#define DESCRIPTORS_80 "%40, %41"
#define DESCRIPTORS_96 "%48, %49"
#define DESCRIPTORS_112 "%56, %57"
#define DESCRIPTORS_128 "%64, %65"
#define DESCRIPTORS_144 "%72, %73"
#define DESCRIPTORS_160 "%80, %81"
#define DESCRIPTORS_176 "%88, %89"
#define DESCRIPTORS_192 "%96, %97"
#define DESCRIPTORS_208 "%104, %105"
#define DESCRIPTORS_224 "%112, %113"
#define DESCRIPTORS_240 "%120, %121"
#define DESCRIPTORS_256 "%128, %129"
// clang-format on

#define PASTE_TOKENS(a, b) a##b
#define PASTE(a, b) PASTE_TOKENS(a, b)
#define TEXT_OF(a) #a
#define TEXT(a) TEXT_OF(a)

// Orders accesses to accumulators and shared memory before the next wgmma.
DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until at most `pending` of the latest groups are under way.
template <int pending>
DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Describes rows of 64 elements (128 bytes, the span of the 128-byte swizzle)
// at `shared`, K-major: 8 rows are 1024 bytes, which must be aligned to 1024.
// For a later step along k, add the bytes / 16.
DEVICE u64 wgmma_descriptor(u32 shared) {
  const u64 kSwizzle128 = 1ull << 62;
  const u64 kEightRows = 1024 / 16;
  return kSwizzle128 | kEightRows << 32 | 1ull << 16 | (shared & 0x3FFFF) >> 4;
}

// d[64 x BLOCK_M] += a[64 x 16] * b[BLOCK_M x 16]^T, both from shared memory.
// In lane l of warp w, d[4 * j + 2 * h + e] is row 16 * w + 8 * h + l / 4,
// column 8 * j + 2 * (l % 4) + e.
DEVICE void wgmma(float (&d)[BLOCK_M / 2], u64 a, u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n" TEXT(BLOCK_M)
               "k16.f32.bf16.bf16 {" PASTE(REGISTERS_, BLOCK_M) "}, "
               PASTE(DESCRIPTORS_, BLOCK_M) ", 1, 1, 1, 0, 0;"
               : PASTE(OPERANDS_, BLOCK_M)(d)
               : "l"(a), "l"(b));
}

#endif  // GEMM_BF16_WGMMA_CUH_
