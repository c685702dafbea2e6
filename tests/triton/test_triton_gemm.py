"""triton_gemm in Triton's interpreter against numpy: edges, split sums, whoever is last."""

from __future__ import annotations

import numpy as np
import pytest

from launch import Buffer, from_bf16, launch, load, relative_error, to_bf16

KERNEL = load("triton_gemm").gemm_kernel
TOLERANCE = 2e-3  # The manifest's.


def gemm(m: int, n: int, k: int, **constants: int) -> float:
    """Returns the relative error of one launch on random inputs."""
    constants = {
        "BLOCK_M": 16,
        "BLOCK_N": 32,
        "BLOCK_K": 32,
        "SPLIT_K": 1,
        "GROUP_M": 8,
    } | constants
    random = np.random.default_rng(m * 7 + n * 5 + k)
    a = to_bf16(random.uniform(-1, 1, (m, k)))
    b = to_bf16(random.uniform(-1, 1, (n, k)))
    c = Buffer.poison((m, n), "bf16")
    tiles = -(-m // constants["BLOCK_M"]) * -(-n // constants["BLOCK_N"])
    partials = Buffer.poison((constants["SPLIT_K"], m, n), "fp32")
    arrivals = Buffer(np.zeros(tiles, np.int32), "i32")
    arguments = [Buffer(a, "bf16"), Buffer(b, "bf16"), c, partials, arrivals, m, n, k]
    launch(KERNEL, tiles * constants["SPLIT_K"], arguments, constants)
    assert (arrivals.array() == 0).all(), "arrivals are not left zero"
    return relative_error(from_bf16(c.array()), from_bf16(a) @ from_bf16(b).T)


@pytest.mark.parametrize(
    "m, n, k", [(1, 1, 1), (16, 32, 32), (17, 33, 31), (15, 31, 65), (1, 100, 40), (100, 1, 7)]
)
def test_edges_of_every_dimension_are_right(m: int, n: int, k: int) -> None:
    assert gemm(m, n, k) < TOLERANCE


@pytest.mark.parametrize("split", [2, 4, 8])
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (17, 40, 33), (5, 64, 256), (16, 33, 250)])
def test_parts_of_k_add_up_where_some_have_nothing_to_do(
    m: int, n: int, k: int, split: int
) -> None:
    assert gemm(m, n, k, SPLIT_K=split) < TOLERANCE


@pytest.mark.parametrize("group", [1, 3, 8])
def test_groups_of_rows_reach_every_tile(group: int) -> None:
    assert gemm(16 * 7 + 3, 32 * 3, 32, GROUP_M=group) < TOLERANCE


@pytest.mark.parametrize("tile", [(64, 64, 32), (128, 64, 64), (64, 128, 128)])
def test_large_tiles_on_small_problems(tile: tuple[int, int, int]) -> None:
    assert gemm(65, 70, 130, BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[2]) < TOLERANCE
