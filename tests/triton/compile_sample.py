#!/usr/bin/env python3
"""Compiles a sample of a kernel's space, and prints as JSON what ptxas made of it.

    tests/triton/compile_sample.py triton_gemm 90

A process of its own: what pytest's process has imported is interpreted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "research" / "triton"))

from compiling import compile_kernel, manifest_of  # noqa: E402

# The first of each space, and what is unlike it: high and low tiles, split loops.
WANTED = {
    "triton_gemm": [
        {
            "BLOCK_M": 128,
            "BLOCK_N": 256,
            "BLOCK_K": 64,
            "SPLIT_K": 1,
            "num_warps": 8,
            "num_stages": 4,
        },
        {
            "BLOCK_M": 128,
            "BLOCK_N": 128,
            "BLOCK_K": 32,
            "SPLIT_K": 1,
            "num_warps": 8,
            "num_stages": 3,
        },
        {
            "BLOCK_M": 16,
            "BLOCK_N": 64,
            "BLOCK_K": 128,
            "SPLIT_K": 4,
            "num_warps": 4,
            "num_stages": 4,
        },
    ],
    "triton_fused_moe": [
        {
            "BLOCK_SIZE_M": 128,
            "BLOCK_SIZE_N": 256,
            "BLOCK_SIZE_K": 64,
            "GROUP_SIZE_M": 16,
            "num_warps": 8,
            "num_stages": 4,
        },
        {
            "BLOCK_SIZE_M": 16,
            "BLOCK_SIZE_N": 64,
            "BLOCK_SIZE_K": 128,
            "GROUP_SIZE_M": 1,
            "num_warps": 4,
            "num_stages": 4,
        },
    ],
    "triton_attention": [
        {"BLOCK_Q": 128, "BLOCK_KV": 64, "SPLIT_KV": 1, "num_warps": 8, "num_stages": 3},
        {"BLOCK_Q": 16, "BLOCK_KV": 64, "SPLIT_KV": 16, "num_warps": 4, "num_stages": 3},
    ],
}
# Scalars whose value may be compiled in.
ONES = {
    "triton_gemm": ("m", "n"),
    "triton_fused_moe": ("num_blocks", "top_k"),
    "triton_attention": ("seq_q", "kv_heads"),
}


def main() -> None:
    kernel, architecture = sys.argv[1], int(sys.argv[2])
    manifest = manifest_of(kernel)
    found = []
    for name, constants in manifest.specialisations.items():
        space = manifest.space(name)
        sample = [
            one for one in space if any(wanted.items() <= one.items() for wanted in WANTED[kernel])
        ]
        assert sample, f"nothing of the sample is in the space of {name or kernel}"
        for configuration in sample:
            code = compile_kernel(kernel, configuration, constants, architecture)
            found.append(
                {
                    "specialisation": name,
                    "configuration": configuration,
                    "registers": code.registers,
                    "spill_bytes": code.spill_bytes,
                    "shared_bytes": code.shared_bytes,
                    "warnings": code.warnings,
                    # Looked at for one architecture.
                    "instructions": sorted(set(code.instructions())) if architecture == 90 else [],
                }
            )
        compile_kernel(kernel, sample[-1], constants, architecture, ones=ONES[kernel])
    print(
        json.dumps(
            {
                "sizes": {name: len(manifest.space(name)) for name in manifest.specialisations},
                "code": found,
            }
        )
    )


if __name__ == "__main__":
    main()
