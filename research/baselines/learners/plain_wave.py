"""The wave model of arXiv 2604.10187 without our deviations.

    w = ceil(G / multiprocessors)                      whatever is resident at once
    T(G, L) = alpha G L + beta G + gamma L + delta     per (macro configuration, wave regime)

Coefficients by ordinary least squares on microseconds. Two tables: the coefficients, of which
stage I takes the row with the least prediction, and the micro table (row, wave regime, loop
anchor), in which stage II looks the micro parameters up.

What the published description and our design leave open is decided here, in the model's favour
where it was tried on the two recorded GEMMs:

- Every wave up to the eighth is a regime of its own, the rest is one.
- A regime with less than ten distinct (G, L) borrows from its neighbours until it has them, and a
  row that has not as many is left out. With just four, as many as coefficients, choices were 77 %
  and 76 % of the oracle; with eight 92 % and 83 %; with ten 92 % and 92 %.
- A row is fitted to its fastest micro variant at each point, as stage II chooses that one.
- A prediction is at least half the least latency of its regime: least squares on microseconds go
  below zero for short launches.
- Loop anchors are the powers of two.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from kernel import Coordinates, Problem
from learners.base import Selector, Training

_REGIME_ENDS = np.arange(1, 9)
_LEAST_POINTS = 10


@dataclasses.dataclass
class _Points:
    """Samples of one macro configuration; all arrays are [s]."""

    tiles: np.ndarray
    loops: np.ndarray
    regime: np.ndarray
    candidate: np.ndarray
    latency_us: np.ndarray

    def at(self, chosen: np.ndarray) -> _Points:
        fields = (getattr(self, f.name)[chosen] for f in dataclasses.fields(self))
        return _Points(*fields)

    def fastest(self) -> _Points:
        """Returns the fastest sample at each (G, L)."""
        order = np.lexsort((self.latency_us, self.loops, self.tiles))
        tiles, loops = self.tiles[order], self.loops[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(tiles) != 0) | (np.diff(loops) != 0)
        return self.at(order[new])


def _design(tiles: np.ndarray, loops: np.ndarray) -> np.ndarray:
    """Returns the terms of the bilinear form, [s, 4]."""
    return np.stack([tiles * loops, tiles, loops, np.ones_like(tiles)], axis=-1)


def _octave(loops: np.ndarray) -> np.ndarray:
    return np.round(np.log2(loops)).astype(int)


@dataclasses.dataclass
class _Cell:
    """One (row, wave regime)."""

    coefficients: np.ndarray  # alpha, beta, gamma, delta.
    floor_us: float
    anchors: np.ndarray  # Octaves of L, ascending.
    micro: np.ndarray  # Candidate at each anchor.


class PlainWave(Selector):
    """Dual tables of the plain model."""

    def __init__(self, training: Training) -> None:
        self._part = training.part
        configurations = self._part.candidates.configurations
        macro = np.array(self._part.kernel.macro)
        _, row_of = np.unique(configurations[:, macro], axis=0, return_inverse=True)
        points = self._points(training)
        rows = []
        for row in range(row_of.max() + 1):
            mine = points.at(row_of[points.candidate] == row)
            if len(mine.fastest().tiles) >= _LEAST_POINTS:
                rows.append([_fit(mine, r) for r in range(len(_REGIME_ENDS) + 1)])
        self._tables = rows
        # A member of each row stands for its macro parameters.
        self._leads = configurations[[int(row[0].micro[0]) for row in rows]]
        self._coefficients = np.array([[cell.coefficients for cell in row] for row in rows])
        self._floors = np.array([[cell.floor_us for cell in row] for row in rows])

    def choose(self, problem: Problem) -> int | None:
        legal = self._part.kernel.legal(problem, self._leads)
        if not legal.any():
            return None
        coordinates = self._part.kernel.coordinates(problem, self._leads)
        regime = self._regime(coordinates)
        every = np.arange(len(self._leads))
        terms = _design(coordinates.tiles.astype(float), coordinates.iterations)
        predicted = (self._coefficients[every, regime] * terms).sum(axis=1)
        predicted = np.maximum(predicted, self._floors[every, regime])
        row = int(np.argmin(np.where(legal, predicted, np.inf)))
        cell = self._tables[row][regime[row]]
        octave = _octave(coordinates.iterations[row])
        return int(cell.micro[int(np.argmin(np.abs(cell.anchors - octave)))])

    def _regime(self, coordinates: Coordinates) -> np.ndarray:
        waves = np.ceil(coordinates.tiles / self._part.multiprocessors)
        return np.searchsorted(_REGIME_ENDS, waves)

    def _points(self, training: Training) -> _Points:
        coordinates = training.coordinates()
        samples = training.samples
        return _Points(
            coordinates.tiles,
            coordinates.iterations,
            self._regime(coordinates),
            samples.candidate,
            samples.latency_us,
        )


def _fit(points: _Points, regime: int) -> _Cell:
    """Fits one regime of a row; `points` are the row's."""
    for reach in range(len(_REGIME_ENDS) + 1):
        mine = points.at(np.abs(points.regime - regime) <= reach)
        fastest = mine.fastest()
        if len(fastest.tiles) >= _LEAST_POINTS:
            break
    design = _design(fastest.tiles, fastest.loops)
    coefficients, *_ = np.linalg.lstsq(design, fastest.latency_us, rcond=None)
    anchors, micro = _micro_table(mine, coefficients)
    return _Cell(coefficients, 0.5 * float(fastest.latency_us.min()), anchors, micro)


def _micro_table(points: _Points, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns loop anchors and the candidate at each: the one that is fastest against the row's
    prediction, so that variants measured at different points can be compared."""
    predicted = _design(points.tiles, points.loops) @ coefficients
    ratio = points.latency_us / np.maximum(predicted, 0.5 * points.latency_us.min())
    octaves = _octave(points.loops)
    anchors = np.unique(octaves)
    micro = []
    for anchor in anchors:
        here = octaves == anchor
        members = np.unique(points.candidate[here])
        means = [ratio[here & (points.candidate == member)].mean() for member in members]
        micro.append(int(members[int(np.argmin(means))]))
    return anchors, np.array(micro)
