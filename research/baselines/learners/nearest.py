"""Nearest tuned M: what serving engines do with their tuned tables.

An engine ships, for each weight shape (n, k), the best configuration at some token counts m, and
takes the entry whose m is nearest. Where (n, k) was not tuned, the nearest one that was, in the
logarithm of its extents, lends its table.
"""

from __future__ import annotations

import numpy as np

from kernel import Kernel, Problem
from learners.base import Selector, Training


class NearestTuned(Selector):
    """Built from problems at which every configuration was measured."""

    def __init__(self, training: Training) -> None:
        self._kernel: Kernel = training.part.kernel
        tables: dict[tuple[int, ...], list[tuple[float, int]]] = {}
        for problem, best in zip(training.samples.problems, training.best_of_problem()):
            entry = (self._tokens(problem), int(best))
            tables.setdefault(self._kernel.widths(problem), []).append(entry)
        self._tables = {
            widths: (np.array([tokens for tokens, _ in table]), [best for _, best in table])
            for widths, table in ((w, sorted(t)) for w, t in tables.items())
        }
        self._widths = list(self._tables)
        self._log_widths = np.log2(np.maximum(np.array(self._widths, dtype=float), 1))

    def choose(self, problem: Problem) -> int | None:
        widths = self._kernel.widths(problem)
        if widths not in self._tables:
            apart = self._log_widths - np.log2(np.maximum(np.array(widths, dtype=float), 1))
            widths = self._widths[int(np.argmin((apart**2).sum(axis=1)))]
        tokens, best = self._tables[widths]
        return best[int(np.argmin(np.abs(tokens - self._tokens(problem))))]

    def _tokens(self, problem: Problem) -> float:
        extent = problem.extents[self._kernel.token_dimension]
        return float(np.log2(max(extent, sum(problem.repeated), 1)))
