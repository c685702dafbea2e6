"""Kernels of experts in Triton's interpreter against numpy: both GEMMs, skewed routing."""

from __future__ import annotations

import numpy as np
import pytest
from triton.tools.tensor_descriptor import TensorDescriptor

from launch import Buffer, from_bf16, launch, load, relative_error, to_bf16

KERNEL = load("triton_fused_moe").fused_moe_kernel
WITH_MAPS = load("triton_fused_moe_tma").fused_moe_kernel
TOLERANCE = 2e-3  # The manifest's.


def order_of(
    tokens: list[int], block: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns sorted_token_ids, expert_ids and each slot's expert: what index buffers of the
    manifest hold.
    """
    slots = sum(tokens)
    expert_of = random.permutation(np.repeat(np.arange(len(tokens)), tokens))
    order, experts = [], []
    for expert in range(len(tokens)):
        own = np.flatnonzero(expert_of == expert)
        blocks = -(-len(own) // block)
        order += list(own) + [slots] * (blocks * block - len(own))
        experts += [expert] * blocks
    return np.array(order, np.int32), np.array(experts, np.int32), expert_of


def fused_moe(
    tokens: list[int], n: int, k: int, top_k: int, weighted: bool, **constants: int
) -> float:
    """Returns the relative error of one launch on random inputs; with USE_TMA of WITH_MAPS."""
    constants = {
        "BLOCK_SIZE_M": 16,
        "BLOCK_SIZE_N": 32,
        "BLOCK_SIZE_K": 32,
        "GROUP_SIZE_M": 8,
    } | constants
    random = np.random.default_rng(sum(tokens) * 7 + n * 5 + k)
    slots = sum(tokens)
    block = constants["BLOCK_SIZE_M"]
    order, experts, expert_of = order_of(tokens, block, random)
    rows = slots if weighted else -(-slots // top_k)
    a = to_bf16(random.uniform(-1, 1, (rows, k)))
    b = to_bf16(random.uniform(-1, 1, (len(tokens), n, k)))
    weights = random.uniform(0, 1, slots).astype(np.float32)
    c = Buffer.poison((slots, n), "bf16")
    arguments = [
        Buffer(a, "bf16"),
        Buffer(b, "bf16"),
        c,
        Buffer(weights, "fp32"),
        Buffer(order, "i32"),
        Buffer(experts, "i32"),
        Buffer(np.array([len(order)], np.int32), "i32"),
        n,
        k,
        len(experts),
        slots,
        top_k,
    ]
    kernel, maps = KERNEL, []
    if "USE_TMA" in constants:
        kernel, maps = WITH_MAPS, [None, None]
        arguments.append(constants["USE_TMA"])
    if constants.get("USE_TMA"):
        if weighted:  # In the order of places, with something at those that no slot has.
            places = to_bf16(random.uniform(-1, 1, (len(order), k)))
            places[order < slots] = a[order[order < slots]]
            arguments[0] = Buffer(places, "bf16")
        depth = constants["BLOCK_SIZE_K"]
        maps = [
            TensorDescriptor(arguments[0], list(arguments[0].size()), [k, 1], [block, depth]),
            TensorDescriptor(
                arguments[1], [len(tokens) * n, k], [k, 1], [constants["BLOCK_SIZE_N"], depth]
            ),
        ]
    blocks = len(experts) * -(-n // constants["BLOCK_SIZE_N"])
    launch(kernel, blocks, maps + arguments, constants | {"MUL_ROUTED_WEIGHT": int(weighted)})
    row_of = np.arange(slots) if weighted else np.arange(slots) // top_k
    expected = np.einsum("sk,snk->sn", from_bf16(a)[row_of], from_bf16(b)[expert_of])
    if weighted:
        expected *= weights[:, None]
    return relative_error(from_bf16(c.array()), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "tokens, n, k, top_k",
    [
        ([1], 1, 1, 1),
        ([0, 5, 0, 17, 2, 0], 67, 33, 8),
        ([40, 0, 0, 0], 32, 32, 2),
        ([3, 3, 3, 3], 33, 130, 4),
        ([16, 32, 48], 64, 64, 3),
    ],
)
def test_experts_with_few_many_and_no_tokens(
    tokens: list[int], n: int, k: int, top_k: int, weighted: bool
) -> None:
    assert fused_moe(tokens, n, k, top_k, weighted) < TOLERANCE


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tma", [0, 1])
@pytest.mark.parametrize(
    "tokens, n, k, top_k",
    [([0, 5, 0, 17, 2, 0], 80, 48, 8), ([40, 0, 0, 0], 32, 32, 2), ([3, 3, 3, 3], 48, 144, 4)],
)
def test_tensor_maps_load_what_pointers_do(
    tokens: list[int], n: int, k: int, top_k: int, weighted: bool, tma: int
) -> None:
    assert fused_moe(tokens, n, k, top_k, weighted, USE_TMA=tma) < TOLERANCE


@pytest.mark.parametrize("block", [16, 64, 256])
@pytest.mark.parametrize("group", [1, 16])
def test_every_height_of_blocks(block: int, group: int) -> None:
    assert (
        fused_moe([70, 0, 1, 9], 40, 40, 2, True, BLOCK_SIZE_M=block, GROUP_SIZE_M=group)
        < TOLERANCE
    )


def test_blocks_behind_the_last_slot_do_nothing() -> None:
    """Engines launch as many blocks as routing could need."""
    slots = 3
    c = Buffer.poison((slots, 32), "bf16")
    order = np.full(48, slots, np.int32)
    order[:slots] = np.arange(slots)
    ones = to_bf16(np.ones((slots, 32)))
    arguments = [
        Buffer(ones, "bf16"),
        Buffer(to_bf16(np.ones((1, 32, 32))), "bf16"),
        c,
        Buffer(np.ones(slots, np.float32), "fp32"),
        Buffer(order, "i32"),
        Buffer(np.array([0, -1, -1], np.int32), "i32"),
        Buffer(np.array([16], np.int32), "i32"),
        32,
        32,
        3,
        slots,
        1,
    ]
    launch(
        KERNEL,
        3,
        arguments,
        {
            "BLOCK_SIZE_M": 16,
            "BLOCK_SIZE_N": 32,
            "BLOCK_SIZE_K": 32,
            "GROUP_SIZE_M": 1,
            "MUL_ROUTED_WEIGHT": 0,
        },
    )
    assert (from_bf16(c.array()) == 32).all()
