#!/usr/bin/env python3
"""Compares how two GPUs rank the configurations of triton_gemm: rank correlation at each shape.

    wavetune bench triton_gemm --shapes research/triton/ranks.csv --exhaustive --record traces/ranks
    research/triton/ranks.py tests/data/h200_triton_gemm traces/ranks

Takes folders of traces (docs/traces.md) and prints, for each shape of both, Spearman's correlation
over the configurations of both, and how good the first's fastest configuration is on the second.
Ends with 1 where a correlation is below --least.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from pathlib import Path

PARAMETERS = ("block_m", "block_n", "block_k", "num_stages", "num_warps")
Shape = tuple[int, int, int]
Configuration = tuple[int, ...]


def rows_of(path: Path) -> list[dict[str, str]]:
    """Returns the lines of a file of comma-separated values, by lower-case columns."""
    text = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    with text as file:
        return [{k.lower(): v for k, v in row.items()} for row in csv.DictReader(file)]


def latencies(folder: Path) -> dict[Shape, dict[Configuration, float]]:
    """Returns microseconds by shape and configuration; without those that split k."""
    candidates = folder / "candidates.csv"
    known = {row["candidate"]: row for row in rows_of(candidates)} if candidates.exists() else {}
    found: dict[Shape, dict[Configuration, float]] = {}
    for row in rows_of(folder / "exhaustive.csv.gz"):
        candidate = known.get(row.get("candidate", ""), row)
        if int(candidate.get("split_k", 1)) > 1:
            continue
        shape = (int(row["m"]), int(row["n"]), int(row["k"]))
        configuration = tuple(int(candidate[name]) for name in PARAMETERS)
        found.setdefault(shape, {})[configuration] = float(row["latency_us"])
    return found


def ranks(values: list[float]) -> list[float]:
    """Returns ranks from 0; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for i in order[at:end]:
            found[i] = (at + end - 1) / 2
        at = end
    return found


def correlation(a: list[float], b: list[float]) -> float:
    """Returns Spearman's: Pearson's of the ranks."""
    x, y = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    covariance = sum((i - mean) * (j - mean) for i, j in zip(x, y))
    spread = sum((i - mean) ** 2 for i in x) * sum((j - mean) ** 2 for j in y)
    return covariance / spread**0.5 if spread > 0 else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=Path, help="folder of a trace")
    parser.add_argument("second", type=Path, help="folder of a trace")
    parser.add_argument("--least", type=float, default=0.95, help="bound (default: 0.95)")
    options = parser.parse_args()
    first, second = latencies(options.first), latencies(options.second)
    shapes = sorted(first.keys() & second.keys())
    if not shapes:
        parser.error("the traces have no shape in common")
    print("m n k: configurations, rank correlation, the first's best of the second's best")
    lowest = 1.0
    for shape in shapes:
        a, b = first[shape], second[shape]
        common = sorted(a.keys() & b.keys())
        found = correlation([a[one] for one in common], [b[one] for one in common])
        share = min(b[one] for one in common) / b[min(common, key=a.__getitem__)]
        print(f"{shape[0]} {shape[1]} {shape[2]}: {len(common)}, {found:.3f}, {share:.3f}")
        lowest = min(lowest, found)
    print(f"lowest of {len(shapes)}: {lowest:.3f}")
    return 0 if lowest >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
