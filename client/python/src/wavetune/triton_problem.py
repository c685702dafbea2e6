"""How a launch's arguments become a problem of the kernel that a table decides for.

`wavetune.triton` uses it for each launch: reading dimensions costs a few hundred nanoseconds, so what can be looked up
once (the position of an argument) is looked up when a kernel is attached.
"""

from __future__ import annotations

import functools
import keyword
import numbers
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from wavetune.errors import InvalidArgumentError
from wavetune.suggestion import suggestion

Arguments = Mapping[str, Any]
Problem = Mapping[str, Any]
# Argument of the kernel to dimension of the problem; or a function of all arguments by name, which returns extents by
# dimension, or None where the table is not to decide; or None: arguments that are called as the dimensions.
Dimensions = Union[Mapping[str, str], Callable[[Arguments], Optional[Problem]], None]
Reader = Callable[[Sequence[Any], Mapping[str, Any]], Optional[Problem]]
Asker = Callable[[Sequence[Any], Mapping[str, Any]], Any]


def balanced(slots: int, experts: int) -> list[int]:
    """Returns how many of `slots` each of `experts` gets with balanced routing: counts differ by at most one, the
    larger first. For a repeated dimension of which only the sum is known before a launch. Do not change the list: it
    is kept.

    Raises InvalidArgumentError for fewer than 0 slots, or no expert.
    """
    if slots < 0 or experts < 1:
        raise InvalidArgumentError(f"balanced({slots}, {experts}): give slots of 0 or more, and at least one expert")
    return _balanced(slots, experts)


@functools.lru_cache(maxsize=4096)
def _balanced(slots: int, experts: int) -> list[int]:
    each, more = divmod(slots, experts)
    return [each + 1] * more + [each] * (experts - more)


def named_arguments(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a launch's arguments by name, without what Triton itself takes (grid, warmup)."""
    named = dict(zip(names, args))
    named.update(kwargs)
    named.pop("grid", None)
    named.pop("warmup", None)
    return named


def asker_of(dims: Dimensions, names: Sequence[str], dimensions: Sequence[str], ask: Callable[..., Any]) -> Asker:
    """Returns what calls ask(**problem) with the problem of a launch, and is None where there is none to ask for.

    Errors: as reader_of().
    """
    read = reader_of(dims, names, dimensions)
    if callable(dims):

        def computed(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
            problem = read(args, kwargs)
            return None if problem is None else ask(**problem)

        return computed
    own = _by_name(names, dimensions) if dims is None else dims
    places = [(names.index(name), dimension) for name, dimension in own.items()]
    if any(not dimension.isidentifier() or keyword.iskeyword(dimension) for _, dimension in places):
        return lambda args, kwargs: ask(**(read(args, kwargs) or {}))
    # Each launch asks: an expression takes a third of the time that a loop does. Names of dimensions were looked at.
    extents = ", ".join(f"{dimension}=args[{position}]" for position, dimension in places)
    most = max(position for position, _ in places)
    text = f"lambda args, kwargs: ask({extents}) if len(args) > {most} else ask(**read(args, kwargs))"
    return eval(text, {"ask": ask, "read": read, "len": len})  # type: ignore[no-any-return]


def reader_of(dims: Dimensions, names: Sequence[str], dimensions: Sequence[str]) -> Reader:
    """Returns what reads a problem from a launch's positional and keyword arguments.

    names: the kernel's arguments, in order; dimensions: those of the table.
    Raises InvalidArgumentError where dims does not fit them; the message says which do.
    """
    if callable(dims):
        return _computed(dims, names)
    if dims is None:
        dims = _by_name(names, dimensions)
    _check(dims, names, dimensions)
    return _plain([(dimension, names.index(name), name) for name, dimension in dims.items()])


def _plain(places: Sequence[tuple[str, int, str]]) -> Reader:
    def read(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Problem:
        given = len(args)
        return {
            dimension: args[position] if position < given else kwargs[name] for dimension, position, name in places
        }

    return read


def _computed(function: Callable[[Arguments], Optional[Problem]], names: Sequence[str]) -> Reader:
    def read(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Optional[Problem]:
        return function(named_arguments(names, args, kwargs))

    return read


def _by_name(names: Sequence[str], dimensions: Sequence[str]) -> dict[str, str]:
    """Returns the arguments that are called as the dimensions are, in small or capital letters."""
    found = {}
    for dimension in dimensions:
        fitting = [name for name in names if name.lower() == dimension.lower()]
        if len(fitting) != 1:
            raise InvalidArgumentError(
                f"dimension {dimension!r}: {'several arguments are' if fitting else 'no argument of the kernel is'} "
                f"called so; give dims={{argument: dimension}} or a function (arguments: {', '.join(names)})"
            )
        found[fitting[0]] = dimension
    return found


def _check(dims: Mapping[str, str], names: Sequence[str], dimensions: Sequence[str]) -> None:
    for name in dims:
        if name in names:
            continue
        if dims[name] in names and name in dimensions:
            raise InvalidArgumentError(
                f"dims={{{name!r}: {dims[name]!r}}} is the wrong way round: it maps arguments of the kernel to "
                f"dimensions, {{{dims[name]!r}: {name!r}}}"
            )
        raise InvalidArgumentError(f"dims names {name!r}, which is no argument of the kernel{suggestion(name, names)}")
    for dimension in dims.values():
        if dimension not in dimensions:
            raise InvalidArgumentError(f"the table has no dimension {dimension!r}{suggestion(dimension, dimensions)}")
    given = list(dims.values())
    missing = [dimension for dimension in dimensions if dimension not in given]
    if missing:
        raise InvalidArgumentError(
            f"dims gives no {', '.join(missing)}: the table decides by {', '.join(dimensions)}; where a dimension is "
            "no argument, give a function of the arguments that returns all of them"
        )
    if len(set(given)) < len(given):
        raise InvalidArgumentError("dims gives a dimension twice")


def integer_arguments(arguments: Arguments) -> list[str]:
    """Returns the names of the arguments that are whole numbers: what Triton specialises by value."""
    return [
        name for name, value in arguments.items() if isinstance(value, numbers.Integral) and not isinstance(value, bool)
    ]
