"""One of a mixture of experts' two GEMMs, as vLLM's and SGLang's fused_moe_kernel compute it.

Each token has `top_k` slots, one per expert that it was routed to. The host sorts slots by expert
and fills each expert up to whole blocks of BLOCK_SIZE_M (`sorted_token_ids`, padded with the number
of slots); a block of rows has one expert (`expert_ids`). gate_up (MUL_ROUTED_WEIGHT = 0) reads a
token's row for each of its slots, down (MUL_ROUTED_WEIGHT = 1) a slot's own row, and weighs the
result. bf16 in and out, sums in fp32.
"""

import triton
import triton.language as tl


# What routing gives is no reason to compile again.
@triton.jit(do_not_specialize=["num_blocks", "num_valid_tokens", "top_k"])
def fused_moe_kernel(
    a,  # bf16: gate_up [tokens, k], down [slots, k]
    b,  # bf16 [experts, n, k]
    c,  # bf16 [slots, n]
    topk_weights,  # fp32 [slots]
    sorted_token_ids,  # int32: slots, by expert
    expert_ids,  # int32: the expert of each block of rows
    num_tokens_post_padded,  # int32 [1]: slots and padding
    n,
    k,
    num_blocks,  # blocks of rows that are launched
    num_valid_tokens,  # slots
    top_k,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
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
    expert = tl.load(expert_ids + tile_m).to(tl.int64)
    is_slot = slots < num_valid_tokens
    columns = tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    depth = tl.arange(0, BLOCK_SIZE_K)
    if MUL_ROUTED_WEIGHT:
        rows = slots.to(tl.int64)
    else:
        rows = (slots // top_k).to(tl.int64)
    a_at = a + rows[:, None] * k + depth[None, :]
    # Columns beyond the edge begin again at the first: the results are not stored.
    b_at = b + expert * n * k + (columns % n).to(tl.int64)[None, :] * k + depth[:, None]

    sums = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BLOCK_SIZE_K)):
        left = k - step * BLOCK_SIZE_K
        a_tile = tl.load(a_at, mask=is_slot[:, None] & (depth[None, :] < left), other=0.0)
        b_tile = tl.load(b_at, mask=depth[:, None] < left, other=0.0)
        sums = tl.dot(a_tile, b_tile, sums)
        a_at += BLOCK_SIZE_K
        b_at += BLOCK_SIZE_K

    if MUL_ROUTED_WEIGHT:
        sums *= tl.load(topk_weights + slots, mask=is_slot, other=0.0)[:, None]
    c_at = c + slots.to(tl.int64)[:, None] * n + columns[None, :]
    tl.store(c_at, sums.to(tl.bfloat16), mask=is_slot[:, None] & (columns < n)[None, :])
