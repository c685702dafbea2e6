"""Flash attention as serving engines' Triton kernels compute it: prefill and decode.

out = softmax(q · keysᵀ / √HEAD_DIM) · values, for each head; heads / kv_heads heads share keys and
values. Queries are aligned to the end of the keys: with CAUSAL, query i sees the first seq_kv -
seq_q + i + 1 keys, at least one. bf16 in and out; softmax, sums and weights of blocks in fp32.

Prefill (DECODE = 0): one block per tile of BLOCK_Q queries of a head. Decode (DECODE = 1): one
block per head of keys and part of the keys, for all queries that share it; the last block of a head
to arrive puts the parts together.
"""

import triton
import triton.language as tl


@triton.jit
def add_keys(
    weighted,  # fp32 [rows, HEAD_DIM]: values seen so far, times their weights
    weights,  # fp32 [rows]: the weights' sums
    peaks,  # fp32 [rows]: the largest score so far, in powers of 2
    queries,  # bf16 [rows, HEAD_DIM]
    keys,  # the first key of the head
    values,
    seen,  # int32 [rows]: keys that each row may see, of those that there are
    begin,
    end,
    BLOCK_KV: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    MASKED: tl.constexpr,
    MAY_SEE_NONE: tl.constexpr,
):
    """Returns weighted, weights and peaks with keys from begin to end added.

    `begin` is a multiple of BLOCK_KV. Not MASKED: `end` is, too, and every row sees all of them.
    MASKED: no row sees a key from `end` to the end of its block.
    MAY_SEE_NONE: rows may have seen no key yet.
    """
    columns = tl.arange(0, BLOCK_KV)
    depth = tl.arange(0, HEAD_DIM)
    keys_at = keys + begin * HEAD_DIM + columns[None, :] * HEAD_DIM + depth[:, None]
    values_at = values + begin * HEAD_DIM + columns[:, None] * HEAD_DIM + depth[None, :]
    # exp(x) is 2 to the power of this times x.
    scale: tl.constexpr = 1.4426950408889634 * HEAD_DIM**-0.5
    for key in range(begin, end, BLOCK_KV):
        if MASKED:
            is_key = columns < end - key
            scores = tl.dot(queries, tl.load(keys_at, mask=is_key[None, :], other=0.0))
            scores = tl.where(columns[None, :] < seen[:, None] - key, scores, float("-inf"))
        else:
            scores = tl.dot(queries, tl.load(keys_at))
        new_peaks = tl.maximum(peaks, tl.max(scores, 1) * scale)
        if MAY_SEE_NONE:
            # Of no key: any number but -inf, so that differences have a value.
            reference = tl.where(new_peaks == float("-inf"), 0.0, new_peaks)
        else:
            reference = new_peaks
        shares = tl.exp2(scores * scale - reference[:, None])
        fade = tl.exp2(peaks - reference)
        weights = weights * fade + tl.sum(shares, 1)
        weighted = weighted * fade[:, None]
        if MASKED:
            tile = tl.load(values_at, mask=is_key[:, None], other=0.0)
        else:
            tile = tl.load(values_at)
        weighted = tl.dot(shares.to(tl.bfloat16), tile, weighted)
        peaks = new_peaks
        keys_at += BLOCK_KV * HEAD_DIM
        values_at += BLOCK_KV * HEAD_DIM
    return weighted, weights, peaks


@triton.jit
def prefill_tile(
    q, keys, values, out, heads, kv_heads, seq_q, seq_kv, BLOCK_Q: tl.constexpr,
    BLOCK_KV: tl.constexpr, HEAD_DIM: tl.constexpr, CAUSAL: tl.constexpr
):
    """Computes BLOCK_Q queries of a head, the last ones first: CAUSAL ones see most keys."""
    tiles = tl.cdiv(seq_q, BLOCK_Q)
    tile = tiles - 1 - tl.program_id(0) % tiles
    head = tl.program_id(0) // tiles
    kv_head = (head // heads).to(tl.int64) * kv_heads + head % heads // (heads // kv_heads)
    rows = tile * BLOCK_Q + tl.arange(0, BLOCK_Q)
    depth = tl.arange(0, HEAD_DIM)
    is_row = rows < seq_q
    first = head.to(tl.int64) * seq_q * HEAD_DIM
    offsets = rows[:, None] * HEAD_DIM + depth[None, :]
    queries = tl.load(q + first + offsets, mask=is_row[:, None], other=0.0)
    keys += kv_head * seq_kv * HEAD_DIM
    values += kv_head * seq_kv * HEAD_DIM

    if CAUSAL:
        seen = tl.minimum(tl.maximum(seq_kv - seq_q + 1 + rows, 1), seq_kv)
        # Keys that the tile's first row sees, all rows see; what its last row sees is the end.
        seen_by_all = tl.maximum(seq_kv - seq_q + 1 + tile * BLOCK_Q, 1)
        end = tl.minimum(tl.maximum(seq_kv - seq_q + (tile + 1) * BLOCK_Q, 1), seq_kv)
    else:
        seen = tl.zeros((BLOCK_Q,), dtype=tl.int32) + seq_kv
        seen_by_all = seq_kv
        end = seq_kv
    whole = tl.minimum(seen_by_all, end) // BLOCK_KV * BLOCK_KV
    weighted = tl.zeros((BLOCK_Q, HEAD_DIM), dtype=tl.float32)
    weights = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    peaks = tl.full((BLOCK_Q,), float("-inf"), dtype=tl.float32)
    weighted, weights, peaks = add_keys(
        weighted, weights, peaks, queries, keys, values, seen, 0, whole, BLOCK_KV, HEAD_DIM,
        MASKED=False, MAY_SEE_NONE=False
    )
    weighted, weights, peaks = add_keys(
        weighted, weights, peaks, queries, keys, values, seen, whole, end, BLOCK_KV, HEAD_DIM,
        MASKED=True, MAY_SEE_NONE=False
    )
    tl.store(
        out + first + offsets, (weighted / weights[:, None]).to(tl.bfloat16), mask=is_row[:, None]
    )


@triton.jit
def decode_part(
    q, keys, values, out, partials, logarithms, arrivals, heads, kv_heads, seq_q, seq_kv,
    BLOCK_Q: tl.constexpr, BLOCK_KV: tl.constexpr, SPLIT_KV: tl.constexpr, HEAD_DIM: tl.constexpr
):
    """Computes a part of the keys for all queries that share them, BLOCK_Q rows at a time."""
    group = tl.program_id(0) // SPLIT_KV
    part = tl.program_id(0) % SPLIT_KV
    # Heads that share keys lie together, so their queries are rows of one matrix.
    num_rows = heads // kv_heads * seq_q
    steps = tl.cdiv(tl.cdiv(seq_kv, BLOCK_KV), SPLIT_KV)
    begin = tl.minimum(part * steps * BLOCK_KV, seq_kv)
    end = tl.minimum(begin + steps * BLOCK_KV, seq_kv)
    keys += group.to(tl.int64) * seq_kv * HEAD_DIM
    values += group.to(tl.int64) * seq_kv * HEAD_DIM
    first_row = group.to(tl.int64) * num_rows
    depth = tl.arange(0, HEAD_DIM)
    rows = tl.arange(0, BLOCK_Q)
    offsets = rows[:, None] * HEAD_DIM + depth[None, :]
    for tile in range(0, num_rows, BLOCK_Q):
        is_row = rows < num_rows - tile
        tile_row = first_row + tile
        queries = tl.load(q + tile_row * HEAD_DIM + offsets, mask=is_row[:, None], other=0.0)
        seen = tl.maximum(seq_kv - seq_q + 1 + (tile + rows) % seq_q, 1)
        weighted = tl.zeros((BLOCK_Q, HEAD_DIM), dtype=tl.float32)
        weights = tl.zeros((BLOCK_Q,), dtype=tl.float32)
        peaks = tl.full((BLOCK_Q,), float("-inf"), dtype=tl.float32)
        # Loads take the time, so that masks of keys that all rows see cost nothing.
        weighted, weights, peaks = add_keys(
            weighted, weights, peaks, queries, keys, values, seen, begin, end, BLOCK_KV, HEAD_DIM,
            MASKED=True, MAY_SEE_NONE=SPLIT_KV > 1
        )
        if SPLIT_KV == 1:
            content = (weighted / weights[:, None]).to(tl.bfloat16)
            tl.store(out + tile_row * HEAD_DIM + offsets, content, mask=is_row[:, None])
        else:
            # A part without keys has no weight: 0, and minus infinity for its logarithm.
            mean = weighted / tl.where(weights == 0.0, 1.0, weights)[:, None]
            place = tile_row * SPLIT_KV + part
            offsets_of_parts = rows[:, None] * (SPLIT_KV * HEAD_DIM) + depth[None, :]
            tl.store(partials + place * HEAD_DIM + offsets_of_parts, mean, mask=is_row[:, None])
            tl.store(logarithms + place + rows * SPLIT_KV, peaks + tl.log2(weights), mask=is_row)
    if SPLIT_KV > 1:
        # Every thread's stores come before the arrival, which releases them.
        tl.debug_barrier()
        arrived = tl.atomic_add(arrivals + group, 1, sem="acq_rel")
        if arrived == SPLIT_KV - 1:
            for tile in range(0, num_rows, BLOCK_Q):
                combine_parts(
                    out, partials, logarithms, first_row + tile, num_rows - tile, BLOCK_Q,
                    SPLIT_KV, HEAD_DIM
                )
            tl.store(arrivals + group, 0)


@triton.jit
def combine_parts(
    out, partials, logarithms, tile_row, num_rows, BLOCK_Q: tl.constexpr, SPLIT_KV: tl.constexpr,
    HEAD_DIM: tl.constexpr
):
    """Puts the parts of BLOCK_Q rows together, in their order whoever was last."""
    rows = tl.arange(0, BLOCK_Q)
    is_row = rows < num_rows
    depth = tl.arange(0, HEAD_DIM)
    partials += tile_row * (SPLIT_KV * HEAD_DIM)
    logarithms += tile_row * SPLIT_KV
    # Not from the first-level cache, which does not see what other multiprocessors wrote.
    of_parts = tl.load(
        logarithms + rows[:, None] * SPLIT_KV + tl.arange(0, SPLIT_KV)[None, :],
        mask=is_row[:, None], other=0.0, cache_modifier=".cg"
    )
    peaks = tl.max(of_parts, 1)
    total = tl.sum(tl.exp2(of_parts - peaks[:, None]), 1)
    weighted = tl.zeros((BLOCK_Q, HEAD_DIM), dtype=tl.float32)
    offsets = rows[:, None] * (SPLIT_KV * HEAD_DIM) + depth[None, :]
    for part in tl.range(0, SPLIT_KV, loop_unroll_factor=2):
        logarithm = tl.load(
            logarithms + rows * SPLIT_KV + part, mask=is_row, other=0.0, cache_modifier=".cg"
        )
        mean = tl.load(
            partials + part * HEAD_DIM + offsets, mask=is_row[:, None], other=0.0,
            cache_modifier=".cg"
        )
        weighted += tl.exp2(logarithm - peaks)[:, None] * mean
    content = (weighted / total[:, None]).to(tl.bfloat16)
    out_offsets = rows[:, None] * HEAD_DIM + depth[None, :]
    tl.store(out + tile_row * HEAD_DIM + out_offsets, content, mask=is_row[:, None])


# A head's rows are HEAD_DIM long whatever these are.
@triton.jit(do_not_specialize=["heads", "kv_heads", "seq_q", "seq_kv"])
def attention_kernel(
    q,  # bf16 [batch, heads, seq_q, HEAD_DIM]
    keys,  # bf16 [batch, kv_heads, seq_kv, HEAD_DIM]
    values,  # bf16 [batch, kv_heads, seq_kv, HEAD_DIM]
    out,  # bf16 [batch, heads, seq_q, HEAD_DIM]
    partials,  # fp32 [batch, heads, seq_q, SPLIT_KV, HEAD_DIM]: unused where SPLIT_KV is 1
    logarithms,  # fp32 [batch, heads, seq_q, SPLIT_KV]: of each part's weight, to base 2
    arrivals,  # int32 [batch, kv_heads]: zero before and after a launch
    heads,
    kv_heads,
    seq_q,
    seq_kv,
    BLOCK_Q: tl.constexpr,
    BLOCK_KV: tl.constexpr,
    SPLIT_KV: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    CAUSAL: tl.constexpr,
    DECODE: tl.constexpr,
):
    """Launch, along x: prefill batch · heads · ⌈seq_q / BLOCK_Q⌉ blocks,
    decode batch · kv_heads · SPLIT_KV.
    """
    if DECODE:
        decode_part(
            q, keys, values, out, partials, logarithms, arrivals, heads, kv_heads, seq_q, seq_kv,
            BLOCK_Q, BLOCK_KV, SPLIT_KV, HEAD_DIM
        )
    else:
        prefill_tile(
            q, keys, values, out, heads, kv_heads, seq_q, seq_kv, BLOCK_Q, BLOCK_KV, HEAD_DIM,
            CAUSAL
        )
