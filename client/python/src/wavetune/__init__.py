"""Tuning decisions for GPU kernels, in nanoseconds.

    import wavetune

    gemm = wavetune.connect().tuner("gemm_bf16")       # fetched once
    decision = gemm.resolve(m=128, n=2560, k=960)      # local: no RPC, no lock
    launch(**decision.configuration)

A client asks the node's daemon for a kernel's table, or takes it from the local cache while the daemon is down. From
then on decisions are made in this process, for any shape, measured or not; Decision.source says how good one is. A new
table never takes over in the middle of something: it is staged, and takes over as the tuner's Activation says.

Client and Tuner may be used from any thread. Processes that fork connect after the fork.
"""

from __future__ import annotations

import importlib.metadata
import os
from typing import Optional, Union

from wavetune import _native
from wavetune._native import (
    Activation,
    Client,
    Decision,
    EventKind,
    ExpectedRouting,
    Mode,
    Origin,
    Reason,
    Source,
    Tuner,
    engine_rule,
)
from wavetune.errors import (
    AlreadyExistsError,
    DataLossError,
    DeadlineExceededError,
    Error,
    FailedPreconditionError,
    FallbackWarning,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from wavetune.records import Argument, Configuration, DeclaredWorkload, Dimension, Event, ExplainedGroup, StagedTable

__all__ = [
    "Activation",
    "AlreadyExistsError",
    "Argument",
    "Client",
    "Configuration",
    "DataLossError",
    "DeadlineExceededError",
    "Decision",
    "DeclaredWorkload",
    "Dimension",
    "Error",
    "Event",
    "EventKind",
    "ExpectedRouting",
    "ExplainedGroup",
    "FailedPreconditionError",
    "FallbackWarning",
    "InvalidArgumentError",
    "Mode",
    "NotFoundError",
    "Origin",
    "PermissionDeniedError",
    "Reason",
    "Source",
    "StagedTable",
    "Tuner",
    "UnavailableError",
    "connect",
    "engine_rule",
]

# WaveTune's version, as CMakeLists.txt names it: pyproject.toml reads it there when the package is built.
__version__: str = importlib.metadata.version("wavetune")


def connect(
    endpoint: Optional[str] = None,
    *,
    mode: Union[Mode, str, None] = None,
    cache_dir: Union[str, os.PathLike[str], None] = "auto",
    table_file: Union[str, os.PathLike[str], None] = None,
    pin: Optional[str] = None,
    timeout_s: float = 2.0,
    watch: bool = True,
    usage_feedback: bool = True,
) -> Client:
    """Returns a client of the node's daemon. A daemon that is down is no error: tuner() then uses local files.

    endpoint: the daemon's reader socket (unix:/path or a path). None: WAVETUNE_ENDPOINT, else the default socket.
    mode: where decisions come from, a Mode or "auto", "offline", "off". None: WAVETUNE_MODE, else Mode.AUTO.
    cache_dir: where fetched tables are kept. "auto": WAVETUNE_CACHE_DIR, else the user's cache folder; None: nowhere.
    table_file: a table's payload, or a folder of them. None: WAVETUNE_TABLE_FILE, else none.
    pin: the table set that all tuners keep to, its digest or "kernel=digest,kernel=digest". None: WAVETUNE_PIN, else
        none.
    timeout_s: of one call to the daemon, in seconds.
    watch: whether to hear of new tables, on a thread of the client's own. Only with Mode.AUTO.
    usage_feedback: whether to report to the daemon what is asked for, so that profiles measure it. Only with Mode.AUTO,
        and unless WAVETUNE_USAGE is "off".

    Raises InvalidArgumentError (a ValueError) for what makes no sense, NotFoundError for a pinned set that nobody knows.
    """
    return _native.connect(
        endpoint,
        mode=_mode(mode),
        cache_dir=None if cache_dir is None else os.fspath(cache_dir),
        table_file=None if table_file is None else os.fspath(table_file),
        pin=pin,
        timeout_s=timeout_s,
        watch=watch,
        usage_feedback=usage_feedback,
    )


def _mode(mode: Union[Mode, str, None]) -> Optional[Mode]:
    if not isinstance(mode, str):
        return mode
    known = {known.name.lower(): known for known in Mode}
    if mode not in known:
        raise InvalidArgumentError(f'mode "{mode}" is none: use {", ".join(known)}')
    return known[mode]
