"""Judges selectors on recorded exhaustive measurements, by one rule for all.

A choice that is None, illegal for the problem or not recorded there counts as the default
configuration, and is counted. The oracle is the least latency recorded at the problem.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from kernel import Problem
from learners.base import Selector
from traces import TraceError, TracePart

_TIMED_ROUNDS = 5


@dataclasses.dataclass(frozen=True)
class Run:
    """A selector, the judged problems that it answers, and what it has learned from."""

    part: TracePart
    selector: Selector
    judged: np.ndarray  # [problems of part.judged], bool.
    learned_from: list[Problem]
    samples: int


@dataclasses.dataclass(frozen=True)
class Judgement:
    """One problem, judged."""

    problem: Problem
    chosen: int
    fraction: float  # Least latency / chosen latency.
    fell_back: bool  # To the default.
    known_widths: bool  # Another problem of the same widths (n, k) was learned from.
    decision_us: float


@dataclasses.dataclass(frozen=True)
class Figures:
    """Figures over problems. Fractions of the oracle are in (0, 1]."""

    problems: int
    geomean: float
    p5: float
    worst: float


def judge(run: Run) -> list[Judgement]:
    """Judges one run. Errors: TraceError where the default is needed but not recorded."""
    part = run.part
    latencies = part.judged.matrix(len(part.candidates))
    legal = [part.kernel.legal(p, part.candidates.configurations) for p in part.judged.problems]
    default = part.candidates.number.get(part.kernel.default)
    widths = {part.kernel.widths(problem) for problem in run.learned_from}
    judgements = []
    for number in np.flatnonzero(run.judged):
        problem = part.judged.problems[number]
        chosen = run.selector.choose(problem)
        row = latencies[number]
        fell_back = chosen is None or not legal[number][chosen] or bool(np.isnan(row[chosen]))
        if fell_back:
            chosen = default
        if chosen is None or np.isnan(row[chosen]):
            raise TraceError(f"the default configuration was not recorded at {problem.extents}")
        judgements.append(
            Judgement(
                problem,
                chosen,
                float(np.nanmin(row) / row[chosen]),
                fell_back,
                part.kernel.widths(problem) in widths,
                _decision_us(run.selector, problem),
            )
        )
    return judgements


def figures(judgements: list[Judgement]) -> Figures | None:
    """Returns the figures; None over nothing. The percentile interpolates, as the CLI's does."""
    if not judgements:
        return None
    fractions = np.array([judgement.fraction for judgement in judgements])
    return Figures(
        len(fractions),
        float(np.exp(np.mean(np.log(fractions)))),
        float(np.percentile(fractions, 5)),
        float(fractions.min()),
    )


def halves(part: TracePart) -> np.ndarray:
    """Returns which of two halves each judged problem belongs to, [problems] of bool: every other
    one in the order of widths, then tokens, so that both halves know nearly all widths."""
    kernel = part.kernel
    problems = part.judged.problems
    order = sorted(range(len(problems)), key=lambda i: (kernel.widths(problems[i]), problems[i]))
    half = np.zeros(len(problems), dtype=bool)
    half[order[::2]] = True
    return half


def _decision_us(selector: Selector, problem: Problem) -> float:
    """Returns the median time of one decision as implemented, batch of one."""
    times = []
    for _ in range(_TIMED_ROUNDS):
        start = time.perf_counter_ns()
        selector.choose(problem)
        times.append(time.perf_counter_ns() - start)
    return float(np.median(times)) / 1e3 + selector.measuring_us(problem)
