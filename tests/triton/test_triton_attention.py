"""triton_attention in Triton's interpreter against numpy: prefill and decode, grouped queries."""

from __future__ import annotations

import numpy as np
import pytest

from launch import Buffer, from_bf16, launch, load, relative_error, to_bf16

KERNEL = load("triton_attention").attention_kernel
TOLERANCE = 5e-3  # The manifest's.


def attention(
    batch: int,
    heads: int,
    kv_heads: int,
    seq_q: int,
    seq_kv: int,
    *,
    head_dim: int = 64,
    causal: bool,
    decode: bool = False,
    **constants: int,
) -> float:
    """Returns the relative error of one launch on random inputs."""
    constants = {"BLOCK_Q": 16, "BLOCK_KV": 16, "SPLIT_KV": 1} | constants
    random = np.random.default_rng(seq_q * 7 + seq_kv * 5 + heads)
    q = to_bf16(random.uniform(-1, 1, (batch, heads, seq_q, head_dim)))
    keys = to_bf16(random.uniform(-1, 1, (batch, kv_heads, seq_kv, head_dim)))
    values = to_bf16(random.uniform(-1, 1, (batch, kv_heads, seq_kv, head_dim)))
    out = Buffer.poison((batch, heads, seq_q, head_dim), "bf16")
    split = constants["SPLIT_KV"]
    arrivals = Buffer(np.zeros(batch * kv_heads, np.int32), "i32")
    arguments = [
        Buffer(q, "bf16"),
        Buffer(keys, "bf16"),
        Buffer(values, "bf16"),
        out,
        Buffer.poison((batch, heads, seq_q, split, head_dim), "fp32"),
        Buffer.poison((batch, heads, seq_q, split), "fp32"),
        arrivals,
        heads,
        kv_heads,
        seq_q,
        seq_kv,
    ]
    blocks = (
        batch * kv_heads * split if decode else batch * heads * -(-seq_q // constants["BLOCK_Q"])
    )
    launch(
        KERNEL,
        blocks,
        arguments,
        constants | {"HEAD_DIM": head_dim, "CAUSAL": int(causal), "DECODE": int(decode)},
    )
    assert (arrivals.array() == 0).all(), "arrivals are not left zero"
    return relative_error(from_bf16(out.array()), expected_of(q, keys, values, causal or decode))


def expected_of(q: np.ndarray, keys: np.ndarray, values: np.ndarray, causal: bool) -> np.ndarray:
    """Returns what attention is, in float64; inputs are bits of bfloat16."""
    queries, keys, values = (from_bf16(x).astype(np.float64) for x in (q, keys, values))
    shared = queries.shape[1] // keys.shape[1]
    keys, values = np.repeat(keys, shared, 1), np.repeat(values, shared, 1)
    seq_q, seq_kv = queries.shape[2], keys.shape[2]
    scores = queries @ keys.transpose(0, 1, 3, 2) / np.sqrt(queries.shape[3])
    if causal:
        seen = np.maximum(seq_kv - seq_q + 1 + np.arange(seq_q), 1)
        scores = np.where(np.arange(seq_kv)[None, :] < seen[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights @ values / weights.sum(-1, keepdims=True)


SHAPES = [
    (1, 1, 1, 1, 1),
    (1, 2, 1, 16, 16),
    (1, 4, 2, 17, 33),
    (2, 2, 2, 15, 65),
    (1, 6, 3, 3, 100),
    (1, 2, 1, 20, 7),
]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_prefill_with_as_many_more_and_fewer_keys_than_queries(
    shape: tuple[int, ...], causal: bool
) -> None:
    assert attention(*shape, causal=causal) < TOLERANCE


@pytest.mark.parametrize("block_q, block_kv", [(64, 32), (128, 16), (16, 64), (32, 128)])
def test_prefill_with_every_proportion_of_tiles(block_q: int, block_kv: int) -> None:
    assert attention(1, 2, 1, 70, 150, causal=True, BLOCK_Q=block_q, BLOCK_KV=block_kv) < TOLERANCE


@pytest.mark.parametrize("head_dim", [64, 128])
def test_both_head_dimensions(head_dim: int) -> None:
    assert attention(1, 2, 1, 20, 40, head_dim=head_dim, causal=True) < TOLERANCE
    assert (
        attention(1, 2, 1, 1, 40, head_dim=head_dim, causal=True, decode=True, SPLIT_KV=2)
        < TOLERANCE
    )


@pytest.mark.parametrize("split", [1, 2, 4, 8])
@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1, 1), (2, 8, 2, 1, 50), (1, 25, 1, 1, 70), (1, 4, 4, 1, 16)]
)
def test_decode_puts_parts_together_where_some_have_no_keys(
    shape: tuple[int, ...], split: int
) -> None:
    assert attention(*shape, causal=True, decode=True, SPLIT_KV=split) < TOLERANCE


@pytest.mark.parametrize("split", [1, 4])
@pytest.mark.parametrize(
    "shape", [(1, 4, 2, 3, 40), (1, 2, 1, 20, 64), (1, 2, 1, 9, 5), (1, 8, 1, 5, 100)]
)
def test_decode_takes_several_queries(shape: tuple[int, ...], split: int) -> None:
    """Drafted tokens: the first of them do not see the last keys, nor whole parts of them."""
    assert attention(*shape, causal=True, decode=True, SPLIT_KV=split) < TOLERANCE
