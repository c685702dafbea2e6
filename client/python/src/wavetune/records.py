"""Named tuples that tuners answer."""

from typing import Mapping, NamedTuple


class Dimension(NamedTuple):
    """A dimension of a kernel's problems."""

    name: str
    min: int  # Smaller and larger extents are answered with the default.
    max: int
    repeated: bool  # Takes a sequence of extents (tokens per expert).


class ExplainedRow(NamedTuple):
    """One macro configuration at a problem: Tuner.explain()."""

    configuration: Mapping[str, int]
    tiles: int  # G
    iterations: float  # L, mean main-loop iterations of a tile
    waves: int
    capacity: int  # Tiles in flight on the device.
    latency_us: float  # Predicted.
    rank_us: float  # What it competes with: more where it was not measured.
    relative_bound: float
    legal: bool  # False: a predicate of the kernel excludes it for this problem.
    chosen: bool
    extrapolated: bool
