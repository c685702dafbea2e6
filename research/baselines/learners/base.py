"""What every selector is, and what it may learn from."""

from __future__ import annotations

import abc
import dataclasses

import numpy as np

from kernel import Coordinates, Problem
from traces import SampleSet, TracePart


class Selector(abc.ABC):
    """Chooses a candidate for a problem. Deterministic once made."""

    @abc.abstractmethod
    def choose(self, problem: Problem) -> int | None:
        """Returns the number of a candidate, or None for the default configuration. What it
        returns may be illegal for the problem: the judge then takes the default."""

    def measuring_us(self, problem: Problem) -> float:
        """Returns the device time of the launches that a choice itself needs, one of each
        candidate, in microseconds: a lower bound of what measuring costs."""
        del problem
        return 0.0


@dataclasses.dataclass(frozen=True)
class Training:
    """What a selector may learn from: never a judged problem of its own."""

    part: TracePart
    samples: SampleSet

    def best_of_problem(self) -> np.ndarray:
        """Returns the fastest candidate's number at each problem of the samples, [problems]."""
        return np.nanargmin(self.samples.matrix(len(self.part.candidates)), axis=1)

    def coordinates(self) -> Coordinates:
        """Returns the physical coordinates of every sample; all arrays are [samples]."""
        configurations = self.part.candidates.configurations
        size = len(self.samples)
        fields = {f.name: np.zeros(size) for f in dataclasses.fields(Coordinates)}
        for number, problem in enumerate(self.samples.problems):
            of_problem = np.flatnonzero(self.samples.problem == number)
            chosen = configurations[self.samples.candidate[of_problem]]
            found = self.part.kernel.coordinates(problem, chosen)
            for name, values in fields.items():
                values[of_problem] = getattr(found, name)
        return Coordinates(**fields)


def log_extents(problem: Problem) -> list[float]:
    """Returns log2 of the extents; of a repeated dimension the sum, largest and number."""
    values = [np.log2(max(extent, 1)) for extent in problem.extents]
    if problem.repeated:
        parts = (sum(problem.repeated), max(problem.repeated), len(problem.repeated))
        values += [float(np.log2(max(part, 1))) for part in parts]
    return values
