"""A kernel as its manifest declares it: names, roles, legality, and where launches land.

Conditions and expressions are text (docs/manifest.md). The same arithmetic as model/kernel/mapping.h and model/kernel/kernel_validation.h, vectorised over candidates;
docs/manifest.md explains the fields.

    kernel = Kernel.read(Path("tests/data/h200/gemm_bf16/manifest.textproto"))
    coordinates = kernel.coordinates(problem, configurations)   # configurations: [c, p]
    coordinates.tiles                                           # G, [c]
"""

from __future__ import annotations

import ast
import dataclasses
import operator
import re
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
        self._predicates = [_text(p) for p in manifest.get("problem_predicates", [])]
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
        rows = _row_axis(self._mapping)
        return self.dimensions.index(rows[0]) if rows else 0

    def widths(self, problem: Problem) -> tuple[int, ...]:
        """Returns the extents that a model fixes: all but the token dimension's."""
        token = self.token_dimension
        return tuple(e for i, e in enumerate(problem.extents) if i != token)

    def legal(self, problem: Problem, configurations: np.ndarray) -> np.ndarray:
        """Returns whether each configuration ([c, p]) may run the problem, [c] of bool."""
        evaluator = _Evaluator(self._values(problem, configurations), problem.repeated)
        result = np.ones(len(configurations), dtype=bool)
        for predicate in self._predicates:
            result &= evaluator.value(predicate)
        return result

    def coordinates(self, problem: Problem, configurations: np.ndarray) -> Coordinates:
        """Returns where `problem` lands under each of `configurations`, [c, p]. Cannot fail."""
        mapping = self._mappings.get(problem.specialisation, self._mapping)
        evaluator = _Evaluator(self._values(problem, configurations), problem.repeated)
        size = len(configurations)

        def at_least_one(field: str | Message) -> np.ndarray:
            return np.maximum(np.broadcast_to(evaluator.value(_text(field)), (size,)), 1)

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
        axis = _row_axis(mapping)
        ones = np.ones(len(configurations))
        if axis is None:
            return ones, ones
        name, parameter = axis
        tile = configurations[:, self.parameters.index(parameter)]
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


def _text(field: str | Message) -> str:
    """Returns a condition or expression, also of a recording, which says `{ text { text: "m" } }`."""
    return field if isinstance(field, str) else first(first(field, "text", {}), "text", "")


def _row_axis(mapping: Message) -> tuple[str, str] | None:
    """Returns dimension and tile parameter of a mapping's rows."""
    if "rows" not in mapping:
        return None
    dimension, tile = re.fullmatch(r"\s*ceil_div\((\w+),\s*(\w+)\)\s*", _text(first(mapping, "rows"))).groups()
    return dimension, tile


class _Evaluator:
    """Values of the manifest's texts over one problem and c configurations. Of docs/manifest.md what recordings have: no
    `when`, `and`, `or` or `not`. Their form is Python's, so that Python parses them."""

    def __init__(self, values: dict[str, Whole], repeated: tuple[int, ...]) -> None:
        self._values = values
        self._repeated = repeated

    def value(self, text: str) -> Whole:
        """Returns its value. Errors: ValueError for what is not known; KeyError for a name."""
        plain = re.sub(r"(\d+) *([KM])iB", lambda m: str(int(m[1]) << (10 if m[2] == "K" else 20)), text)
        return self._of(ast.parse(plain.strip(), mode="eval").body)

    def _of(self, node: ast.expr) -> Whole:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name):
                return self._values[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._of(operand)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                return _OPERATIONS[type(operation)](self._of(left), self._of(right))
            case ast.Compare(left=left, ops=[comparison], comparators=[right]) if type(comparison) in _COMPARISONS:
                return _COMPARISONS[type(comparison)](self._of(left), self._of(right))
            case ast.Call(func=ast.Name(id="ceil_div"), args=[numerator, denominator]):
                return -(-self._of(numerator) // np.maximum(self._of(denominator), 1))
            case ast.Call(func=ast.Name(id="sum_over"), args=[ast.Name(id=dimension), term]):
                elements = [{**self._values, dimension: element} for element in self._repeated]
                return sum(_Evaluator(values, self._repeated)._of(term) for values in elements)
            case ast.Call(func=ast.Name(id="causal_blocks"), args=[_, _, _, _] as sides):
                return _causal_blocks(*map(self._of, sides))
        raise ValueError(f"{ast.unparse(node)!r} is nothing that recordings have")


_OPERATIONS: dict[type, Callable[..., Whole]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: lambda left, right: left % np.maximum(right, 1),
}
_COMPARISONS: dict[type, Callable[..., np.ndarray]] = {
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}


def _causal_blocks(seq_q: Whole, seq_kv: Whole, block_q: Whole, block_kv: Whole) -> np.ndarray:
    totals = []
    for q, kv in zip(*np.broadcast_arrays(block_q, block_kv)):
        ends = np.minimum((np.arange(-(-seq_q // q)) + 1) * q, seq_q)
        visible = np.clip(seq_kv - seq_q + ends, 1, seq_kv)
        totals.append(np.sum(-(-visible // kv)))
    return np.array(totals, dtype=np.int64)
