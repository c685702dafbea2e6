"""What the arguments of a Triton launch are like, and whether a table was measured with such.

A table is measured with the types that the kernel's manifest says, in buffers that are aligned and dense. What is fast and
fits for two-byte operands need not be so for four-byte ones; a pointer that is None, or rows that begin anywhere, make
another program of the kernel. So launches are looked at once for each kind, which is a look-up from then on.

A kernel of somebody else's has other arguments than the measured one: then the narrowest type of the data is compared, as
what says how much of a tile fits. Where the names are the manifest's, each argument is.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence

from wavetune.triton_problem import Arguments, named_arguments

if TYPE_CHECKING:
    from wavetune.records import Argument

# Triton's short names of types.
_SHORT = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64", "half": "float16", "float": "float32"}
_ALIGNMENT = 16  # Bytes, as allocators give and Triton specialises on.
_MOST_KNOWN = 4096  # Kinds of a kernel's launches; beyond, all are looked at again.


def name_of(dtype: Any) -> str:
    """Returns "bfloat16" of a type of torch, numpy or Triton."""
    name = str(dtype).rpartition(".")[2]
    return _SHORT.get(name, name)


def type_name(value: Any) -> Optional[str]:
    """Returns "bfloat16" of a tensor of that type, or of the type (of torch, numpy or Triton); None for what is neither."""
    own = getattr(value, "dtype", None)
    if own is None:
        return name_of(value) if type(value).__name__ == "dtype" else None
    return name_of(own)


def element_bytes(name: str) -> int:
    """Returns the bytes of an element of a type by name; 0 for one that says nothing."""
    if name.startswith(("float8", "fp8", "float4")) or name == "bool":
        return 1
    digits = "".join(digit for digit in name if digit.isdigit())
    return int(digits) // 8 if digits else 0


def is_data(name: str) -> bool:
    """Whether a type is one of values, or of packed ones, and not of indices or flags."""
    return name.startswith(("float", "bfloat", "fp")) or name in ("int8", "uint8")


def alike(one: str, other: str) -> bool:
    """Whether kernels of the two types have the same tiles: as wide, and of the same kind."""
    return one == other or (is_data(one) == is_data(other) and element_bytes(one) == element_bytes(other))


def narrowest(names: Sequence[str]) -> Optional[str]:
    """Returns the narrowest type of data among some; None where there is none."""
    return min(filter(is_data, names), key=element_bytes, default=None)


def measured_type(arguments: Sequence[Argument]) -> Optional[str]:
    """Returns the narrowest type of data that the measured kernel reads; None where it reads none."""
    return narrowest([argument.type for argument in arguments if argument.role in ("input", "in-out buffer")])


def difference(arguments: Sequence[Argument], types: Sequence[str]) -> Optional[str]:
    """Returns how a launch with data of these types differs from the measured ones; None: not, or nobody knows."""
    measured, given = measured_type(arguments), narrowest(types)
    if measured is None or given is None or alike(measured, given):
        return None
    return f"its data is {given}, the table was measured with {measured}: profile a kernel of this type (docs/manifest.md)"


def kind_of(value: Any, by_value: bool = False) -> Any:
    """Returns what Triton's compiler makes a difference of in an argument, hashable; by_value: in a constexpr."""
    if by_value:
        return repr(value)
    name = type_name(value)
    if name is not None:
        return name, _is_aligned(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        whole = int(value)
        return whole == 1, whole % 16 == 0, abs(whole) >= 1 << 31
    return value if isinstance(value, (str, type(None))) else type(value)  # Of floats and flags the value is no matter.


def _is_aligned(value: Any) -> bool:
    address = getattr(value, "data_ptr", None)
    return address is None or address() % _ALIGNMENT == 0  # A type in place of a tensor: one that is.


class LaunchKinds:
    """Whether launches of one kernel are like the measured ones. From any thread.

    arguments: those of the measured kernel; names: of the kernel that is launched, in order.
    """

    def __init__(self, arguments: Sequence[Argument], names: Sequence[str]) -> None:
        self._arguments = list(arguments)
        self._names = list(names)
        buffers = [argument for argument in arguments if argument.role != "scalar"]
        # The measured kernel, or one that its manifest was written for.
        self._by_name = {own.name: own for own in buffers} if all(own.name in names for own in buffers) else {}
        self._read: Callable[..., Any] = _nothing_read
        self._known: dict[Any, Optional[str]] = {}

    def difference(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Optional[str]:
        """Returns how a launch differs from what was measured, for people; None where it does not."""
        try:
            return self._known[self._read(args, kwargs)]
        except Exception:  # A kind that is new, or arguments that are given in another way.
            return self._look(args, kwargs)

    def _look(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Optional[str]:
        named = named_arguments(self._names, args, kwargs)
        found = self._difference(named)
        read = _reader(self._names, args, kwargs)
        if len(self._known) >= _MOST_KNOWN:
            self._known = {}
        self._known[read(args, kwargs)] = found
        self._read = read  # Other threads may have put theirs meanwhile.
        return found

    def _difference(self, named: Arguments) -> Optional[str]:
        types = {name: own for name, own in ((name, type_name(value)) for name, value in named.items()) if own}
        for name, measured in self._by_name.items():
            given = types.get(name)
            if given is None and named.get(name) is None:
                return f"{name} is None, the table was measured with a buffer there: profile a kernel without it"
            if given is not None and not alike(measured.type, given):
                return f"{name} is {given}, the table was measured with {measured.type}: profile a kernel of this type"
        if not self._by_name:
            other = difference(self._arguments, list(types.values()))
            if other is not None:
                return other
        for name, own in types.items():
            if is_data(own) and not _has_whole_rows(named[name], element_bytes(own)):
                return (
                    f"{name} or a row of it begins at an address that is no multiple of {_ALIGNMENT} bytes, unlike in "
                    "what the table was measured with: pass a copy, or pad its rows"
                )
        return None


def _has_whole_rows(value: Any, width: int) -> bool:
    """Whether a tensor is aligned, and is dense or has rows that are: as Triton loads several elements at a time."""
    if not _is_aligned(value):
        return False
    if not hasattr(value, "is_contiguous") or value.is_contiguous():
        return True
    return all(stride <= 1 or stride * width % _ALIGNMENT == 0 for stride in value.stride())


def _nothing_read(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    raise KeyError


def _reader(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[..., Any]:
    """Returns what reads the kind of launches that are written as this one: an expression, since each launch asks."""
    # Of how many arguments: one that was left out may be a tensor next time.
    parts, addresses, strides = ["len(args)", "len(kwargs)"], [], []
    for position, name in enumerate(names):
        if position < len(args):
            value, place = args[position], f"args[{position}]"
        elif name in kwargs:
            value, place = kwargs[name], f"kwargs[{name!r}]"
        else:
            continue
        if value is None:
            parts.append(f"{place} is None")
        if getattr(value, "dtype", None) is None:
            # Which next time may be tensors: a type in place of one, a scale.
            if type_name(value) is not None:
                parts.append(place)
            elif isinstance(value, float):
                parts.append(f"{place}.__class__")
            continue
        parts.append(f"{place}.dtype")
        if is_data(type_name(value) or ""):
            if hasattr(value, "data_ptr"):
                addresses.append(f"{place}.data_ptr()")
            if hasattr(value, "is_contiguous"):
                strides.append(f"({place}.is_contiguous() or {place}.stride())")
    if addresses:
        parts.append(f"({' | '.join(addresses)}) & {_ALIGNMENT - 1}")
    # Positions and names that Python itself wrote, of what Triton took for arguments.
    return eval(f"lambda args, kwargs: ({', '.join(parts + strides)},)")  # type: ignore[no-any-return]
