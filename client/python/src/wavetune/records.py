"""Named tuples that clients and tuners answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, NoReturn, Optional

if TYPE_CHECKING:
    from wavetune._native import Decision, EventKind, Origin


class Configuration(dict[str, int]):
    """The values of all tuning parameters by name, in the order of the manifest: a dict that cannot be changed, so that
    decisions share it and it can be a key. dict(configuration) is a copy that can."""

    __slots__ = ()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("a configuration cannot be changed: dict(configuration) is a copy that can")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Configuration, (dict(self),)


class Dimension(NamedTuple):
    """A dimension of a kernel's problems."""

    name: str
    min: int  # Smaller and larger extents are answered with the default.
    max: int
    repeated: bool  # Takes a sequence of extents (tokens per expert).


class Argument(NamedTuple):
    """An argument that a kernel is measured with: Tuner.arguments."""

    name: str
    role: str  # "input", "output", "in-out buffer", "workspace", "scalar"
    type: str  # Of an element: "bfloat16", "float32", "int32", "int64"


class ServedExperts(NamedTuple):
    """Which of a kernel's names are an expert layer's: Kernel.experts."""

    tokens: str  # Dimensions; tokens is repeated: those of each local expert.
    n: str
    k: str
    top_k: Optional[str]
    gate_up: str  # Specialisations.
    down: str
    engines: tuple[str, ...]  # That launch this very kernel.


class Kernel(NamedTuple):
    """What a manifest says: Client.kernel()."""

    name: str
    dimensions: tuple[Dimension, ...]
    parameters: tuple[str, ...]
    specialisations: tuple[str, ...]
    arguments: tuple[Argument, ...]
    experts: Optional[ServedExperts]  # None: it computes no expert layers, or does not say so.


class Table(NamedTuple):
    """Which table decides, and what is known of it: Client.table()."""

    kernel: str
    digest: str
    fingerprint: str
    silicon_key: str
    environment_key: str
    device: str  # The label of the device that was profiled; empty where nobody says, as of a table file.
    compiler: str  # As device.
    origin: Origin
    stale: bool
    stale_reason: str
    specialisations: tuple[str, ...]


class ExpertLayer(NamedTuple):
    """An expert layer as an engine launches it on one device."""

    experts: int  # Of the model,
    local_experts: int  # of them on a device.
    top_k: int
    hidden: int
    intermediate: int  # On a device.
    gated: bool  # gate_up makes twice as many columns.
    type: str = ""  # That the engine computes in where the model is quantised: "fp8"; else empty.


class ExplainedGroup(NamedTuple):
    """One macro configuration at a problem: Tuner.explain()."""

    configuration: Configuration
    tiles: int  # G
    iterations: float  # L, mean main-loop iterations of a tile
    waves: int
    tiles_per_wave: int  # Tiles in flight on the device.
    latency_us: float  # Predicted.
    rank_us: float  # What it competes with: more where little or nothing was measured.
    relative_bound: float
    legal: bool  # False: a predicate of the kernel excludes it for this problem.
    chosen: bool
    extrapolated: bool
    of_layer: bool  # Chosen since measurements of the problem's layer say so, whatever the ranks.
    kept_default: bool  # The default: beyond what was measured no row is faster by more than its bound.


class DeclaredWorkload(NamedTuple):
    """What the daemon made of a workload: Client.add_workload()."""

    architecture: str
    unchanged: bool  # It was declared before, the same.
    problems: Mapping[str, int]  # Kernels that serve layers of it, with the problems that profiles may measure.
    notes: tuple[str, ...]  # What people should know.


class StagedTable(NamedTuple):
    """A table that waits to take over: Tuner.staged."""

    digest: str
    origin: Origin
    stale: bool  # Of another environment, kernel version or compiler.
    configurations: tuple[Configuration, ...]  # All that it can answer.
    unprepared: tuple[Configuration, ...]  # Those not declared with set_prepared().


class Event(NamedTuple):
    """What happened to a client's tables: Client.events."""

    kind: EventKind
    time_us: int  # Since the Unix epoch.
    kernel: str  # Empty for what concerns the connection.
    digest: str  # May be empty.
    reason: str  # Of EventKind.REFUSED, DISCONNECTED, STALE and CACHE_PROBLEM; else empty.
    number: int  # From 1, in order: where numbers are missing, older events were forgotten.


def restored_decision(*state: Any) -> Decision:
    """Makes a Decision again that was pickled or copied."""
    from wavetune import _native

    restore: Any = getattr(_native, "_restored_decision")
    decision: Decision = restore(*state)
    return decision
