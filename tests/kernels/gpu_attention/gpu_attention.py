"""gpu_attention: out = softmax(q . keys / sqrt(HEAD_DIM)) * values over the keys that a query sees.

q and out are [batch, heads, seq_q, HEAD_DIM], keys and values [batch, kv_heads, seq_kv, HEAD_DIM],
bf16; heads / kv_heads heads share keys and values. CAUSAL = 1: queries are aligned to the end of
the keys, and a query sees none behind itself (and always the first). A program computes BLOCK_Q
queries of a head, in steps of BLOCK_KV keys; programs are numbered along the queries first.

Source: T. Dao and others, "FlashAttention", arXiv 2205.14135 (softmax over blocks of keys).
"""

import triton
import triton.language as tl


# How many queries and keys there are changes from launch to launch.
@triton.jit(do_not_specialize=["seq_q", "seq_kv"])
def gpu_attention(
    q,
    keys,
    values,
    out,
    heads,
    kv_heads,
    seq_q,
    seq_kv,
    CAUSAL: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_KV: tl.constexpr,
):
    tiles = tl.cdiv(seq_q, BLOCK_Q)
    head = tl.program_id(0) // tiles
    kv_head = head // heads * kv_heads + head % heads // (heads // kv_heads)
    queries = tl.program_id(0) % tiles * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, HEAD_DIM)[None, :]
    rows = head.to(tl.int64) * seq_q + queries
    is_query = (queries < seq_q)[:, None]
    q_tile = tl.load(q + rows[:, None] * HEAD_DIM + d, mask=is_query, other=0.0)
    if CAUSAL:
        seen = tl.minimum(tl.maximum(queries + 1 + seq_kv - seq_q, 1), seq_kv)
    else:
        seen = queries * 0 + seq_kv
    # exp(x) is 2 to the power of this times x.
    scale: tl.constexpr = 1.4426950408889634 * HEAD_DIM**-0.5
    most = tl.full((BLOCK_Q,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    sums = tl.zeros((BLOCK_Q, HEAD_DIM), dtype=tl.float32)
    for first in range(0, tl.max(seen, 0), BLOCK_KV):
        j = first + tl.arange(0, BLOCK_KV)
        at = (kv_head.to(tl.int64) * seq_kv + j)[:, None] * HEAD_DIM + d
        key_tile = tl.load(keys + at, mask=(j < seq_kv)[:, None], other=0.0)
        scores = tl.dot(q_tile, tl.trans(key_tile)) * scale
        scores = tl.where(j[None, :] < seen[:, None], scores, float("-inf"))
        top = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - top[:, None])
        fade = tl.exp2(most - top)
        total = total * fade + tl.sum(weights, 1)
        value_tile = tl.load(values + at, mask=(j < seq_kv)[:, None], other=0.0)
        sums = tl.dot(weights.to(tl.bfloat16), value_tile, sums * fade[:, None])
        most = top
    result = (sums / total[:, None]).to(tl.bfloat16)
    tl.store(out + rows[:, None] * HEAD_DIM + d, result, mask=is_query)
