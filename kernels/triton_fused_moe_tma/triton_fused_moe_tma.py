"""One of a mixture of experts' two GEMMs, as SGLang's fused_moe_kernel computes it with and without USE_TMA.

As triton_fused_moe, and where USE_TMA is 1 copy engines load: weights through `b_map`, and down's
rows through `a_map`. These then lie in the order of `sorted_token_ids`, padding included, as
SGLang's gate_up stores them for it.
"""

import triton
import triton.language as tl


# What routing gives is no reason to compile again.
@triton.jit(do_not_specialize=["num_blocks", "num_valid_tokens", "top_k", "by_place"])
def fused_moe_kernel(
    a_map,  # [rows of a, k], tiles of BLOCK_SIZE_M rows
    b_map,  # [experts · n, k], tiles of BLOCK_SIZE_N rows
    a,  # bf16: gate_up [tokens, k], down [slots, k], or [places, k] with USE_TMA
    b,  # bf16 [experts, n, k]
    c,  # bf16 [slots, n]
    topk_weights,  # fp32 [slots]
    sorted_token_ids,  # int32 [places]: slots, by expert
    expert_ids,  # int32: the expert of each block of rows
    num_tokens_post_padded,  # int32 [1]: places, slots and padding
    n,
    k,
    num_blocks,  # blocks of rows that are launched
    num_valid_tokens,  # slots
    top_k,
    by_place,  # USE_TMA, for the reference
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    USE_TMA: tl.constexpr,
    MUL_ROUTED_WEIGHT: tl.constexpr,
):
    """Computes one tile. Launch: num_blocks · ⌈n / BLOCK_SIZE_N⌉ blocks, along x."""
    tiles_n = tl.cdiv(n, BLOCK_SIZE_N)
    pid = tl.program_id(0)
    group = pid // (GROUP_SIZE_M * tiles_n)
    group_rows = min(num_blocks - group * GROUP_SIZE_M, GROUP_SIZE_M)
    tile_m = group * GROUP_SIZE_M + pid % (GROUP_SIZE_M * tiles_n) % group_rows
    tile_n = pid % (GROUP_SIZE_M * tiles_n) // group_rows
    if tile_m * BLOCK_SIZE_M >= tl.load(num_tokens_post_padded):
        return

    slots = tl.load(
        sorted_token_ids + tile_m.to(tl.int64) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    )
    expert = tl.load(expert_ids + tile_m)
    is_slot = slots < num_valid_tokens
    columns = tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    depth = tl.arange(0, BLOCK_SIZE_K)
    if MUL_ROUTED_WEIGHT:
        rows = slots.to(tl.int64)
    else:
        rows = (slots // top_k).to(tl.int64)
    a_at = a + rows[:, None] * k + depth[None, :]
    # Columns beyond the edge begin again at the first: the results are not stored. Nor are those
    # of what b_map has there: the next expert's.
    weights = expert.to(tl.int64) * n * k + (columns % n).to(tl.int64) * k
    b_at = b + weights[None, :] + depth[:, None]

    sums = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(0, k, BLOCK_SIZE_K):
        if USE_TMA and MUL_ROUTED_WEIGHT:
            a_tile = a_map.load([tile_m * BLOCK_SIZE_M, step])
        else:
            a_tile = tl.load(a_at, mask=is_slot[:, None] & (depth[None, :] < k - step), other=0.0)
        if USE_TMA:
            b_tile = b_map.load([expert * n + tile_n * BLOCK_SIZE_N, step]).T
        else:
            b_tile = tl.load(b_at, mask=depth[:, None] < k - step, other=0.0)
        sums = tl.dot(a_tile, b_tile, sums)
        a_at += BLOCK_SIZE_K
        b_at += BLOCK_SIZE_K

    if MUL_ROUTED_WEIGHT:
        sums *= tl.load(topk_weights + slots, mask=is_slot, other=0.0)[:, None]
    c_at = c + slots.to(tl.int64)[:, None] * n + columns[None, :]
    tl.store(c_at, sums.to(tl.bfloat16), mask=is_slot[:, None] & (columns < n)[None, :])
