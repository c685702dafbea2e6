"""gpu_gemm: C[m, n] = A[m, k] * B[n, k]^T, bf16 with sums in float, row major.

B is a linear layer's weight. A program computes a tile of BLOCK_M rows and BLOCK_N columns of C, in
steps of BLOCK_K; programs are numbered down a column first, so that neighbours share a panel of B.
"""

import triton
import triton.language as tl


# How many rows there are changes from launch to launch and decides nothing that is compiled.
@triton.jit(do_not_specialize=["m"])
def gpu_gemm(
    a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    tiles_m = tl.cdiv(m, BLOCK_M)
    rows = tl.program_id(0) % tiles_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(0) // tiles_m * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_at = a + rows.to(tl.int64)[:, None] * k + depth[None, :]
    b_at = b + columns.to(tl.int64)[None, :] * k + depth[:, None]
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for first in range(0, k, BLOCK_K):
        left = k - first
        a_tile = tl.load(a_at, mask=(rows < m)[:, None] & (depth < left)[None, :], other=0.0)
        b_tile = tl.load(b_at, mask=(columns < n)[None, :] & (depth < left)[:, None], other=0.0)
        sums = tl.dot(a_tile, b_tile, sums)
        a_at += BLOCK_K
        b_at += BLOCK_K
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c + rows.to(tl.int64)[:, None] * n + columns[None, :], sums.to(tl.bfloat16), mask=inside)
