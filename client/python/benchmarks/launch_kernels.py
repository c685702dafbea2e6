"""The kernel that triton_launch_benchmark.py launches: a plain GEMM with the tuning parameters of the golden table."""

import triton.language as tl


def gemm(
    a, b, c, M, N, K,
    BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr, BLOCK_C: tl.constexpr, VECTOR: tl.constexpr,
):  # fmt: skip
    """c[M, N] = a[M, K] @ b[K, N], row-major. The table's BLOCK_C and VECTOR are no tiles of Triton's: loops go by 32."""
    pid = tl.program_id(0)
    columns = tl.cdiv(N, BLOCK_B)
    rows_at = (pid // columns) * BLOCK_A + tl.arange(0, BLOCK_A)
    columns_at = (pid % columns) * BLOCK_B + tl.arange(0, BLOCK_B)
    ks = tl.arange(0, 32)
    sum_of = tl.zeros((BLOCK_A, BLOCK_B), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, 32)):
        inside = k * 32 + ks < K
        left = tl.load(
            a + rows_at[:, None] * K + (k * 32 + ks)[None, :],
            mask=(rows_at[:, None] < M) & inside[None, :],
            other=0.0,
        )
        right = tl.load(
            b + (k * 32 + ks)[:, None] * N + columns_at[None, :],
            mask=inside[:, None] & (columns_at[None, :] < N),
            other=0.0,
        )
        sum_of += tl.dot(left, right)
    places = c + rows_at[:, None] * N + columns_at[None, :]
    tl.store(places, sum_of.to(tl.bfloat16), mask=(rows_at[:, None] < M) & (columns_at[None, :] < N))


def grid(meta):
    """As many blocks as there are tiles. Without triton.cdiv, which costs the host more than the division."""
    return (-(-meta["M"] // meta["BLOCK_A"]) * -(-meta["N"] // meta["BLOCK_B"]),)
