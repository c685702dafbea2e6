import enum
from typing import Any, Iterable, Mapping, Optional, Protocol, Sequence, SupportsIndex, Union, final

from wavetune.recorded_routing import Routing
from wavetune.records import (
    Argument,
    Configuration,
    DeclaredWorkload,
    Dimension,
    Event,
    ExpertLayer,
    ExplainedGroup,
    Kernel,
    StagedTable,
    Table,
)

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
    TABLE_WITHDRAWN = 6
    """The table's choices were shown to compute wrong results."""
    DEFAULT_UNUSABLE = 7
    """The default is known not to work on the device: there is nothing to launch."""
    PRECONDITION_BROKEN = 8
    """The problem breaks a precondition of the kernel."""

class Origin(enum.Enum):
    """Where a table came from."""

    DEFAULTS = 0
    """There is no table: every answer is the default."""
    DAEMON = 1
    CACHE = 2
    FILE = 3
    """A table file that the user named."""

class Mode(enum.Enum):
    """Where decisions come from."""

    AUTO = 0
    """The daemon, else the local cache, else the table file, else the kernel's default."""
    OFFLINE = 1
    """Local files only; nothing changes while the process runs."""
    OFF = 2
    """The kernel's default, always."""

class Activation(enum.Enum):
    """When a new table takes over."""

    AUTOMATIC = 0
    """As soon as all that it can answer is prepared; else when Tuner.activate() says so."""
    STEP_BOUNDARY = 1
    """When step_boundary() is called."""
    EXPLICIT = 2
    """Only when Tuner.activate() is called."""
    PINNED = 3
    """Never: the tuner keeps its table."""

class EventKind(enum.Enum):
    """What happened to a client's tables."""

    STAGED = 0
    ACTIVATED = 1
    WITHDRAWN = 2
    REFUSED = 3
    CONNECTED = 4
    DISCONNECTED = 5
    STALE = 6
    CACHE_PROBLEM = 7

@final
class Decision:
    """The answer of Tuner.resolve: a configuration, and how good it is. Immutable; it outlives its tuner."""

    @property
    def configuration(self) -> Configuration:
        """The values of all tuning parameters by name: the same object for every decision of a tuner that chose it."""
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
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy."""

@final
class Tuner:
    """Decides for one kernel on one device; from Client.tuner(). May be used from any thread."""

    def resolve(self, /, **dimensions: _Extent) -> Decision:
        """Returns the configuration with the lowest predicted latency for a problem.

        Dimensions are given by name, all of them: integers, and for a repeated dimension a sequence of integers (an
        array of int64 is not copied). No RPC, no lock.

        ValueError: a dimension is unknown, missing, negative, zero (but for elements of a repeated dimension) or beyond
        64 bits. An extent that the kernel was not declared for is no error: the decision is the default, and
        Decision.reason says so.
        """
    def explain(self, /, **dimensions: _Extent) -> list[ExplainedGroup]:
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
    def configurations(self) -> tuple[Configuration, ...]:
        """All configurations that resolve() can answer, the default included: what to compile ahead of time."""
    @property
    def default_configuration(self) -> Configuration:
        """The configuration that the kernel's author declared."""
    @property
    def digest(self) -> str:
        """SHA-256 of the table, its identity: equal digests decide equally on every rank. Empty with no table."""
    @property
    def origin(self) -> Origin:
        """Where the table came from."""
    @property
    def stale(self) -> bool:
        """Whether the table was measured in another environment (driver, runtime, power limit), or for another version
        of the kernel or compiler, than what is there now."""
    @property
    def stale_reason(self) -> str:
        """What differs where the table is stale; empty where it is not."""
    @property
    def silicon_key(self) -> str:
        """The class of devices that the table is for, as "backend=cuda;arch=sm_90a;mp=132"; empty with no table."""
    @property
    def compiler(self) -> str:
        """The compiler that the table was measured with; empty where nobody says, as of a table file."""
    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What the kernel's launches were measured with, in order. Asks the daemon.
        NotFoundError where nobody says, as of a table file without its manifest."""
    @property
    def specialisation(self) -> str:
        """Name of the specialisation; empty where the kernel has none."""
    @property
    def activation(self) -> Activation:
        """When a new table takes over."""
    @property
    def staged(self) -> Optional[StagedTable]:
        """The table that waits to take over."""
    def resolve_together(
        self,
        problems: Sequence[tuple[str, Mapping[str, _Extent]]],
        *,
        shared: Optional[Iterable[str]] = None,
        incumbent: Optional[Mapping[str, int]] = None,
    ) -> tuple[Decision, ...]:
        """Returns a decision for each of up to four problems, pairs of a specialisation and its dimensions by name, whose
        configurations agree on the parameters `shared` (None: on all): those with the lowest sum of predictions over
        the table's candidates. One table decides for all of them. All are the default where one of them would be, or
        where no values are legal for all. The configuration `incumbent`, which would be launched otherwise, stays where
        the predicted gain over it is too small to be sure of; it is not looked at unless it is among `configurations`.

        ValueError: as resolve(); an unknown parameter; no problems, or more than four. Some ten microseconds a problem.
        """
    def set_prepared(self, configurations: Iterable[Mapping[str, int]]) -> None:
        """Declares which configurations the program can launch, in place of what was declared before: with
        Activation.AUTOMATIC a table that answers no other takes over at once."""
    def activate(self, digest: str) -> None:
        """Lets the staged table of that digest take over, for all threads. Raises NotFoundError where it is not
        staged, FailedPreconditionError for a pinned tuner."""
    def step_boundary(self) -> bool:
        """With Activation.STEP_BOUNDARY, lets a staged table take over; returns whether one did."""

@final
class Client:
    """Fetches tables from the node's daemon; from connect(). May be used from any thread. `with` closes it at the end."""

    def tuner(
        self,
        kernel: str,
        *,
        device: Optional[str] = None,
        fingerprint: Optional[str] = None,
        specialisation: Optional[str] = None,
        digest: Optional[str] = None,
        activation: Activation = ...,
        prepared: Optional[Iterable[Mapping[str, int]]] = None,
        prepares_on_demand: bool = False,
        manifest: Optional[str] = None,
    ) -> Tuner:
        """Returns the tuner of a kernel: its table from the daemon, else from the local cache, else from the table
        file, else the kernel's defaults. Other threads run meanwhile.

        device, fingerprint: needed only where several tables fit; specialisation: where the kernel has several;
        digest: pins one table. activation: when a new table takes over, Activation.AUTOMATIC unless given;
        prepared: what the program can launch, as Tuner.set_prepared() would declare it; prepares_on_demand: the
        program compiles what it needs, so that with AUTOMATIC each new table takes over at once. manifest: the
        kernel's folder, which tells the default where nothing else does.

        Raises NotFoundError (unknown kernel, device, specialisation, digest), FailedPreconditionError (several tables
        fit), UnavailableError (no daemon, nothing cached), DataLossError, InvalidArgumentError.
        """

    def kernels(self) -> tuple[str, ...]:
        """Returns the names of the kernels that tuner() knows, sorted: the valid ones of the node's daemon, or where there
        is none to ask, those of the local cache and the table files. Raises UnavailableError where those have none."""

    def kernel(self, kernel: str) -> Kernel:
        """Returns what the kernel's manifest says, as the node's daemon has it, or the folder that a table file lies
        in, KERNEL/tables/. kernel: its name, or its folder. Raises NotFoundError where nobody says, UnavailableError,
        InvalidArgumentError for a manifest that is not valid."""
    def table(
        self,
        kernel: str,
        *,
        device: Optional[str] = None,
        fingerprint: Optional[str] = None,
        digest: Optional[str] = None,
        manifest: Optional[str] = None,
    ) -> Table:
        """Returns which table a tuner with these options would begin with, and what is known of it.

        Raises what tuner() does, and NotFoundError or UnavailableError where there is no table,
        FailedPreconditionError for one that was withdrawn, DataLossError for one that the manifest does not allow.
        """
    def add_workload(
        self,
        name: str,
        config: Union[str, bytes, Mapping[str, Any]],
        *,
        tensor_parallel: int = 1,
        expert_parallel: int = 1,
        max_tokens: int = 16384,
        routing: Routing = "drawn",
    ) -> DeclaredWorkload:
        """Declares a model that this process serves: its layers' problems are representative ones of every kernel that
        serves such layers, from the next profile on. The same again changes nothing.

        name: 1 to 64 letters, digits, '.', '_' and '-'. config: the model's config.json, as text or as the mapping that
        it holds. tensor_parallel, expert_parallel: devices that share each layer, the experts. max_tokens: tokens that
        enter a layer at once at most. routing: how tokens are spread over experts, as ExpectedRouting takes it.

        Raises InvalidArgumentError for a name, a file or numbers that make no sense, with what to do;
        PermissionDeniedError where another user's has the name; FailedPreconditionError without a daemon, or with one
        that is older; UnavailableError; Error beyond a bound.
        """

    def table_set(self) -> dict[str, str]:
        """Returns which table each tuner in use decides with now, kernel to digest; an empty digest where there is
        none. Raises FailedPreconditionError where two tuners of a kernel differ."""
    def table_set_digest(self) -> str:
        """Returns the digest of table_set(): the one value that ranks compare."""
    def publish_table_set(self) -> str:
        """Makes the set that decides now known by its digest, and returns that."""
    def stage_table_set(self, digest: str) -> None:
        """Fetches a set by its digest and stages its tables; all or nothing."""
    def activate_table_set(self, digest: str) -> None:
        """Lets the staged tables of a set take over; all or nothing."""
    def step_boundary(self) -> int:
        """Calls step_boundary() of every tuner in use; returns how many tables took over."""
    def close(self) -> None:
        """Ends the connection and reports the use that was not reported yet, in half a second at most; again does nothing.
        Tuners decide on, with the tables that they have; other calls of the client, and Tuner.arguments, raise
        FailedPreconditionError."""
    def __enter__(self) -> Client: ...
    def __exit__(self, *args: object) -> None:
        """Closes it."""
    @property
    def mode(self) -> Mode:
        """Where decisions come from."""
    @property
    def watching(self) -> bool:
        """Whether the client is connected and has heard of everything that serves."""
    @property
    def events(self) -> list[Event]:
        """What happened to the tables, oldest first; the last 64."""
    @property
    def last_problem(self) -> Optional[str]:
        """The last reason for which a table was refused or the watch was cut off."""

def connect(
    endpoint: Optional[str] = None,
    *,
    mode: Optional[Mode] = None,
    cache_dir: Optional[str] = None,
    table_file: Optional[str] = None,
    pin: Optional[str] = None,
    timeout_s: float,
    watch: bool = True,
    usage_feedback: bool = True,
) -> Client: ...
class ExpectedRouting:
    """How many slots (a token at one of its experts) each expert gets, where only the number of tokens is known: tokens
    choose their experts at random, the same way in every process."""

    def __init__(self, experts: int, top_k: int, popularity: Routing = "drawn") -> None:
        """experts: of the whole model, of which a token takes top_k. popularity: how wanted they are: "drawn"
        (log-normally, sigma 1), "even" (nothing is drawn), or counts that were recorded, one for each expert, or such
        of each layer (lists, or what has tolist()).

        Raises InvalidArgumentError."""

    def slots(self, tokens: int, local: Optional[int] = None) -> list[int]:
        """Returns the slots of each of `local` of the experts (None: all) for `tokens` of the whole model."""

def engine_rule(engine: str, tokens: int, experts: int) -> dict[str, int]:
    """Returns what the engine ("vllm", "sglang") launches bf16 experts with where it has no file for the layer, by
    parameter; `experts` are those of this device."""

def expert_layers(
    config: Union[str, bytes, Mapping[str, Any], None] = None,
    *,
    experts: int = 0,
    top_k: int = 0,
    hidden: int = 0,
    intermediate: int = 0,
    tensor_parallel: int = 1,
    expert_parallel: int = 1,
) -> tuple[ExpertLayer, ...]:
    """Returns the different expert layers of a model on one device: from its config.json, or from the numbers of one
    layer; () for a model without experts. Raises InvalidArgumentError for what makes no sense, with what to do."""

def expert_histogram(text: bytes) -> list[int]:
    """Returns the counts of a layer's experts that a recorded file has (docs/workloads.md), the most wanted first.
    Raises InvalidArgumentError for another file."""

def empty(**dimensions: Any) -> None: ...
def empty_typed(*, m: int, n: int, k: int) -> None: ...
