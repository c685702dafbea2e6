"""A small GEMM with made-up latencies, for tests."""

from __future__ import annotations

import numpy as np

import textproto
from kernel import Kernel, Problem
from traces import Candidates, SampleSet, TracePart

MANIFEST = """
name: "gemm"
dimensions { name: "m" }
dimensions { name: "n" }
dimensions { name: "k" }
parameters { name: "BLOCK_M" role: MACRO values: [16, 64] }
parameters { name: "BLOCK_N" role: MACRO values: 64 }
parameters { name: "BLOCK_K" role: MACRO values: 64 }
parameters { name: "VECTOR" role: MACRO values: [1, 8] }
parameters { name: "STAGES" role: MICRO values: [2, 4] }
problem_predicates: "k % VECTOR == 0"
mapping {
  tiles: "ceil_div(m, BLOCK_M) * ceil_div(n, BLOCK_N)"
  iterations_per_tile: "ceil_div(k, BLOCK_K)"
  rows: "ceil_div(m, BLOCK_M)"
}
default_configuration { key: "BLOCK_M" value: 64 }
default_configuration { key: "BLOCK_N" value: 64 }
default_configuration { key: "BLOCK_K" value: 64 }
default_configuration { key: "VECTOR" value: 1 }
default_configuration { key: "STAGES" value: 2 }
"""

# BLOCK_M, BLOCK_N, BLOCK_K, VECTOR, STAGES.
CONFIGURATIONS = [
    (64, 64, 64, 1, 2),
    (64, 64, 64, 8, 2),
    (64, 64, 64, 8, 4),
    (16, 64, 64, 8, 2),
    (16, 64, 64, 8, 4),
]
MULTIPROCESSORS = 10


def kernel() -> Kernel:
    """Returns the kernel of MANIFEST."""
    return Kernel(textproto.parse(MANIFEST))


def candidates() -> Candidates:
    """Returns CONFIGURATIONS with one tile in flight per multiprocessor."""
    size = len(CONFIGURATIONS)
    return Candidates(
        np.array(CONFIGURATIONS, dtype=np.int64),
        np.full(size, MULTIPROCESSORS),
        np.full(size, 64),
        np.full(size, 1024),
    )


def latency_us(problem: Problem, candidate: int) -> float:
    """Returns a latency that the plain wave model describes exactly: 5 us, tiles of 16 rows a
    third of the time of tiles of 64, four stages 10 % faster from 16 iterations on."""
    block_m, _, _, vector, stages = CONFIGURATIONS[candidate]
    m, n, k = problem.extents
    tiles = -(-m // block_m) * -(-n // 64)
    loops = -(-k // 64)
    per_loop = (3.0 if block_m == 64 else 1.0) * (1.0 if vector == 8 else 2.0)
    if stages == 4:
        per_loop *= 0.9 if loops >= 16 else 1.1
    return 5.0 + 0.01 * tiles * loops * per_loop


def samples(at: list[Problem]) -> SampleSet:
    """Returns every legal candidate at each problem."""
    declared, listed = kernel(), candidates()
    rows = [
        (number, int(candidate), latency_us(problem, int(candidate)))
        for number, problem in enumerate(at)
        for candidate in np.flatnonzero(declared.legal(problem, listed.configurations))
    ]
    problem, candidate, latency = zip(*rows) if rows else ((), (), ())
    return SampleSet(
        list(at), np.array(problem, int), np.array(candidate, int), np.array(latency, float)
    )


def problems(tokens: list[int], widths: list[tuple[int, int]]) -> list[Problem]:
    """Returns the cross product of token counts and (n, k)."""
    return [Problem((m, n, k)) for n, k in widths for m in tokens]


def part(representative: list[Problem], judged: list[Problem]) -> TracePart:
    """Returns a trace's part; its anchors are the representative problems."""
    return TracePart(
        kernel(),
        "",
        MULTIPROCESSORS,
        candidates(),
        samples(representative),
        samples(representative),
        samples(judged),
    )
