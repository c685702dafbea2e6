"""gpu_grouped_gemm: C[rows of e, n] = A[rows of e, k] * B[e, n, k]^T for each expert e, bf16.

Rows of A and C are ordered by expert; group_rows has how many each expert has, which may be 0. A
program computes a tile of BLOCK_M rows of one expert and BLOCK_N columns, in steps of BLOCK_K.
There are row_tiles tiles of rows over all experts; programs are numbered along them first.
"""

import triton
import triton.language as tl


# How many rows and tiles there are changes from launch to launch.
@triton.jit(do_not_specialize=["experts", "row_tiles"])
def gpu_grouped_gemm(
    a,
    b,
    group_rows,
    c,
    experts,
    row_tiles,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # Which expert has this tile of rows, and where its rows begin and end.
    tile = tl.program_id(0) % row_tiles
    expert = 0
    begin = 0
    own = tl.load(group_rows)
    while tile >= tl.cdiv(own, BLOCK_M):
        tile -= tl.cdiv(own, BLOCK_M)
        begin += own
        expert += 1
        own = tl.load(group_rows + expert)
    end = begin + own

    rows = begin + tile * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(0) // row_tiles * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    weight = tl.cast(expert, tl.int64) * n + columns
    a_at = a + rows.to(tl.int64)[:, None] * k + depth[None, :]
    b_at = b + weight[None, :] * k + depth[:, None]
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for first in range(0, k, BLOCK_K):
        left = k - first
        a_tile = tl.load(a_at, mask=(rows < end)[:, None] & (depth < left)[None, :], other=0.0)
        b_tile = tl.load(b_at, mask=(columns < n)[None, :] & (depth < left)[:, None], other=0.0)
        sums = tl.dot(a_tile, b_tile, sums)
        a_at += BLOCK_K
        b_at += BLOCK_K
    inside = (rows < end)[:, None] & (columns < n)[None, :]
    c_at = c + rows.to(tl.int64)[:, None] * n + columns[None, :]
    tl.store(c_at, sums.to(tl.bfloat16), mask=inside)
