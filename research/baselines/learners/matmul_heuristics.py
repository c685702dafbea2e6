"""nvMatmulHeuristics: NVIDIA's analytic model of GEMM kernels, from its Python package.

It ranks configurations of CUTLASS 3 or Triton kernels for a problem and a GPU that it knows by
name; it needs no GPU. A suggestion is mapped to the candidate with the nearest tile, split, cluster
and stages. It learns nothing from samples. https://docs.nvidia.com/cuda/nvidia-matmul-heuristics
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernel import Kernel, Problem
from learners.base import Selector
from traces import TracePart

# Our parameter names (lower case) to what a suggestion calls the same.
_ROLES = {
    "block_m": "m",
    "block_n": "n",
    "block_k": "k",
    "stages": "stages",
    "num_stages": "stages",
    "num_warps": "warps",
    "split_k": "split",
    "cluster_m": "cluster_m",
    "cluster_n": "cluster_n",
}
# What one octave of difference costs. The tile and the split decide the grid, so they come first;
# stages and depth trade against each other within the same shared memory.
_WEIGHTS = {
    "m": 4.0,
    "n": 4.0,
    "split": 3.0,
    "k": 1.0,
    "warps": 1.0,
    "cluster_m": 1.0,
    "cluster_n": 1.0,
    "stages": 0.5,
}
# A macro parameter that no suggestion speaks of (another code path, a vector width) keeps its
# default, whatever the tile; a micro one only breaks ties.
_OTHER_MACRO = 100.0
_OTHER_MICRO = 0.01

Suggestion = dict[str, float]


class Unavailable(RuntimeError):
    """The package is not installed, or does not know the GPU or the kernel; says which."""


def applies_to(kernel: Kernel) -> bool:
    """Whether the kernel is a GEMM whose parameters have the names that suggestions speak of."""
    names = {name.lower() for name in kernel.parameters}
    return kernel.dimensions == ["m", "n", "k"] and {"block_m", "block_n", "block_k"} <= names


class Advisor:
    """The package behind one interface: ranked suggestions for a bf16 GEMM with fp32 sums."""

    def __init__(self, gpu: str, target: str) -> None:
        """`gpu`: a name of its NvMatmulHeuristicsNvidiaGpu ("H200_SXM"); `target`: of its
        NvMatmulHeuristicsTarget ("CUTLASS3", "TRITON"). Errors: Unavailable."""
        try:
            import nvMatmulHeuristics as api  # pylint: disable=import-outside-toplevel
        except (ImportError, OSError) as error:
            raise Unavailable(f"nvidia-matmul-heuristics cannot be loaded: {error}") from error
        try:
            device = api.NvMatmulHeuristicsNvidiaGpu[gpu]
        except KeyError:
            raise Unavailable(f"nvidia-matmul-heuristics does not know {gpu}") from None
        # "TST": operands and result bf16 (T), sums fp32 (S). Ranked by its performance model, which
        # suggests better than its default order. Its internal discovery set changes no suggestion
        # here, and is not loaded.
        self._api = api

        class Interface(api.NvMatmulHeuristicsInterface):
            """Lives as long as the process: version 0.1.0.27 crashes when a handle that has
            answered is destroyed."""

            def __del__(self) -> None:
                pass

        self._interface = Interface(
            api.NvMatmulHeuristicsTarget[target],
            precision="TST",
            flags=api.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
        )
        self._hardware = self._interface.createHardwareDescriptor()
        self._interface.setHardwarePredefinedGpu(self._hardware, device)

    def suggest(self, problem: Problem, count: int, swapped: bool) -> list[Suggestion]:
        """Returns up to `count` suggestions for C[m, n] = A[m, k] B[n, k]^T, best first, in the
        terms of the kernel. `swapped`: asks for the transposed product, so that its m is our n."""
        m, n, k = problem.extents
        if swapped:
            m, n = n, m
        found = self._interface.get_with_mnk(m, n, k, self._layout(swapped), count, self._hardware)
        return [_terms(entry["kernel"], swapped) for entry in found]

    def _layout(self, swapped: bool) -> int:
        # Row major A and transposed B; the transposed product reads the same memory.
        layouts = self._api.NvMatmulHeuristicsMatmulLayout
        return layouts.TN_COL_MAJOR if swapped else layouts.NT_ROW_MAJOR


def _terms(kernel: Any, swapped: bool) -> Suggestion:
    tile = (kernel.cta_tile_m, kernel.cta_tile_n)
    cluster = (kernel.cluster_m, kernel.cluster_n)
    warps = (tile[0] // kernel.warp_tile_m) * (tile[1] // kernel.warp_tile_n)
    if swapped:
        tile, cluster = tile[::-1], cluster[::-1]
    return {
        "m": tile[0],
        "n": tile[1],
        "k": kernel.cta_tile_k,
        "stages": kernel.stages,
        "split": kernel.split_k,
        "warps": warps,
        "cluster_m": cluster[0],
        "cluster_n": cluster[1],
    }


class NearestCandidate:
    """Maps a suggestion to the nearest of a trace's candidates."""

    def __init__(self, part: TracePart) -> None:
        configurations = part.candidates.configurations.astype(float)
        kernel = part.kernel
        self._other = np.zeros(len(configurations))
        self._known: list[tuple[str, np.ndarray]] = []
        for index, name in enumerate(kernel.parameters):
            role = _ROLES.get(name.lower())
            if role is not None:
                self._known.append((role, np.log2(configurations[:, index])))
                continue
            differs = configurations[:, index] != kernel.default[index]
            self._other += differs * (_OTHER_MACRO if kernel.macro[index] else _OTHER_MICRO)

    def of(self, suggestion: Suggestion, legal: np.ndarray) -> int:
        """Returns the nearest candidate among those that are `legal` ([c], at least one)."""
        distance = self._other.copy()
        for role, octaves in self._known:
            wanted = math.log2(max(suggestion[role], 1))
            distance += _WEIGHTS[role] * np.abs(octaves - wanted)
        return int(np.argmin(np.where(legal, distance, np.inf)))


class MatmulHeuristics(Selector):
    """Takes the package's first suggestion."""

    def __init__(self, part: TracePart, advisor: Advisor, swapped: bool) -> None:
        self._part = part
        self._advisor = advisor
        self._swapped = swapped
        self._nearest = NearestCandidate(part)

    def choose(self, problem: Problem) -> int | None:
        ranked = self.ranked(problem, 1)
        return ranked[0] if ranked else None

    def ranked(self, problem: Problem, count: int) -> list[int]:
        """Returns the candidates of up to `count` suggestions, best first, each once."""
        legal = self._part.kernel.legal(problem, self._part.candidates.configurations)
        if not legal.any():
            return []
        suggestions = self._advisor.suggest(problem, count, self._swapped)
        return list(dict.fromkeys(self._nearest.of(s, legal) for s in suggestions))
