"""Kernels for the tests of wavetune.triton, written as those of engines are. They compile in a moment."""

import triton
import triton.language as tl

# What one engine would try: what the table chooses is none of these.
CONFIGS = [
    triton.Config({"BLOCK_A": 8, "BLOCK_B": 8, "BLOCK_C": 8, "VECTOR": 1}, num_warps=2, num_stages=2),
    triton.Config({"BLOCK_A": 4, "BLOCK_B": 4, "BLOCK_C": 4, "VECTOR": 2}, num_warps=2, num_stages=2),
]


def body(x, y, M, N, K, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr, BLOCK_C: tl.constexpr, VECTOR: tl.constexpr):
    place = tl.program_id(0) * 16 + tl.arange(0, 16)
    inside = place < M * N
    tl.store(y + place, tl.load(x + place, mask=inside) * (BLOCK_A + BLOCK_B + BLOCK_C + VECTOR) + K, mask=inside)


plain = triton.jit(body)
tuning = triton.autotune(configs=CONFIGS, key=["M", "N", "K"])(triton.jit(body))
