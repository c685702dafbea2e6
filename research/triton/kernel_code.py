#!/usr/bin/env python3
"""Compiles a Triton kernel's whole space, and writes what arXiv 2505.03780 reports of kernels.

    research/triton/kernel_code.py triton_attention --arch 90 --out attention_code.json

No GPU is needed. Of each specialisation, and of all: configurations explored, those whose registers spill,
instructions of the machine code, distinct instructions (names with their modifiers, without
operands) of a configuration and of the whole space; and the lines of Python that all of it comes
from.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from compiling import KERNELS, Code, compile_kernel, lines_of_code, manifest_of


def compiled(
    task: tuple[str, dict[str, int], dict[str, int], int],
) -> tuple[dict[str, int], Code | None, str]:
    """Returns a configuration, its code, and why there is none."""
    kernel, configuration, constants, architecture = task
    try:
        return configuration, compile_kernel(kernel, configuration, constants, architecture), ""
    except Exception as error:  # Whatever Triton raises is this configuration's.
        return configuration, None, str(error).strip().splitlines()[-1]


def spread(values: list[int]) -> dict[str, float]:
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def describe(codes: list[tuple[dict[str, int], Code | None, str]]) -> dict[str, Any]:
    """Returns the figures of some configurations' code."""
    found = [code for _, code, _ in codes if code is not None]
    names = [code.instructions() for code in found]
    return {
        "configurations": len(codes),
        "failed": [
            {"configuration": configuration, "why": why}
            for configuration, code, why in codes
            if code is None
        ],
        "spilling": sum(code.spill_bytes > 0 for code in found),
        "serialised": sum(bool(code.warnings) for code in found),
        "registers": spread([code.registers for code in found]),
        "instructions": spread([len(listed) for listed in names]),
        "instructions_of_all": sum(len(listed) for listed in names),
        "distinct_instructions": spread([len(set(listed)) for listed in names]),
        "distinct_instructions_of_all": len(set().union(*names)),
        "distinct_programs": len({tuple(listed) for listed in names}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", help="folder in kernels/")
    parser.add_argument(
        "--arch", type=int, default=90, help="compute capability times ten (default: 90)"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="configurations compiled at once (default: 1)"
    )
    parser.add_argument(
        "--specialisation", action="append", help="one of them, may be repeated (default: all)"
    )
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    options = parser.parse_args()
    manifest = manifest_of(options.kernel)
    unknown = set(options.specialisation or ()) - set(manifest.specialisations)
    if unknown:
        parser.error(f"no specialisation {', '.join(unknown)}; {list(manifest.specialisations)}")
    figures: dict[str, Any] = {
        "kernel": options.kernel,
        "architecture": f"sm_{options.arch}",
        "lines_of_source": lines_of_code(KERNELS / options.kernel / f"{options.kernel}.py"),
        "specialisations": {},
    }
    everything = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for name, constants in manifest.specialisations.items():
            if options.specialisation and name not in options.specialisation:
                continue
            tasks = [
                (options.kernel, configuration, constants, options.arch)
                for configuration in manifest.space(name)
            ]
            codes = list(pool.map(compiled, tasks))
            figures["specialisations"][name or "default"] = describe(codes)
            everything += codes
            print(f"{name or options.kernel}: {len(codes)} configurations", file=sys.stderr)
    figures["all"] = describe(everything)
    options.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
