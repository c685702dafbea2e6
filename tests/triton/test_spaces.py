"""What the Triton kernels' spaces contain: what was recorded, and what engines launch untuned."""

from __future__ import annotations

import csv
import gzip
import statistics
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "research" / "triton"))

from compiling import manifest_of  # noqa: E402


def configurations(kernel: str, specialisation: str, names: list[str]) -> set[tuple[int, ...]]:
    space = manifest_of(kernel).space(specialisation)
    return {tuple(configuration[name] for name in names) for configuration in space}


def test_triton_gemm_has_exactly_the_recorded_configurations_where_k_is_not_split() -> None:
    names = ["BLOCK_M", "BLOCK_N", "BLOCK_K", "num_stages", "num_warps"]
    with gzip.open(ROOT / "tests/data/h200_triton_gemm/exhaustive.csv.gz", "rt") as file:
        recorded = {tuple(int(row[name.lower()]) for name in names) for row in csv.DictReader(file)}
    whole = [one for one in manifest_of("triton_gemm").space("") if one["SPLIT_K"] == 1]
    assert {tuple(one[name] for name in names) for one in whole} == recorded
    assert len(whole) == len(recorded) == 176


def test_triton_gemm_has_the_old_default() -> None:
    names = ["BLOCK_M", "BLOCK_N", "BLOCK_K", "SPLIT_K", "num_warps", "num_stages"]
    assert (128, 128, 32, 1, 8, 3) in configurations("triton_gemm", "", names)


def ladder(tokens: int, experts: int) -> tuple[int, ...]:
    """vLLM's rule for bf16 where no file is found: M, N, K, GROUP_SIZE_M, warps, stages."""
    height = 16 if tokens <= 32 else 32 if tokens <= 96 else 64 if tokens <= 512 else 128
    group = 16 if tokens // experts > 128 else 1
    return (
        height,
        64 if tokens <= 64 else 128,
        128 if tokens <= 64 else 64,
        group,
        4 if tokens <= 128 else 8,
        4 if tokens <= 32 else 3,
    )


@pytest.mark.parametrize("specialisation", ["gate_up", "down"])
def test_triton_fused_moe_has_what_engines_launch(specialisation: str) -> None:
    names = ["BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps"]
    space = configurations("triton_fused_moe", specialisation, [*names, "num_stages"])
    for experts in (8, 128):
        for tokens in (1, 32, 33, 64, 65, 96, 97, 128, 129, 512, 513, 4096, 100_000):
            assert ladder(tokens, experts) in space, (tokens, experts)
    # Old defaults: many tokens, and fewer than experts.
    assert (64, 64, 32, 8, 4, 3) in space
    assert (16, 32, 64, 1, 4, 3) in space


def problems(kernel: str) -> list[str]:
    lines = manifest_of(kernel).text.split("\n")
    return [line for line in lines if line.startswith(("representative_", "correctness_problems"))]


@pytest.mark.parametrize("specialisation", ["gate_up", "down"])
def test_triton_fused_moe_tma_is_triton_fused_moe_and_what_pays_with_tma(
    specialisation: str,
) -> None:
    names = ["BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps"]
    names.append("num_stages")
    space = configurations("triton_fused_moe_tma", specialisation, [*names, "USE_TMA"])
    plain = configurations("triton_fused_moe", specialisation, names)
    assert {one[:-1] for one in space if not one[-1]} == plain
    with_tma = {one[:-1] for one in space if one[-1]}
    assert with_tma < plain and len(with_tma) == 14
    # Of SGLang's file for Qwen3-30B-A3B on an H100.
    assert (128, 256, 64, 1, 8, 4) in with_tma
    assert problems("triton_fused_moe_tma") == problems("triton_fused_moe")


@pytest.mark.parametrize("specialisation", ["causal_d64", "causal_d128", "full_d64", "full_d128"])
def test_triton_attention_has_what_engines_launch(specialisation: str) -> None:
    names = ["BLOCK_Q", "BLOCK_KV", "num_warps", "num_stages"]
    space = configurations("triton_attention", specialisation, names)
    assert (128, 64, 4, 3) in space  # Old.
    assert (128, 64, 8, 1) in space  # Modern.


def test_the_prefill_of_triton_attention_nearly_has_the_best_of_what_was_recorded() -> None:
    """Tiles of 256 queries are missing, which spilled then, too, and were the best of two."""
    names = ["BLOCK_Q", "BLOCK_KV", "num_warps", "num_stages"]
    space = configurations("triton_attention", "causal_d128", names)
    found: dict[tuple[str, ...], dict[tuple[int, ...], float]] = {}
    with gzip.open(ROOT / "tests/data/h200_triton_attention/exhaustive.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            dimensions = ("causal", "batch", "heads", "kv_heads", "seq_q", "seq_kv")
            problem = tuple(row[name] for name in dimensions)
            configuration = tuple(int(row[name.lower()]) for name in names)
            if int(row["seq_q"]) > 1:
                found.setdefault(problem, {})[configuration] = float(row["latency_us"])
    assert len(found) > 40
    shares = [
        min(latencies.values()) / min(latencies[one] for one in space & latencies.keys())
        for latencies in found.values()
    ]
    assert statistics.geometric_mean(shares) > 0.998
    assert min(shares) > 0.95
