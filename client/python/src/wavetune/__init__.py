"""Tuning decisions for GPU kernels, in nanoseconds.

    import wavetune

    gemm = wavetune.connect().tuner("gemm_bf16")       # fetched once
    decision = gemm.resolve(m=128, n=2560, k=960)      # local: no RPC, no lock
    launch(**decision.configuration)

A client asks the node's daemon for a kernel's table, or takes it from the local cache while the daemon is down. From
then on decisions are made in this process, for any shape, measured or not; Decision.source says how good one is.

Client and Tuner may be used from any thread. Processes that fork connect after the fork.
"""

from __future__ import annotations

import os
from typing import Optional, Union

from wavetune import _native
from wavetune._native import Client, Decision, Origin, Reason, Source, Tuner
from wavetune.errors import (
    DataLossError,
    DeadlineExceededError,
    Error,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from wavetune.records import Dimension, ExplainedRow

__all__ = [
    "Client",
    "DataLossError",
    "DeadlineExceededError",
    "Decision",
    "Dimension",
    "Error",
    "ExplainedRow",
    "FailedPreconditionError",
    "InvalidArgumentError",
    "NotFoundError",
    "Origin",
    "PermissionDeniedError",
    "Reason",
    "Source",
    "Tuner",
    "UnavailableError",
    "connect",
]


def connect(
    endpoint: Optional[str] = None,
    *,
    cache_dir: Union[str, os.PathLike[str], None] = "auto",
    timeout_s: float = 2.0,
) -> Client:
    """Returns a client of the node's daemon. A daemon that is down is no error: tuner() then uses the cache.

    endpoint: the daemon's reader socket (unix:/path or a path). None: WAVETUNE_ENDPOINT, else the default socket.
    cache_dir: where fetched tables are kept. "auto": WAVETUNE_CACHE_DIR, else the user's cache folder; None: nowhere.
    timeout_s: of one call to the daemon, in seconds.

    Raises InvalidArgumentError (a ValueError) for an endpoint or a time that makes no sense.
    """
    folder = None if cache_dir is None else os.fspath(cache_dir)
    return _native.connect(endpoint, cache_dir=folder, timeout_s=timeout_s)
