"""The selectors that are compared, and what each of them gets to learn from."""

from __future__ import annotations

import dataclasses
import functools
from typing import Callable

import numpy as np

from judging import Run, halves
from kernel import Problem
from learners.base import Selector, Training
from learners.boosted import BoostedTrees
from learners.constant import LookUp, best_single, default
from learners.matmul_heuristics import Advisor, MatmulHeuristics, Unavailable, applies_to
from learners.measured import MeasureBest, exhaustive
from learners.nearest import NearestTuned
from learners.plain_wave import PlainWave
from learners.tree import DecisionTree, RegretTree
from traces import SampleSet, TracePart, concatenate

_NOTHING = "nothing"
_PLANNED = "planned samples"
_ANCHORS = "anchors"
_REPRESENTATIVE = "representative"
_OTHER_HALF = "other half"
_EVERY_SAMPLE = "all samples"
_AT_PROBLEM = "at the problem"

# What the words in the table mean.
LEGEND = {
    _PLANNED: "the samples that our planner asked for",
    _ANCHORS: "every anchor recorded",
    _REPRESENTATIVE: "every candidate at the representative problems",
    _OTHER_HALF: "every candidate at half of the judged problems, judged on the other, both ways",
    _EVERY_SAMPLE: "every anchor and every candidate at the representative problems",
    _AT_PROBLEM: "measurements of the judged problem itself, whenever a new one comes: no peer of "
    "the others; a decision includes one launch of each candidate",
}

# More suggestions than are measured: several map to one candidate.
_SUGGESTIONS = 32
_MEASURED = 8


@dataclasses.dataclass(frozen=True)
class Case:
    """One specialisation: what was recorded, what ours was fitted to, what ours chose: by the row's
    name, as tables of several sizes may be compared."""

    part: TracePart
    samples: SampleSet
    choices: dict[str, dict[Problem, int]]

    def all_judged(self) -> np.ndarray:
        return np.ones(len(self.part.judged.problems), dtype=bool)


Learner = Callable[[Training], Selector]
Runs = Callable[[Case], list[Run]]


@dataclasses.dataclass(frozen=True)
class Method:
    """A row of the table. Of several variants the best one is shown, in hindsight."""

    name: str
    learned_from: str
    variants: dict[str, Runs]
    ours: bool = False  # Decides in C++: its latency is measured elsewhere.


@dataclasses.dataclass(frozen=True)
class Options:
    """Which methods are compared."""

    planned: bool  # Samples are those of a plan, not every anchor.
    gpu: str | None = None  # As nvMatmulHeuristics calls it; None leaves it out.
    every_sample: bool = False  # Boosted trees from all of them, too, where others get fewer.


def methods(cases: list[Case], options: Options) -> tuple[list[Method], list[str]]:
    """Returns the rows in order, and one line for each method that cannot be compared here."""
    samples = _PLANNED if options.planned else _ANCHORS
    rows = [
        Method("default configuration", _NOTHING, {"": _fixed(lambda c: default(c.part))}),
        *_tuned_methods(cases),
        Method("gradient-boosted trees", samples, _boosted(_from_samples)),
    ]
    if options.every_sample and options.planned:
        rows.append(Method("gradient-boosted trees", _EVERY_SAMPLE, _boosted(_from_every_sample)))
    heuristics, notes = _heuristics(cases, options)
    rows += heuristics
    rows += [
        Method("plain wave model (arXiv 2604.10187)", samples, {"": _learner(PlainWave)}),
        *(
            Method(name, samples, {"": functools.partial(_ours, name)}, ours=True)
            for name in cases[0].choices
        ),
        Method("exhaustive (oracle)", _AT_PROBLEM, {"": _measured(lambda c: exhaustive(c.part))}),
    ]
    return rows, notes


def _tuned_methods(cases: list[Case]) -> list[Method]:
    learners: list[tuple[str, Learner]] = [
        ("best single configuration", best_single),
        ("nearest tuned M", NearestTuned),
        ("decision tree", DecisionTree),
        ("decision tree of regrets", RegretTree),
    ]
    recorded = all(len(case.part.representative) for case in cases)
    rows = []
    for name, learner in learners:
        if recorded:
            from_representative = functools.partial(_from_representative, learner)
            rows.append(Method(name, _REPRESENTATIVE, {"": from_representative}))
        from_half = functools.partial(_from_other_half, learner)
        rows.append(Method(name, _OTHER_HALF, {"": from_half}))
    return rows


def _learner(learner: Learner) -> Runs:
    return functools.partial(_from_samples, learner)


def _boosted(learn: Callable[[Learner, Case], list[Run]]) -> dict[str, Runs]:
    """The published settings, and the one setting left open that helped most where tried."""
    half = functools.partial(BoostedTrees, columns=0.5)
    return {
        "all columns per tree": functools.partial(learn, BoostedTrees),
        "half the columns per tree": functools.partial(learn, half),
    }


def _fixed(make: Callable[[Case], Selector]) -> Runs:
    return lambda case: [Run(case.part, make(case), case.all_judged(), [], 0)]


def _trained(learner: Learner, case: Case, samples: SampleSet) -> list[Run]:
    selector = learner(Training(case.part, samples))
    return [Run(case.part, selector, case.all_judged(), samples.problems, len(samples))]


def _from_samples(learner: Learner, case: Case) -> list[Run]:
    return _trained(learner, case, case.samples)


def _from_representative(learner: Learner, case: Case) -> list[Run]:
    return _trained(learner, case, case.part.representative)


def _from_every_sample(learner: Learner, case: Case) -> list[Run]:
    every = concatenate([case.part.anchors, case.part.representative])
    return _trained(learner, case, every)


def _from_other_half(learner: Learner, case: Case) -> list[Run]:
    """Two runs: each half answers from what was recorded at the other."""
    half = halves(case.part)
    runs = []
    for judged in (half, ~half):
        tuned = case.part.judged.at(~judged)
        selector = learner(Training(case.part, tuned))
        runs.append(Run(case.part, selector, judged, tuned.problems, len(tuned)))
    return runs


def _ours(name: str, case: Case) -> list[Run]:
    selector = LookUp(case.choices[name])
    samples = case.samples
    return [Run(case.part, selector, case.all_judged(), samples.problems, len(samples))]


def _measured(make: Callable[[Case], MeasureBest]) -> Runs:
    def runs(case: Case) -> list[Run]:
        selector = make(case)
        problems = case.part.judged.problems
        samples = sum(selector.measured(problem) for problem in problems)
        return [Run(case.part, selector, case.all_judged(), problems, samples)]

    return runs


def _heuristics(cases: list[Case], options: Options) -> tuple[list[Method], list[str]]:
    kernel = cases[0].part.kernel
    if not applies_to(kernel):
        return [], [f"nvMatmulHeuristics: {kernel.name} is no GEMM that it knows"]
    if options.gpu is None:
        return [], ["nvMatmulHeuristics: it does not know this device (--gpu names another)"]
    first: dict[str, Runs] = {}
    short: dict[str, Runs] = {}
    try:
        for target in ("CUTLASS3", "TRITON"):
            advisor = Advisor(options.gpu, target)
            for swapped in (False, True):
                name = f"{target}, operands swapped" if swapped else target
                first[name] = _fixed(functools.partial(_suggester, advisor, swapped))
                short[name] = _measured(functools.partial(_short_list, advisor, swapped))
    except Unavailable as reason:
        return [], [f"nvMatmulHeuristics: {reason}"]
    return [
        Method("nvMatmulHeuristics, first suggestion", _NOTHING, first),
        Method(f"nvMatmulHeuristics, best of {_MEASURED} measured", _AT_PROBLEM, short),
    ], []


def _suggester(advisor: Advisor, swapped: bool, case: Case) -> MatmulHeuristics:
    return MatmulHeuristics(case.part, advisor, swapped)


def _short_list(advisor: Advisor, swapped: bool, case: Case) -> MeasureBest:
    suggester = _suggester(advisor, swapped, case)
    return MeasureBest(case.part, lambda p: suggester.ranked(p, _SUGGESTIONS)[:_MEASURED])
