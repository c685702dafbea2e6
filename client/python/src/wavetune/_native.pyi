import enum
from typing import Any, Mapping, Optional, Protocol, Sequence, SupportsIndex, Union, final

from wavetune.records import Dimension, ExplainedRow

class _IntegerArray(Protocol):
    """An array of integers, as of numpy."""

    @property
    def dtype(self) -> Any: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...

_Extent = Union[SupportsIndex, Sequence[SupportsIndex], _IntegerArray]

class Source(enum.Enum):
    """How good an answer is."""

    FITTED = 1
    """Inside the measured range of a fitted model."""
    EXTRAPOLATED = 2
    """Beyond it."""
    STALE = 3
    """Fitted under another driver, runtime or power limit."""
    DEFAULT = 4
    """No model, or no legal problem; Decision.reason says which."""

class Reason(enum.Enum):
    """Why an answer is the default."""

    NONE = 0
    NO_TABLE = 1
    WRONG_DIMENSION_COUNT = 2
    EXTENT_OUT_OF_RANGE = 3
    NO_LEGAL_CANDIDATE = 4
    UNKNOWN_SPECIALISATION = 5

class Origin(enum.Enum):
    """Where a table came from."""

    DAEMON = 0
    CACHE = 1
    DEFAULTS = 2

@final
class Decision:
    """The answer of Tuner.resolve: a configuration, and how good it is. Immutable; it outlives its tuner."""

    @property
    def configuration(self) -> Mapping[str, int]:
        """The values of all tuning parameters by name: read-only, the same object for every decision of a tuner that
        chose it."""
    @property
    def latency_us(self) -> float:
        """Predicted device time of one launch in microseconds; 0.0 with Source.DEFAULT."""
    @property
    def relative_bound(self) -> float:
        """Half-width of the error bound, relative to latency_us; 0.0 with Source.DEFAULT."""
    @property
    def source(self) -> Source:
        """How good the answer is."""
    @property
    def reason(self) -> Reason:
        """Why the answer is the default; Reason.NONE where it is not."""
    @property
    def candidate(self) -> Optional[int]:
        """Index of the configuration in the table's portfolio; None with Source.DEFAULT."""
    @property
    def digest_prefix(self) -> str:
        """First 16 hex digits of the table's digest; empty with no table."""
    @property
    def origin(self) -> Origin:
        """Where the table came from."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Tuner:
    """Decides for one kernel on one device; from Client.tuner(). May be used from any thread."""

    def resolve(self, /, **dimensions: _Extent) -> Decision:
        """Returns the configuration with the lowest predicted latency for a problem.

        Dimensions are given by name, all of them: integers, and for a repeated dimension a sequence of integers (an
        array of int64 is not copied). No RPC, no lock.

        ValueError: a dimension is unknown, missing, negative, zero or beyond 64 bits. An extent that the kernel was
        not declared for is no error: the decision is the default, and Decision.reason says so.
        """
    def explain(self, /, **dimensions: _Extent) -> list[ExplainedRow]:
        """Returns what each macro configuration was predicted to take, the best first; empty where resolve() answers
        the default. For people: slow."""
    @property
    def kernel(self) -> str:
        """Name of the kernel."""
    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions of a problem, in the order of the manifest."""
    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the tuning parameters, in the order of the manifest."""
    @property
    def configurations(self) -> tuple[Mapping[str, int], ...]:
        """All configurations that resolve() can answer, the default included: what to compile ahead of time."""
    @property
    def default_configuration(self) -> Mapping[str, int]:
        """The configuration that the kernel's author declared."""
    @property
    def digest(self) -> str:
        """SHA-256 of the table, its identity: equal digests decide equally on every rank. Empty with no table."""
    @property
    def origin(self) -> Origin:
        """Where the table came from."""
    @property
    def stale(self) -> bool:
        """Whether the table is of another driver, runtime or power limit."""

@final
class Client:
    """Fetches tables from the node's daemon; from connect(). May be used from any thread."""

    def tuner(
        self,
        kernel: str,
        *,
        device: Optional[str] = None,
        fingerprint: Optional[str] = None,
        specialisation: Optional[str] = None,
        digest: Optional[str] = None,
    ) -> Tuner:
        """Returns the tuner of a kernel: its table from the daemon, else from the local cache, else the kernel's
        defaults. Other threads run meanwhile.

        device, fingerprint: needed only where several tables fit; specialisation: where the kernel has several;
        digest: pins one table.

        Raises NotFoundError (unknown kernel, device, specialisation, digest), FailedPreconditionError (several tables
        fit), UnavailableError (no daemon, nothing cached), DataLossError, InvalidArgumentError.
        """

def connect(endpoint: Optional[str] = None, *, cache_dir: Optional[str] = None, timeout_s: float) -> Client: ...
def empty(**dimensions: Any) -> None: ...
def empty_typed(*, m: int, n: int, k: int) -> None: ...
