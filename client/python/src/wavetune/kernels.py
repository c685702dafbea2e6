"""Writes the folder of a tunable kernel: its manifest, as text, beside its sources.

    from wavetune.kernels import Kernel

    kernel = Kernel("scale_rows", description="Rows times a number")
    kernel.dimension("rows", max=1 << 20)
    kernel.dimension("columns", max=1 << 20)
    kernel.parameter("BLOCK_R", [1, 4, 16], default=4)
    kernel.mapping(tiles="ceil_div(rows, BLOCK_R)", iterations_per_tile="columns", rows="ceil_div(rows, BLOCK_R)")
    kernel.implementation("opencl", entry="scale_rows", sources={"scale_rows.cl": SOURCE}, block_size=1)
    kernel.arguments("in x[rows, columns] float32, out y[rows, columns] float32, columns int32, factor float32 = 0.5")
    kernel.correctness("reference.cl", REFERENCE, entry="scale_rows_reference", work_items="rows", relative_tolerance=1e-5)
    kernel.representative(rows=[1, 64, 1024], columns=[1024, 4096])
    kernel.write("my_kernels")                                # then: wavetune kernels check my_kernels/scale_rows

Conditions, sizes and mappings are text (docs/manifest.md). What is wrong with them `wavetune kernels check` says, with its
place; here only what needs no parser is checked: names, values, what is missing or given twice. No Python runs in the daemon,
which reads the manifest.

Sources are given as text, or as a pathlib.Path of a file to copy. Methods return the kernel, so that calls may be chained; a fault is an
InvalidArgumentError (a ValueError) and changes nothing.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import (
    Any,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Optional,
    Sequence,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from wavetune.errors import AlreadyExistsError, FailedPreconditionError, InvalidArgumentError
from wavetune.suggestion import suggestion

__all__ = ["Kernel"]

# An expression is text, or a number.
Expression = Union[str, int]
Source = Union[str, Path]
Values = Union[int, Sequence[int]]

_LOWER_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
# With the end of the names of their sources.
_BACKENDS = {"opencl": ".cl", "cuda": ".cu", "triton": ".py", "replay": ".cl"}
_WAVE_FORMS = ("WAVE_SUM", "WAVE_OVERLAP")
_MAPPING_FIELDS = ("tiles", "iterations_per_tile", "total_iterations", "longest_loop", "rows")
# What dimensions and specialisations mean in the layers that a kernel serves.
_LAYERS = {
    "linear": ("m", "n", "k"),
    "moe": ("tokens", "n", "k", "top_k", "gate_up", "down"),
    "attention": ("batch", "heads", "kv_heads", "seq_q", "seq_kv"),
}
_MANIFEST = "manifest.textproto"
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", Path: "a pathlib.Path"}


def _words(kind: Any) -> str:
    """Returns what a type hint takes, in words."""
    inner = [one for one in get_args(kind) if one is not type(None)]
    if get_origin(kind) is Union:
        return " or ".join(map(_words, inner))
    if not inner:
        return _WORDS[kind]
    if len(inner) > 1:
        return "a mapping"
    return _words(inner[0]).replace("a ", "a list, each of which is a ", 1)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type hint; of what can be looked at only once, whether it can be at all."""
    inner = get_args(kind)
    if get_origin(kind) is Union:
        return any(_fits(value, one) for one in inner)
    if len(inner) == 2:
        return isinstance(value, Mapping) and all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    if inner:
        if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
            return False
        return not isinstance(value, Collection) or all(_fits(one, inner[0]) for one in value)
    if kind in (int, float):
        own = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, own) and not isinstance(value, bool)
    return isinstance(value, kind)


def _checks_types(method: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a method refuse what is of none of its types, before it does anything: a manifest would have it as it is."""
    signature = inspect.signature(method)

    @functools.lru_cache(maxsize=None)
    def hints() -> dict[str, Any]:
        return get_type_hints(method)

    def values(given: inspect.BoundArguments) -> Iterator[tuple[str, Any, Any]]:
        for name, value in list(given.arguments.items())[1:]:
            if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                yield from ((name, one, hints()[name]) for one in value)
            elif signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                yield from ((key, one, hints()[name]) for key, one in value.items())
            else:
                yield name, value, hints()[name]

    @functools.wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:
            return method(*args, **kwargs)  # Which says what is missing.
        for name, value, kind in values(given):
            what = method.__name__ if method.__name__ != "__init__" else "Kernel"
            _check(_fits(value, kind), f"{what}: {name} is {value!r}; give {_words(kind)}")
        return method(*args, **kwargs)

    return checked


class Kernel:
    """A kernel's manifest and sources, as they are declared so far."""

    def __init__(
        self, name: str, *, description: str = "", wave_form: Optional[str] = None, portfolio_size: Optional[int] = None
    ) -> None:
        """`wave_form`: WAVE_SUM or WAVE_OVERLAP; `portfolio_size`: most candidates in a table."""
        _check(
            bool(_LOWER_NAME.fullmatch(name)),
            f"{name!r} is no name for a kernel: give lower-case letters, digits and underscores",
        )
        if wave_form is not None:
            _check_known("wave_form", wave_form, _WAVE_FORMS)
        if portfolio_size is not None:
            _check(1 <= portfolio_size <= 128, f"portfolio_size is {portfolio_size}; give 1 to 128")
        self.name = name
        self._description = description
        self._wave_form = wave_form
        self._portfolio_size = portfolio_size
        self._dimensions: dict[str, str] = {}
        self._repeated: Optional[str] = None
        self._specialisations: dict[str, list[str]] = {}
        self._parameters: dict[str, str] = {}
        self._conditions: list[str] = []
        self._configurations: list[str] = []
        self._mapping: list[str] = []
        self._implementations: dict[str, list[str]] = {}
        self._arguments: list[str] = []
        self._correctness: list[str] = []
        self._problems: list[str] = []
        self._limits: list[str] = []
        self._serves: list[str] = []
        self._sources: dict[str, Source] = {}

    def dimension(
        self, name: str, *, min: Optional[int] = None, max: Optional[int] = None, repeated: bool = False
    ) -> Kernel:
        """Declares an extent of a problem; problems list them in this order. One may be repeated: a list of extents."""
        _check(
            bool(_LOWER_NAME.fullmatch(name)),
            f"{name!r} is no name for a dimension: give lower-case letters, digits and underscores",
        )
        _check(name not in self._dimensions, f"dimension {name!r} is declared twice")
        _check(
            min is None or min >= (0 if repeated else 1),
            f"dimension {name!r}: min is {min}; give at least {0 if repeated else 1}",
        )
        _check(max is None or max >= (min or 1), f"dimension {name!r}: max is {max}, below its least extent")
        _check(
            not repeated or self._repeated is None,
            f"dimension {name!r}: {self._repeated!r} is repeated; only one may be",
        )
        text = name + ("[]" if repeated else "")
        if min is not None:
            text = f"{min} <= {text}"
        if max is not None:
            text += f" <= {max}"
        self._dimensions[name] = text
        if repeated:
            self._repeated = name
        return self

    def parameter(self, name: str, values: Iterable[int], *, default: int, role: Optional[str] = None) -> Kernel:
        """Declares what is tuned. `role`: "macro" or "micro"; not given, the mapping says."""
        own = _integers(f"parameter {name!r}", values)
        _check(
            bool(_NAME.fullmatch(name)), f"{name!r} is no name for a parameter: give letters, digits and underscores"
        )
        _check(name not in self._parameters, f"parameter {name!r} is declared twice")
        _check(len(set(own)) == len(own), f"parameter {name!r} has a value twice: {own}")
        _check(default in own, f"parameter {name!r}: the default {default} is none of {own}")
        if role is not None:
            _check_known("role", role, ("macro", "micro"))
        text = f"{name} in {{{', '.join(map(str, own))}}}" + (f" {role}" if role else "") + f" default {default}"
        self._parameters[name] = text
        return self

    def specialisation(
        self,
        name: str,
        *,
        mapping: Optional[Mapping[str, Expression]] = None,
        wave_form: Optional[str] = None,
        **constants: int,
    ) -> Kernel:
        """Declares compile-time values that are not tuned: defines for the compiler, numbers in every expression. `mapping`
        (the arguments of mapping()) and `wave_form` replace the kernel's."""
        _check(
            bool(_LOWER_NAME.fullmatch(name)),
            f"{name!r} is no name for a specialisation: give lower-case letters, digits and underscores",
        )
        _check(name not in self._specialisations, f"specialisation {name!r} is declared twice")
        lines = [f"  name: {_quoted(name)}"]
        for key, value in constants.items():
            _check(_is_integer(value), f"specialisation {name!r}: {key} is {value!r}; give a whole number")
            lines.append(f"  constants {{ key: {_quoted(key)} value: {value} }}")
        if mapping is not None:
            lines += _indented(_mapping(mapping))
        if wave_form is not None:
            _check_known("wave_form", wave_form, _WAVE_FORMS)
            lines.append(f"  wave_form: {wave_form}")
        self._specialisations[name] = lines
        return self

    def require(self, *conditions: str) -> Kernel:
        """Declares which configurations there are, and at which problems one may run."""
        return self._condition("require", conditions)

    def precondition(self, *conditions: str) -> Kernel:
        """Declares which problems the kernel takes at all."""
        return self._condition("precondition", conditions)

    def configuration(self, **values: int) -> Kernel:
        """Declares one configuration of an explicit list: the space has these alone."""
        self._check_names("parameter", values, self._parameters)
        missing = [name for name in self._parameters if name not in values]
        _check(not missing, f"the configuration has no value for {', '.join(missing)}")
        self._configurations.append(", ".join(f"{name} = {value}" for name, value in values.items()))
        return self

    def mapping(self, tiles: Expression, **fields: Expression) -> Kernel:
        """Says how a problem becomes work: tiles, and iterations_per_tile or total_iterations (neither: there is no loop), where
        useful longest_loop and rows."""
        _check(not self._mapping, "the mapping is given twice; specialisations may have one of their own")
        self._mapping = _mapping({"tiles": tiles, **fields})
        return self

    def implementation(
        self,
        backend: str,
        *,
        entry: str,
        sources: Union[Mapping[str, Source], Source],
        block_size: Union[Expression, Sequence[Expression], None] = None,
        blocks: Union[Expression, Sequence[Expression], None] = None,
        compile_options: Sequence[str] = (),
        shared_memory_bytes: Optional[Expression] = None,
        cluster_size: Optional[Expression] = None,
        persistent_if: Sequence[str] = (),
        device_predicates: Sequence[str] = (),
    ) -> Kernel:
        """Says how a backend compiles and launches the kernel. `sources`: name to text or path, the first is compiled; or one
        path, or one text, which becomes NAME.cl (NAME.cu, NAME.py). Triton alone decides `block_size` itself."""
        _check_known("backend", backend, _BACKENDS)
        _check(backend not in self._implementations, f"backend {backend!r} is implemented twice")
        if not isinstance(sources, Mapping):
            own = sources.name if isinstance(sources, Path) else f"{self.name}{_BACKENDS[backend]}"
            sources = {own: sources}
        _check(bool(sources), f"backend {backend!r} has no source")
        _check(block_size is not None or backend == "triton", f"backend {backend!r} needs a block_size")
        lines = [f"  backend: {_quoted(backend)}"]
        lines += [f"  sources: {_quoted(name)}" for name in sources]
        lines.append(f"  entry: {_quoted(entry)}")
        lines += [f"  compile_options: {_quoted(option)}" for option in compile_options]
        lines += _sides("block_size", block_size) if block_size is not None else []
        lines += _sides("blocks", blocks) if blocks is not None else []
        for field, value in (("shared_memory_bytes", shared_memory_bytes), ("cluster_size", cluster_size)):
            lines += _sides(field, value) if value is not None else []
        lines += [f"  persistent_if: {_quoted(text)}" for text in persistent_if]
        lines += [f"  device_predicates: {_quoted(text)}" for text in device_predicates]
        self._add_sources(sources)
        self._implementations[backend] = lines
        return self

    def arguments(self, *texts: str) -> Kernel:
        """Declares the kernel's arguments in order: `in cold b[k, n] float32`, `out c[m, n] float32`, `m int32`, …"""
        _check(all(text.strip() for text in texts), "an argument is empty")
        self._arguments += texts
        return self

    def correctness(
        self,
        file: str,
        source: Source,
        *,
        entry: str,
        work_items: Expression,
        relative_tolerance: float,
        compile_options: Sequence[str] = (),
    ) -> Kernel:
        """Says what a correct result is: a reference kernel with the same arguments, and the accepted relative error."""
        _check(not self._correctness, "the reference is given twice")
        tolerance = float(relative_tolerance)
        _check(
            math.isfinite(tolerance) and tolerance > 0,
            f"relative_tolerance is {relative_tolerance}; give a number above 0",
        )
        self._add_sources({file: source})
        self._correctness = [
            f"  source: {_quoted(file)}",
            f"  entry: {_quoted(entry)}",
            *_sides("work_items", work_items),
            f"  relative_tolerance: {tolerance!r}",
            *[f"  compile_options: {_quoted(option)}" for option in compile_options],
        ]
        return self

    def representative(
        self, text: str = "", *, specialisations: Sequence[str] = (), weight: Optional[float] = None, **values: Values
    ) -> Kernel:
        """Adds problems like those that callers ask for: all combinations of the values. The repeated dimension's value is its
        list. What keywords cannot say is a text: `out_h = out_w in {7, 14}, …`."""
        return self._grid("representative_problems", text, specialisations, weight, values)

    def check_at(self, text: str = "", *, specialisations: Sequence[str] = (), **values: Values) -> Kernel:
        """Adds problems at which every candidate is checked, beside the edges of its own tiles."""
        return self._grid("correctness_problems", text, specialisations, None, values)

    def limits(self, *, max_elements: Optional[int] = None, max_total_iterations: Optional[int] = None) -> Kernel:
        """Limits the problems that planning constructs."""
        for field, value in (("max_elements", max_elements), ("max_total_iterations", max_total_iterations)):
            if value is None:
                continue
            _check(_is_integer(value) and value >= 1, f"{field} is {value!r}; give a whole number, at least 1")
            self._limits.append(f"{field}: {value}")
        return self

    def serves(
        self,
        layers: str,
        *,
        variants: Sequence[Mapping[str, Union[str, int, bool]]] = (),
        engines: Sequence[str] = (),
        types: Sequence[str] = (),
        **meanings: str,
    ) -> Kernel:
        """Says which layers of a model the kernel computes, so that declared workloads become problems of it: "linear", "moe"
        or "attention". `meanings`: which dimension is what, where it is not the one of that name (`m="rows"`); of moe also the
        specialisations gate_up and down. `variants` of attention: specialisation, phase ("PREFILL", "DECODE"), head_dim,
        causal. `engines` that launch this very kernel, of moe. `types` that it computes ("fp8"): layers that are not quantised
        where none is given."""
        _check_known("layers", layers, tuple(_LAYERS))
        _check(not self._serves, "the layers are given twice")
        _check(bool(variants) == (layers == "attention"), "attention has variants, and nothing else has")
        _check(not engines or layers == "moe", "moe alone has engines")
        for meaning, name in meanings.items():
            _check_known(f"meaning in {layers} layers", meaning, _LAYERS[layers])
            of_dimension = meaning not in ("gate_up", "down")
            what = "dimension" if of_dimension else "specialisation"
            self._check_names(what, [name], self._dimensions if of_dimension else self._specialisations)
        lines = [f"    {meaning}: {_quoted(name)}" for meaning, name in meanings.items()]
        lines += [f"    engines: {_quoted(engine)}" for engine in engines]
        lines += [f"    variants {{ {' '.join(self._variant(variant))} }}" for variant in variants]
        self._serves = [f"  {layers} {{", *lines, "  }", *(f"  types: {_quoted(name)}" for name in types)]
        return self

    def _variant(self, variant: Mapping[str, Union[str, int, bool]]) -> list[str]:
        known = ("specialisation", "phase", "head_dim", "causal")
        fields = []
        for field, value in variant.items():
            _check_known("field of a variant", field, known)
            if field == "specialisation":
                self._check_names("specialisation", [str(value)], self._specialisations)
                fields.append(f"{field}: {_quoted(str(value))}")
            elif field == "phase":
                _check_known("phase", str(value), ("PREFILL", "DECODE"))
                fields.append(f"{field}: {value}")
            elif field == "causal":
                fields.append(f"{field}: {'true' if value else 'false'}")
            else:
                _check(_is_integer(value), f"head_dim is {value!r}; give a whole number")
                fields.append(f"{field}: {value}")
        return fields

    def manifest(self) -> str:
        """Returns the manifest's text. Raises InvalidArgumentError where something is missing."""
        self._check_whole()
        parts = [[f"name: {_quoted(self.name)}"]]
        if self._description:
            parts[0].append(f"description: {_quoted(self._description)}")
        if self._wave_form:
            parts[0].append(f"wave_form: {self._wave_form}")
        if self._portfolio_size:
            parts[0].append(f"portfolio_size: {self._portfolio_size}")
        parts.append([f"dimensions: {_quoted(', '.join(self._dimensions.values()))}"])
        parts.append([line for own in self._specialisations.values() for line in _message("specialisations", own)])
        parts.append([f"parameters: {_quoted(text)}" for text in self._parameters.values()])
        parts.append(self._conditions)
        parts.append([f"configurations: {_quoted(text)}" for text in self._configurations])
        parts.append(self._mapping)
        parts.append([line for own in self._implementations.values() for line in _message("implementations", own)])
        parts.append([f"arguments: {_quoted(text)}" for text in self._arguments])
        parts.append(_message("correctness", self._correctness) if self._correctness else [])
        parts.append(_message("serves", self._serves) if self._serves else [])
        parts.append(self._problems)
        parts.append([f"limits {{ {' '.join(self._limits)} }}"] if self._limits else [])
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def write(self, folder: Union[str, Path]) -> Path:
        """Writes FOLDER/NAME with manifest and sources, whole or not at all, and returns it. Makes FOLDER. What is there
        is never overwritten: AlreadyExistsError; FailedPreconditionError where FOLDER cannot be made."""
        manifest = self.manifest()
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FailedPreconditionError(f"the folder {folder} for kernel {self.name!r} cannot be made: {error}") from error
        path = folder / self.name
        if os.path.lexists(path):
            raise AlreadyExistsError(f"{path} exists; remove it, or write to another folder")
        staging = Path(tempfile.mkdtemp(prefix=f".{self.name}.", dir=folder))
        try:
            (staging / _MANIFEST).write_text(manifest, encoding="utf-8")
            for name, source in self._sources.items():
                if isinstance(source, Path):
                    shutil.copyfile(source, staging / name)
                else:
                    (staging / name).write_text(source, encoding="utf-8")
            # As a folder that anybody makes: mkdtemp's is for its owner alone.
            umask = os.umask(0)
            os.umask(umask)
            staging.chmod(0o777 & ~umask)
            staging.rename(path)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
        return path

    def _condition(self, field: str, conditions: Sequence[str]) -> Kernel:
        _check(all(text.strip() for text in conditions), f"{field}: a condition is empty")
        self._conditions += [f"{field}: {_quoted(text)}" for text in conditions]
        return self

    def _check_names(self, what: str, given: Iterable[str], known: Iterable[str]) -> None:
        names = list(known)
        for name in given:
            _check(name in names, f"there is no {what} {name!r}{suggestion(name, names)}")

    def _grid(
        self,
        field: str,
        text: str,
        specialisations: Sequence[str],
        weight: Optional[float],
        values: Mapping[str, Values],
    ) -> Kernel:
        self._check_names("dimension", values, self._dimensions)
        self._check_names("specialisation", specialisations, self._specialisations)
        _check(bool(text) != bool(values), f"{field}: give a text, or a value for each dimension")
        missing = [name for name in self._dimensions if name not in values]
        _check(bool(text) or not missing, f"{field}: there is no value for {', '.join(missing)}")
        if weight is not None:
            _check(math.isfinite(weight) and weight > 0, f"{field}: weight is {weight}; give a number above 0")
        grid = text or ", ".join(self._axis(field, name, values[name]) for name in self._dimensions)
        if specialisations:
            grid += f" for {', '.join(specialisations)}"
        if weight is not None:
            grid += f" weight {weight:g}"
        self._problems.append(f"{field}: {_quoted(grid)}")
        return self

    def _axis(self, field: str, name: str, values: Values) -> str:
        if name == self._repeated:
            _check(not _is_integer(values), f"{field}: {name} is repeated; give the list of its elements")
            return f"{name} = [{', '.join(map(str, _integers(f'{field}: {name}', values)))}]"
        if _is_integer(values):
            return f"{name} = {values}"
        own = _integers(f"{field}: {name}", values)
        return f"{name} = {own[0]}" if len(own) == 1 else f"{name} in {{{', '.join(map(str, own))}}}"

    def _add_sources(self, sources: Mapping[str, Source]) -> None:
        for name, source in sources.items():
            _check(
                bool(_FILE.fullmatch(name)) and name != _MANIFEST,
                f"{name!r} is no name for a source: a file of the kernel's own folder",
            )
            if isinstance(source, Path):
                _check(source.is_file(), f"source {name!r}: there is no file {source}")
            else:
                _check(
                    isinstance(source, str) and bool(source.strip()),
                    f"source {name!r} is empty: give its text, or a pathlib.Path",
                )
            _check(self._sources.get(name, source) == source, f"source {name!r} is given twice, with another content")
        self._sources.update(sources)

    def _check_whole(self) -> None:
        replays = set(self._implementations) == {"replay"}
        needed = {
            "a dimension": self._dimensions,
            "a parameter": self._parameters,
            "a mapping": self._mapping,
            "an implementation": self._implementations,
            "arguments": self._arguments or replays,
            "a reference (correctness)": self._correctness or replays,
        }
        missing = [what for what, given in needed.items() if not given]
        _check(not missing, f"kernel {self.name!r} has not {', '.join(missing)}")


for _name, _method in list(vars(Kernel).items()):
    if inspect.isfunction(_method) and (_name == "__init__" or not _name.startswith("_")):
        setattr(Kernel, _name, _checks_types(_method))


def _check(holds: bool, fault: str) -> None:
    if not holds:
        raise InvalidArgumentError(fault)


def _check_known(what: str, value: str, known: Collection[str]) -> None:
    _check(value in known, f"{what} is {value!r}; there are {', '.join(known)}")


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integers(what: str, values: object) -> list[int]:
    own = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else None
    _check(bool(own) and all(map(_is_integer, own or [])), f"{what}: {values!r} is no list of whole numbers")
    return own or []


def _quoted(text: Union[str, int]) -> str:
    """Returns a string of protobuf's text format, on one line."""
    plain = " ".join(str(text).split("\n"))
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _sides(field: str, value: Union[Expression, Sequence[Expression]]) -> list[str]:
    sides = [value] if isinstance(value, (str, int)) else list(value)
    _check(1 <= len(sides) <= 3, f"{field} has {len(sides)} sides; give one to three")
    return [f"  {field}: {_quoted(side)}" for side in sides]


def _mapping(fields: Mapping[str, Expression]) -> list[str]:
    for name in fields:
        _check(name in _MAPPING_FIELDS, f"a mapping has no {name!r}{suggestion(name, _MAPPING_FIELDS)}")
    _check("tiles" in fields, "a mapping needs tiles")
    _check(
        not {"iterations_per_tile", "total_iterations"} <= set(fields),
        "a mapping has iterations_per_tile or total_iterations, not both",
    )
    return _message("mapping", [f"  {name}: {_quoted(fields[name])}" for name in _MAPPING_FIELDS if name in fields])


def _message(field: str, lines: Sequence[str]) -> list[str]:
    return [f"{field} {{", *lines, "}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return ["  " + line for line in lines]
