"""Samples of each kernel's space compile for three generations of GPUs, without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

KERNELS = ("triton_gemm", "triton_fused_moe", "triton_attention")
# Shared memory that a block can have.
SHARED_BYTES = {80: 163 << 10, 90: 227 << 10, 100: 227 << 10}


@cache
def sample(kernel: str, architecture: int) -> dict[str, Any]:
    script = Path(__file__).with_name("compile_sample.py")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    run = subprocess.run(
        [sys.executable, script, kernel, str(architecture)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("architecture", sorted(SHARED_BYTES))
@pytest.mark.parametrize("kernel", KERNELS)
def test_samples_of_the_space_compile_and_nothing_is_serialised(
    kernel: str, architecture: int
) -> None:
    for code in sample(kernel, architecture)["code"]:
        assert code["warnings"] == [], code
        if architecture >= 90:
            assert code["spill_bytes"] == 0, code
            assert code["shared_bytes"] <= SHARED_BYTES[architecture], code


@pytest.mark.parametrize("kernel", KERNELS)
def test_loads_are_16_bytes_wide_and_asynchronous(kernel: str) -> None:
    for code in sample(kernel, 90)["code"]:
        assert "LDGSTS.E.BYPASS.128" in " ".join(code["instructions"]), code


@pytest.mark.parametrize("kernel", KERNELS)
def test_high_tiles_use_hoppers_tensor_cores(kernel: str) -> None:
    height = {
        "triton_gemm": "BLOCK_M",
        "triton_fused_moe": "BLOCK_SIZE_M",
        "triton_attention": "BLOCK_Q",
    }[kernel]
    for code in sample(kernel, 90)["code"]:
        instruction = "HGMMA" if code["configuration"][height] >= 64 else "HMMA"
        assert any(name.startswith(instruction) for name in code["instructions"]), code


def test_spaces_have_the_sizes_that_their_manifests_say() -> None:
    assert sample("triton_gemm", 90)["sizes"] == {"": 212}
    assert sample("triton_fused_moe", 90)["sizes"] == {"gate_up": 153, "down": 153}
    assert sample("triton_attention", 90)["sizes"] == {
        "causal_d64": 35,
        "causal_d128": 29,
        "full_d64": 35,
        "full_d128": 29,
        "decode_d64": 42,
        "decode_d128": 42,
    }
