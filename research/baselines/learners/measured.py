"""Selectors that measure at the very problem: exhaustive search, or a short list of it."""

from __future__ import annotations

from typing import Callable

import numpy as np

from kernel import Problem
from learners.base import Selector
from traces import TracePart


class MeasureBest(Selector):
    """Times each candidate of a short list at the problem (here: looks it up) and takes the best.

    Not comparable with selectors that never saw the problem: it pays its measurements whenever a
    new problem comes.
    """

    def __init__(self, part: TracePart, shortlist: Callable[[Problem], list[int]]) -> None:
        self._shortlist = shortlist
        latencies = part.judged.matrix(len(part.candidates))
        self._latencies = dict(zip(part.judged.problems, latencies))

    def choose(self, problem: Problem) -> int | None:
        listed, latencies = self._recorded(problem)
        return listed[int(np.argmin(latencies))] if listed else None

    def measuring_us(self, problem: Problem) -> float:
        _, latencies = self._recorded(problem)
        return float(np.sum(latencies))

    def measured(self, problem: Problem) -> int:
        """Returns how many candidates are timed at the problem."""
        return len(self._recorded(problem)[0])

    def _recorded(self, problem: Problem) -> tuple[list[int], np.ndarray]:
        row = self._latencies[problem]
        listed = [c for c in self._shortlist(problem) if not np.isnan(row[c])]
        return listed, row[listed]


def exhaustive(part: TracePart) -> MeasureBest:
    """Returns the oracle: every candidate is timed."""
    every = list(range(len(part.candidates)))
    return MeasureBest(part, lambda _: every)
