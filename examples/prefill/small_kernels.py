"""What a layer computes between its tuned launches: norms, rotary positions, gates, sums. Never tuned, alike in all policies."""

import triton
import triton.language as tl


@triton.jit
def add_and_norm(x, residual, out, width, ADDS: tl.constexpr, BLOCK: tl.constexpr):
    """residual += x (where ADDS), out = residual / its root mean square. One block per row."""
    row = tl.program_id(0).to(tl.int64) * width
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    content = tl.load(residual + row + columns, mask=inside, other=0.0).to(tl.float32)
    if ADDS:
        content += tl.load(x + row + columns, mask=inside, other=0.0).to(tl.float32)
        tl.store(residual + row + columns, content.to(tl.bfloat16), mask=inside)
    scale = tl.rsqrt(tl.sum(content * content) / width + 1e-6)
    tl.store(out + row + columns, (content * scale).to(tl.bfloat16), mask=inside)


@triton.jit
def rotate_and_split(
    qkv,  # bf16 [batch * seq, heads + 2 * kv_heads, HEAD_DIM]
    q,  # bf16 [batch, heads, seq, HEAD_DIM]
    keys,  # bf16 [batch, kv_heads, room, HEAD_DIM]
    values,
    cosines,  # fp32 [positions, HEAD_DIM / 2]
    sines,
    heads,
    kv_heads,
    seq,
    first,  # position of the first token
    room,
    HEAD_DIM: tl.constexpr,
    HEADS: tl.constexpr,
):
    """Turns queries and keys by their positions, and writes each head's rows together. Blocks: rows, HEADS heads each."""
    row = tl.program_id(0)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    is_head = head < heads + 2 * kv_heads
    place = row % seq
    position = first + place
    half: tl.constexpr = HEAD_DIM // 2
    depth = tl.arange(0, half)
    source = qkv + (row.to(tl.int64) * (heads + 2 * kv_heads) + head)[:, None] * HEAD_DIM + depth[None, :]
    low = tl.load(source, mask=is_head[:, None], other=0.0).to(tl.float32)
    high = tl.load(source + half, mask=is_head[:, None], other=0.0).to(tl.float32)
    # Values are not turned: by no angle.
    turns = (head < heads + kv_heads)[:, None]
    cosine = tl.where(turns, tl.load(cosines + position * half + depth)[None, :], 1.0)
    sine = tl.where(turns, tl.load(sines + position * half + depth)[None, :], 0.0)
    turned_low = (low * cosine - high * sine).to(tl.bfloat16)
    turned_high = (high * cosine + low * sine).to(tl.bfloat16)

    prompt = (row // seq).to(tl.int64)
    is_query = (head < heads)[:, None]
    is_key = ((head >= heads) & (head < heads + kv_heads))[:, None]
    is_value = (is_head & (head >= heads + kv_heads))[:, None]
    at = ((prompt * heads + head) * seq + place)[:, None] * HEAD_DIM + depth[None, :]
    tl.store(q + at, turned_low, mask=is_query)
    tl.store(q + at + half, turned_high, mask=is_query)
    at = ((prompt * kv_heads + head - heads) * room + position)[:, None] * HEAD_DIM + depth[None, :]
    tl.store(keys + at, turned_low, mask=is_key)
    tl.store(keys + at + half, turned_high, mask=is_key)
    at = ((prompt * kv_heads + head - heads - kv_heads) * room + position)[:, None] * HEAD_DIM + depth[None, :]
    tl.store(values + at, turned_low, mask=is_value)
    tl.store(values + at + half, turned_high, mask=is_value)


@triton.jit
def merge_heads(attended, out, heads, seq, HEAD_DIM: tl.constexpr, HEADS: tl.constexpr):
    """[batch, heads, seq, HEAD_DIM] to [batch * seq, heads * HEAD_DIM]. Blocks: rows, HEADS heads each."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    is_head = (head < heads)[:, None]
    depth = tl.arange(0, HEAD_DIM)
    source = ((row // seq * heads + head) * seq + row % seq)[:, None] * HEAD_DIM + depth[None, :]
    content = tl.load(attended + source, mask=is_head, other=0.0)
    tl.store(out + (row * heads + head)[:, None] * HEAD_DIM + depth[None, :], content, mask=is_head)


@triton.jit
def gate(gate_up, out, width, BLOCK: tl.constexpr):
    """out = silu(left half) * right half. Blocks: rows, parts of the width."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < width
    left = tl.load(gate_up + row * 2 * width + columns, mask=inside, other=0.0).to(tl.float32)
    right = tl.load(gate_up + row * 2 * width + width + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + columns, (left * tl.sigmoid(left) * right).to(tl.bfloat16), mask=inside)


@triton.jit
def sum_slots(slots, out, width, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
    """out = the sum of each token's TOP_K rows. Blocks: tokens, parts of the width."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < width
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for slot in tl.static_range(TOP_K):
        total += tl.load(slots + (row * TOP_K + slot) * width + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + columns, total.to(tl.bfloat16), mask=inside)
