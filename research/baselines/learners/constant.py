"""Selectors that answer the same for every problem, and those that look an answer up."""

from __future__ import annotations

import numpy as np

from kernel import Problem
from learners.base import Selector, Training
from traces import TracePart

_MEASURED_SHARE = 0.9


class Constant(Selector):
    """One configuration for everything; None where there is none."""

    def __init__(self, candidate: int | None) -> None:
        self._candidate = candidate

    def choose(self, problem: Problem) -> int | None:
        return self._candidate


class LookUp(Selector):
    """Answers that were computed elsewhere, by problem. What is not there is the default."""

    def __init__(self, choices: dict[Problem, int]) -> None:
        self._choices = choices

    def choose(self, problem: Problem) -> int | None:
        return self._choices.get(problem)


def default(part: TracePart) -> Constant:
    """Returns the manifest's default configuration."""
    return Constant(part.candidates.number.get(part.kernel.default))


def best_single(training: Training) -> Constant:
    """Returns the configuration with the least geometric mean of latency / least latency.

    Measurements are of every candidate at the same problems, but for a few that are missing: a
    candidate counts if it was measured at nine tenths of them. Samples scattered over the wave
    structure would not do: each candidate has problems of its own, and what a problem costs then
    hides what the candidate is worth.
    """
    latencies = training.samples.matrix(len(training.part.candidates))
    regret = np.log(latencies / np.nanmin(latencies, axis=1, keepdims=True))
    known = ~np.isnan(regret)
    mean = np.where(known, regret, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return Constant(int(np.argmin(np.where(known.mean(axis=0) >= _MEASURED_SHARE, mean, np.inf))))
