"""Dense GEMM as serving engines' Triton kernels compute it: C[m, n] = A[m, k] · B[n, k]ᵀ.

bf16 in and out, sums in fp32, row major; B is a linear layer's weight. One block per tile of C,
walked in groups of GROUP_M rows of tiles, so that blocks that run side by side share what they
load. Blocks of one tile may share k: each leaves its sum in `partials`, and the last to arrive adds
them up in their order, so that results do not depend on who was last.
"""

import triton
import triton.language as tl


# How long rows are decides how they are loaded and stored, not how many there are.
@triton.jit(do_not_specialize=["m"])
def gemm_kernel(
    a,  # bf16 [m, k]
    b,  # bf16 [n, k]
    c,  # bf16 [m, n]
    partials,  # fp32 [SPLIT_K, m, n]; unused where SPLIT_K is 1
    arrivals,  # int32, one per tile of C: zero before and after a launch
    m,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SPLIT_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """Computes one tile of C, or a part of its k. Launch: tiles of C times SPLIT_K blocks, along x."""
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    tile = tl.program_id(0) // SPLIT_K
    part = tl.program_id(0) % SPLIT_K
    group = tile // (GROUP_M * tiles_n)
    group_rows = min(tiles_m - group * GROUP_M, GROUP_M)
    tile_m = group * GROUP_M + tile % (GROUP_M * tiles_n) % group_rows
    tile_n = tile % (GROUP_M * tiles_n) // group_rows

    if BLOCK_M == 128 and BLOCK_N == 256:
        # Never so. Without a way past the loop, ptxas serialises the tensor cores of these tiles
        # (C7515).
        if tile_m * BLOCK_M >= m:
            return

    steps = tl.cdiv(tl.cdiv(k, BLOCK_K), SPLIT_K)
    first_k = part * steps * BLOCK_K
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    # Rows beyond the edge begin again at the first, which costs nothing in the loop: the results
    # are not stored. Masks cost a third of its instructions, but in low tiles few; there a single
    # row would be read by all of a tile's.
    MASKS_ROWS: tl.constexpr = BLOCK_M <= 32
    a_at = a + first_k + (rows % m).to(tl.int64)[:, None] * k + depth[None, :]
    b_at = b + first_k + (columns % n).to(tl.int64)[None, :] * k + depth[:, None]

    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, steps):
        left = k - first_k - step * BLOCK_K
        if MASKS_ROWS:
            a_tile = tl.load(a_at, mask=(rows < m)[:, None] & (depth[None, :] < left), other=0.0)
        else:
            a_tile = tl.load(a_at, mask=depth[None, :] < left, other=0.0)
        b_tile = tl.load(b_at, mask=depth[:, None] < left, other=0.0)
        sums = tl.dot(a_tile, b_tile, sums)
        a_at += BLOCK_K
        b_at += BLOCK_K

    offsets = rows.to(tl.int64)[:, None] * n + columns[None, :]
    is_element = (rows < m)[:, None] & (columns < n)[None, :]
    if SPLIT_K == 1:
        tl.store(c + offsets, sums.to(tl.bfloat16), mask=is_element)
    else:
        elements = tl.cast(m, tl.int64) * n
        tl.store(partials + part * elements + offsets, sums, mask=is_element)
        # Every thread's stores come before the arrival, which releases them.
        tl.debug_barrier()
        arrived = tl.atomic_add(arrivals + tile, 1, sem="acq_rel")
        if arrived == SPLIT_K - 1:
            total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for other in tl.static_range(SPLIT_K):
                # Not from the first-level cache, which does not see what other multiprocessors
                # wrote.
                total += tl.load(
                    partials + other * elements + offsets,
                    mask=is_element,
                    other=0.0,
                    cache_modifier=".cg",
                )
            tl.store(c + offsets, total.to(tl.bfloat16), mask=is_element)
            tl.store(arrivals + tile, 0)
