"""The configurations of a kernel, read from its manifest's `parameters` and `require` lines.

For the exhaustive rival: what a table may choose is what it was profiled on. Reads the text that our own manifests are
written in (docs/manifest.md), not all that may be written. Pure.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Mapping

Configuration = dict[str, int]

FUNCTIONS = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b), "floor_div": lambda a, b: a // b}

# Constants of the specialisations, as the manifests declare them.
CONSTANTS: dict[str, dict[str, int]] = {
    "": {},
    "gate_up": {"MUL_ROUTED_WEIGHT": 0},
    "down": {"MUL_ROUTED_WEIGHT": 1},
    **{
        f"{kind}_d{dim}": {"HEAD_DIM": dim, "CAUSAL": int(kind != "full"), "DECODE": int(kind == "decode")}
        for kind in ("causal", "full", "decode")
        for dim in (64, 128)
    },
}


def configurations(
    folder: Path, specialisation: str, problem: Mapping[str, Any] = {}, most: int = 0
) -> list[Configuration]:
    """Returns all configurations that the manifest allows for a problem, in its order; of more than `most` (0: any) every
    n-th.

    Errors: OSError without a manifest, ValueError for text that is not understood.
    """
    text = (folder / "manifest.textproto").read_text()
    axes = _parameters(text)
    if not axes:
        raise ValueError(f"{folder}/manifest.textproto has no parameters that are understood")
    conditions = [_python_of(condition) for condition in _texts(text, "require")]
    constants = {**{name: value for name, value in problem.items() if isinstance(value, int)}, **CONSTANTS[specialisation]}
    found: list[Configuration] = [{}]
    known = {*FUNCTIONS, *constants}
    for name, values in axes.items():
        found = [{**own, name: value} for own in found for value in values]
        known.add(name)
        # As soon as all that it names is there: most of the product is never made.
        whole = [condition for condition in conditions if known.issuperset(condition.co_names)]
        conditions = [condition for condition in conditions if condition not in whole]
        found = [own for own in found if all(_holds(condition, {**constants, **own}) for condition in whole)]
    found = [own for own in found if all(_holds(condition, {**constants, **own}) for condition in conditions)]
    step = -(-len(found) // most) if most else 1
    return found[::step]


def _texts(manifest: str, field: str) -> list[str]:
    """Returns the values of a field: strings that follow each other are one, and a list has several."""
    plain = re.sub(r"^\s*#.*$", "", manifest, flags=re.MULTILINE)
    found = []
    for value in re.findall(rf'^{field}:\s*(\[[^\]]*\]|(?:"[^"]*"\s*)+)', plain, re.MULTILINE):
        for part in re.findall(r'(?:"[^"]*"\s*)+', value):
            found.append("".join(re.findall(r'"([^"]*)"', part)))
    return found


def _parameters(text: str) -> dict[str, list[int]]:
    axes: dict[str, list[int]] = {}
    for line in _texts(text, "parameters"):
        for name, values in re.findall(r"(\w+) in \{([^}]*)\}", line):
            axes[name] = [value for part in values.split(",") for value in _values(part.strip())]
    return axes


def _values(part: str) -> list[int]:
    found = re.fullmatch(r"(\d+)(?:\s*\.\.\s*(\d+)(?:\s+(step|times)\s+(\d+))?)?", part)
    if found is None:
        raise ValueError(f"parameter values {part!r} are not understood")
    first, last, by = int(found[1]), int(found[2] or found[1]), int(found[4] or 1)
    if found[3] != "times":
        return list(range(first, last + 1, by))
    values = [first]
    while values[-1] * by <= last:
        values.append(values[-1] * by)
    return values


def _python_of(condition: str) -> Any:
    text = re.sub(r"(\d+)\s*KiB", r"(\1*1024)", condition)
    text = re.sub(r"(\d+)\s*MiB", r"(\1*1048576)", text)
    consequence, separator, premise = text.partition(" when ")
    if separator:
        text = f"not ({premise}) or ({consequence})"
    return compile(text.strip(), condition, "eval")


def _holds(condition: Any, names: Mapping[str, int]) -> bool:
    try:
        return bool(eval(condition, {"__builtins__": {}, **FUNCTIONS}, dict(names)))  # Our own manifest's text.
    except NameError:
        return True  # Of a dimension that is not given, or repeated.
