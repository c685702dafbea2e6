"""Recorded kernels: a trace folder (docs/traces.md) as arrays.

trace = read_trace(Path("tests/data/h200/gemm_bf16"))
for part in trace.parts:                 # one per specialisation
    part.judged.matrix(len(part.candidates))   # [problems, candidates], us; NaN: not recorded
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import gzip
import io
from pathlib import Path
from typing import Iterator

import numpy as np

import textproto
from kernel import Kernel, Problem

Line = dict[str, str]


class TraceError(ValueError):
    """A trace that cannot be used; says which file and what is missing."""


@dataclasses.dataclass(frozen=True)
class Candidates:
    """The usable candidates of one specialisation."""

    configurations: np.ndarray  # [c, p], in the order of the kernel's parameters.
    capacity: np.ndarray  # [c], tiles in flight.
    registers: np.ndarray  # [c], per thread; 0 where unknown.
    shared_memory: np.ndarray  # [c], bytes; 0 where unknown.

    def __len__(self) -> int:
        return len(self.configurations)

    @functools.cached_property
    def number(self) -> dict[tuple[int, ...], int]:
        """Configuration to candidate number."""
        return {tuple(map(int, row)): i for i, row in enumerate(self.configurations)}


@dataclasses.dataclass(frozen=True)
class SampleSet:
    """Measurements of (candidate, problem) pairs of one specialisation."""

    problems: list[Problem]
    problem: np.ndarray  # [s], index into problems.
    candidate: np.ndarray  # [s], index into the candidates.
    latency_us: np.ndarray  # [s], microseconds, > 0.

    def __len__(self) -> int:
        return len(self.latency_us)

    def matrix(self, candidates: int) -> np.ndarray:
        """Returns latencies, [problems, candidates], us; NaN where there are none. Repeated pairs
        count with the least, as in `wavetune evaluate`."""
        result = np.full((len(self.problems), candidates), np.inf)
        np.minimum.at(result, (self.problem, self.candidate), self.latency_us)
        return np.where(np.isinf(result), np.nan, result)

    def at(self, keep: np.ndarray) -> SampleSet:
        """Returns the samples of the problems where `keep` ([problems], bool) is true."""
        number = np.cumsum(keep) - 1
        chosen = keep[self.problem]
        return SampleSet(
            [p for p, kept in zip(self.problems, keep) if kept],
            number[self.problem[chosen]],
            self.candidate[chosen],
            self.latency_us[chosen],
        )


@dataclasses.dataclass(frozen=True)
class TracePart:
    """What was recorded of one specialisation."""

    kernel: Kernel
    specialisation: str
    multiprocessors: int
    candidates: Candidates
    anchors: SampleSet
    representative: SampleSet  # Every candidate at the representative problems; may be empty.
    judged: SampleSet  # Every candidate at the problems that quality is judged on.


@dataclasses.dataclass(frozen=True)
class Trace:
    """A recorded kernel."""

    kernel: Kernel
    label: str  # Of the device.
    parts: list[TracePart]


def read_trace(folder: Path) -> Trace:
    """Reads a trace folder. Errors: OSError; TraceError naming file and column; TextProtoError."""
    kernel = Kernel.read(folder / "manifest.textproto")
    device = textproto.parse((folder / "device.textproto").read_text(encoding="utf-8"))
    multiprocessors = int(textproto.first(device, "multiprocessors", 1))
    reader = _Reader(kernel, folder, multiprocessors)
    return Trace(kernel, textproto.first(device, "label", ""), list(reader.parts()))


def read_samples(kernel: Kernel, part: TracePart, path: Path) -> SampleSet:
    """Returns the samples of `part`'s specialisation in a file that `wavetune evaluate
    --write-samples` wrote. Errors: OSError; TraceError for an unknown candidate."""
    lines = [line for line in _lines(path) if line.get("specialisation", "") == part.specialisation]
    return _sample_set(kernel, part.candidates, part.specialisation, lines, path)


def read_choices(kernel: Kernel, part: TracePart, path: Path) -> dict[Problem, int]:
    """Returns problem to chosen candidate from a file that `wavetune evaluate --write-decisions`
    wrote. Errors: as read_samples."""
    choices = {}
    for line in _lines(path):
        if line.get("specialisation", "") != part.specialisation:
            continue
        problem = _problem(kernel, line, part.specialisation)
        choices[problem] = _number(kernel, part.candidates, line, path)
    return choices


def concatenate(sets: list[SampleSet]) -> SampleSet:
    """Returns the samples of all sets as one; a problem of several sets is one problem."""
    problems: dict[Problem, int] = {}
    indices = [
        np.array([problems.setdefault(p, len(problems)) for p in part.problems], dtype=np.int64)[
            part.problem
        ]
        for part in sets
        if len(part)
    ]
    filled = [part for part in sets if len(part)]
    return SampleSet(
        list(problems),
        np.concatenate(indices) if indices else np.zeros(0, np.int64),
        np.concatenate([s.candidate for s in filled]) if filled else np.zeros(0, np.int64),
        np.concatenate([s.latency_us for s in filled]) if filled else np.zeros(0),
    )


def _find(folder: Path, name: str) -> Path | None:
    for path in (folder / f"{name}.csv.gz", folder / f"{name}.csv"):
        if path.exists():
            return path
    return None


def _lines(path: Path) -> Iterator[Line]:
    """Yields lines as column (lower case) to cell."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        reader = csv.reader(text)
        header = [name.strip().lower() for name in next(reader, [])]
        for cells in reader:
            if cells:
                yield dict(zip(header, cells))


def _cell(line: Line, column: str, path: Path) -> str:
    try:
        return line[column.lower()]
    except KeyError:
        raise TraceError(f"{path}: column '{column}' is missing") from None


def _problem(kernel: Kernel, line: Line, specialisation: str) -> Problem:
    extents = []
    repeated: tuple[int, ...] = ()
    for name in kernel.dimensions:
        cell = line[name.lower()]
        if name == kernel.repeated:
            repeated = tuple(int(part) for part in cell.split())
            extents.append(0)
        else:
            extents.append(int(cell))
    return Problem(tuple(extents), repeated, specialisation)


def _configuration(kernel: Kernel, line: Line, path: Path) -> tuple[int, ...]:
    return tuple(int(_cell(line, name, path)) for name in kernel.parameters)


def _number(kernel: Kernel, candidates: Candidates, line: Line, path: Path) -> int:
    configuration = _configuration(kernel, line, path)
    try:
        return candidates.number[configuration]
    except KeyError:
        raise TraceError(f"{path}: {configuration} is no candidate of the trace") from None


def _latency(line: Line, path: Path) -> float:
    if "latency_us_median" in line:
        return float(line["latency_us_median"])
    return float(_cell(line, "latency_us", path))


def _sample_set(
    kernel: Kernel,
    candidates: Candidates,
    specialisation: str,
    lines: list[Line],
    path: Path,
    listed: dict[int, int] | None = None,
) -> SampleSet:
    """`listed`: number in candidates.csv to candidate, where lines name their candidate."""
    problems: dict[Problem, int] = {}
    size = len(lines)
    problem = np.zeros(size, np.int64)
    candidate = np.zeros(size, np.int64)
    latency = np.zeros(size)
    for i, line in enumerate(lines):
        at = _problem(kernel, line, specialisation)
        problem[i] = problems.setdefault(at, len(problems))
        candidate[i] = (
            _number(kernel, candidates, line, path)
            if listed is None
            else listed[int(line["candidate"])]
        )
        latency[i] = _latency(line, path)
    return SampleSet(list(problems), problem, candidate, latency)


class _Reader:
    """Reads a folder with or without candidates.csv."""

    def __init__(self, kernel: Kernel, folder: Path, multiprocessors: int) -> None:
        self._kernel = kernel
        self._multiprocessors = multiprocessors
        self._files = {
            name: _find(folder, name)
            for name in ("candidates", "anchors", "representative", "exhaustive")
        }
        for name in ("anchors", "exhaustive"):
            if self._files[name] is None:
                raise TraceError(f"{folder} has no {name}.csv.gz: record the kernel again")
        self._lines = {
            name: list(_lines(path)) if path else [] for name, path in self._files.items()
        }
        # Specialisation of each listed candidate.
        self._listed = {
            int(line["candidate"]): line.get("specialisation", "")
            for line in self._lines["candidates"]
        }

    def parts(self) -> Iterator[TracePart]:
        """Yields the specialisations that have judged problems, in the manifest's order."""
        for specialisation in self._kernel.specialisations:
            candidates, listed = self._candidates(specialisation)
            sets = {
                name: self._samples(name, specialisation, candidates, listed)
                for name in ("anchors", "representative", "exhaustive")
            }
            if len(sets["exhaustive"]) == 0:
                continue
            yield TracePart(
                self._kernel,
                specialisation,
                self._multiprocessors,
                candidates,
                sets["anchors"],
                sets["representative"],
                sets["exhaustive"],
            )

    def _specialisation(self, line: Line) -> str:
        if self._listed and "candidate" in line:
            return self._listed[int(line["candidate"])]
        for name, defines in self._kernel.specialisations.items():
            if all(line.get(macro.lower()) == value for macro, value in defines.items()):
                return name
        return ""

    def _of(self, name: str, specialisation: str) -> list[Line]:
        return [line for line in self._lines[name] if self._specialisation(line) == specialisation]

    def _samples(
        self,
        name: str,
        specialisation: str,
        candidates: Candidates,
        listed: dict[int, int] | None,
    ) -> SampleSet:
        path = self._files[name] or Path(name)
        lines = self._of(name, specialisation)
        return _sample_set(self._kernel, candidates, specialisation, lines, path, listed)

    def _candidates(self, specialisation: str) -> tuple[Candidates, dict[int, int] | None]:
        """Returns the candidates, and, where they are listed, what their numbers mean."""
        if self._listed:
            path = self._files["candidates"]
            lines = [
                line
                for line in self._of("candidates", specialisation)
                if not line.get("excluded", "").strip()
            ]
        else:
            path = self._files["anchors"]
            lines = self._of("anchors", specialisation)
        facts: dict[tuple[int, ...], Line] = {}
        for line in lines:
            facts.setdefault(_configuration(self._kernel, line, path or Path()), line)
        candidates = Candidates(
            np.array(list(facts), dtype=np.int64).reshape(len(facts), len(self._kernel.parameters)),
            np.array([self._capacity(line) for line in facts.values()]),
            np.array([int(line.get("registers_per_thread") or 0) for line in facts.values()]),
            np.array([int(line.get("shared_memory_bytes") or 0) for line in facts.values()]),
        )
        if not self._listed:
            return candidates, None
        return candidates, {int(line["candidate"]): i for i, line in enumerate(facts.values())}

    def _capacity(self, line: Line) -> int:
        if line.get("capacity"):
            return int(line["capacity"])
        return self._multiprocessors * max(1, int(line.get("blocks_per_sm") or 1))
