"""A kernel as its manifest declares it: names, roles, legality, and where launches land.

The same arithmetic as model/kernel/mapping.h and model/kernel/kernel_validation.h, vectorised over candidates;
docs/manifest.md explains the fields.

    kernel = Kernel.read(Path("tests/data/h200/gemm_bf16/manifest.textproto"))
    coordinates = kernel.coordinates(problem, configurations)   # configurations: [c, p]
    coordinates.tiles                                           # G, [c]
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Callable

import numpy as np

import textproto
from textproto import Message, first


# A whole number for all configurations, or one for each: [c].
Whole = int | np.ndarray


@dataclasses.dataclass(frozen=True, order=True)
class Problem:
    """Input sizes of one launch. The slot of a repeated dimension is 0; its elements are apart."""

    extents: tuple[int, ...]
    repeated: tuple[int, ...] = ()
    specialisation: str = ""


@dataclasses.dataclass(frozen=True)
class Coordinates:
    """Physical coordinates of one problem under c configurations; all arrays are [c]."""

    tiles: np.ndarray  # G, >= 1.
    iterations: np.ndarray  # L = W / G, mean main-loop iterations per tile.
    longest_loop: np.ndarray  # Iterations of the longest tile.
    rows: np.ndarray  # Rows of tiles; 1 without a row axis.
    row_fill: np.ndarray  # Fill of the last row, in (0, 1].


_COMPARISONS: dict[str, Callable[..., np.ndarray]] = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LESS": np.less,
    "LESS_OR_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_OR_EQUAL": np.greater_equal,
    "MULTIPLE_OF": lambda left, right: left % np.maximum(right, 1) == 0,
}


class Kernel:
    """Dimensions, parameters, predicates and mapping of one kernel. Immutable, thread-safe."""

    def __init__(self, manifest: Message) -> None:
        self.name: str = first(manifest, "name", "")
        dimensions = manifest.get("dimensions", [])
        self.dimensions: list[str] = [first(d, "name") for d in dimensions]
        self.repeated: str | None = next(
            (first(d, "name") for d in dimensions if first(d, "repeated") == "true"), None
        )
        parameters = manifest.get("parameters", [])
        self.parameters: list[str] = [first(p, "name") for p in parameters]
        self.macro: list[bool] = [first(p, "role") == "MACRO" for p in parameters]
        default = {
            first(e, "key"): first(e, "value", 0) for e in manifest.get("default_configuration", [])
        }
        self.default: tuple[int, ...] = tuple(default[name] for name in self.parameters)
        # Specialisation name to the defines that mark its lines; one unnamed without any.
        self.specialisations: dict[str, dict[str, str]] = {
            first(s, "name"): {first(e, "key"): first(e, "value") for e in s.get("defines", [])}
            for s in manifest.get("specialisations", [])
        } or {"": {}}
        self._predicates: list[Message] = manifest.get("problem_predicates", [])
        self._mapping: Message = first(manifest, "mapping", {})
        self._mappings: dict[str, Message] = {
            first(s, "name"): first(s, "mapping")
            for s in manifest.get("specialisations", [])
            if "mapping" in s
        }

    @staticmethod
    def read(path: Path) -> Kernel:
        """Reads a manifest.textproto. Errors: OSError; TextProtoError with the line."""
        return Kernel(textproto.parse(path.read_text(encoding="utf-8")))

    @property
    def token_dimension(self) -> int:
        """The dimension that grows with a request (m of a GEMM): that of the mapping's rows."""
        rows = first(self._mapping, "rows")
        return self.dimensions.index(first(rows, "dimension")) if rows else 0

    def widths(self, problem: Problem) -> tuple[int, ...]:
        """Returns the extents that a model fixes: all but the token dimension's."""
        token = self.token_dimension
        return tuple(e for i, e in enumerate(problem.extents) if i != token)

    def legal(self, problem: Problem, configurations: np.ndarray) -> np.ndarray:
        """Returns whether each configuration ([c, p]) may run the problem, [c] of bool."""
        values = self._values(problem, configurations)
        result = np.ones(len(configurations), dtype=bool)
        for predicate in self._predicates:
            left = _sum_of_terms(predicate.get("left", []), values)
            right = _sum_of_terms(predicate.get("right", []), values)
            result &= _COMPARISONS[first(predicate, "op")](left, right)
        return result

    def coordinates(self, problem: Problem, configurations: np.ndarray) -> Coordinates:
        """Returns where `problem` lands under each of `configurations`, [c, p]. Cannot fail."""
        mapping = self._mappings.get(problem.specialisation, self._mapping)
        evaluator = _Evaluator(self._values(problem, configurations), problem.repeated)
        size = len(configurations)

        def at_least_one(expression: Message) -> np.ndarray:
            return np.maximum(np.broadcast_to(evaluator.value(expression), (size,)), 1)

        tiles = at_least_one(first(mapping, "tiles"))
        if "iterations_per_tile" in mapping:
            longest = at_least_one(first(mapping, "iterations_per_tile"))
            iterations = longest.astype(float)
        else:
            total = first(mapping, "total_iterations")
            work = tiles if total is None else at_least_one(total)
            iterations = work / tiles
            longest = -(-work // tiles)
        if "longest_loop" in mapping:
            longest = at_least_one(first(mapping, "longest_loop"))
        rows, fill = self._rows(mapping, problem, configurations)
        return Coordinates(tiles, iterations, longest, rows, fill)

    def _rows(
        self, mapping: Message, problem: Problem, configurations: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        axis = first(mapping, "rows")
        ones = np.ones(len(configurations))
        if axis is None:
            return ones, ones
        name = first(axis, "dimension")
        tile = configurations[:, self.parameters.index(first(axis, "tile"))]
        extents = (
            [e for e in problem.repeated if e > 0]
            if name == self.repeated
            else [problem.extents[self.dimensions.index(name)]]
        )
        if not extents:
            return ones, ones
        rows = [-(-extent // tile) for extent in extents]
        fills = [(extent - (own - 1) * tile) / tile for extent, own in zip(extents, rows)]
        return np.sum(rows, axis=0), np.mean(fills, axis=0)

    def _values(self, problem: Problem, configurations: np.ndarray) -> dict[str, Whole]:
        values: dict[str, Whole] = dict(zip(self.dimensions, problem.extents))
        for index, name in enumerate(self.parameters):
            values[name] = configurations[:, index]
        return values


def _sum_of_terms(terms: list[Message], values: dict[str, Whole]) -> Whole:
    total: Whole = 0
    for term in terms:
        product: Whole = first(term, "coefficient", 0) or 1
        for factor in term.get("factors", []):
            product = product * values[factor]
        total = total + product
    return total


class _Evaluator:
    """Values of the manifest's expressions over one problem and c configurations."""

    def __init__(self, values: dict[str, Whole], repeated: tuple[int, ...]) -> None:
        self._values = values
        self._repeated = repeated

    def value(self, expression: Message) -> Whole:
        """Returns its value. Errors: ValueError for an unknown kind of expression."""
        ((kind, (argument, *_)),) = expression.items()
        if kind == "constant":
            return argument
        if kind in ("dimension", "parameter"):
            return self._values[argument]
        if kind == "ceil_div":
            divisor = np.maximum(self._product(argument["denominator"]), 1)
            return -(-self._product(argument["numerator"]) // divisor)
        if kind == "product":
            return self._product(argument["factors"])
        if kind == "sum":
            total: Whole = 0
            for term in argument["terms"]:
                total = total + self.value(term)
            return total
        if kind == "sum_over":
            return self._sum_over(argument)
        if kind == "causal_blocks":
            return self._causal_blocks(argument)
        raise ValueError(f"unknown expression {kind!r}")

    def _product(self, factors: list[Message]) -> Whole:
        product: Whole = 1
        for factor in factors:
            product = product * self.value(factor)
        return product

    def _sum_over(self, argument: Message) -> Whole:
        total: Whole = 0
        for element in self._repeated:
            values = {**self._values, first(argument, "dimension"): element}
            total = total + _Evaluator(values, self._repeated).value(first(argument, "term"))
        return total

    def _causal_blocks(self, argument: Message) -> Whole:
        seq_q, seq_kv = (int(self._values[first(argument, n)]) for n in ("seq_q", "seq_kv"))
        block_q, block_kv = (self._values[first(argument, n)] for n in ("block_q", "block_kv"))
        totals = []
        for q, kv in zip(*np.broadcast_arrays(block_q, block_kv)):
            ends = np.minimum((np.arange(-(-seq_q // q)) + 1) * q, seq_q)
            visible = np.clip(seq_kv - seq_q + ends, 1, seq_kv)
            totals.append(np.sum(-(-visible // kv)))
        return np.array(totals, dtype=np.int64)
