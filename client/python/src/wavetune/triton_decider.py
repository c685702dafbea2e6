"""Which configuration a launch of a Triton kernel gets: the part that `attach` and `tuned` share.

A Decider belongs to one kernel. It asks for the table at the first launch, checks that it is one for this GPU, this
version of Triton and this kernel, and from then on each launch is one Tuner.resolve() and one look-up. Whatever does not
fit is said once, as a warning, and then decides nothing: the kernel is launched as if WaveTune were not there.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import re
import threading
import warnings
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

import wavetune
from wavetune.errors import Error, FallbackWarning, InvalidArgumentError
from wavetune.triton_problem import Arguments, Dimensions, Reader, named_arguments, reader_of

# Tried: 3.6.0, 3.7.1, 3.8.0, 3.9.0. Earlier ones have other launchers; of later ones nobody knows.
OLDEST_TRITON = (3, 6)
NEWEST_TRITON = (3, 9)

# Parameters that are options of Triton's compiler, not arguments of a kernel.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class Choice(NamedTuple):
    """What a launch gets for a configuration of the table."""

    configuration: Mapping[str, int]  # As the table has it. Kept, so that its id is no other's.
    keywords: dict[str, Any]  # Of the launch.
    made: Any  # What Decider.make returned.
    number: int  # Its own: no other choice of the process has it.


_numbers = itertools.count(1)


class Options(NamedTuple):
    """What a kernel is decided with: see wavetune.triton.attach()."""

    tuned: Union[str, wavetune.Tuner]
    dims: Dimensions = None
    specialisation: Union[str, Callable[[Arguments], Optional[str]], None] = None
    parameters: Mapping[str, str] = {}
    constants: Mapping[str, Any] = {}
    client: Optional[wavetune.Client] = None
    device: Optional[str] = None
    precompiles: bool = False
    any_triton: bool = False


class _Lane:
    """The decisions of one specialisation: a tuner, and what its configurations mean for a launch."""

    def __init__(self, tuner: wavetune.Tuner, read: Reader) -> None:
        self.tuner = tuner
        self.resolve = tuner.resolve
        self.read = read
        self.choices: dict[int, Choice] = {}


class Decider:
    """Decides for one kernel. May be used from any thread.

    label: the kernel's name, for messages; names: its arguments in order; make: makes of a configuration's keywords
    what its launches need, once for each; tuning: arguments that somebody must decide, as nobody else does.
    """

    def __init__(
        self,
        label: str,
        names: Sequence[str],
        options: Options,
        make: Callable[[dict[str, Any]], Any] = lambda keywords: None,
        tuning: Sequence[str] = (),
    ) -> None:
        self.label = label
        self.names = list(names)
        self.options = options
        self.make = make
        self.tuning = list(tuning)
        self.reason: Optional[str] = None
        self._lanes: dict[Optional[str], Optional[_Lane]] = {}
        self._single: Optional[_Lane] = None  # Where there is no choice of specialisations.
        self._by_launch = callable(options.specialisation)
        self._client = options.client
        self._lock = threading.Lock()

    def choose(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Optional[Choice]:
        """Returns what the launch gets, or None where the table does not decide. Raises nothing."""
        lane = self._single
        if lane is None:
            lane = self._find_lane(args, kwargs)
            if lane is None:
                return None
        try:
            problem = lane.read(args, kwargs)
            if problem is None:
                return None
            decision = lane.resolve(**problem)
            if decision.candidate is None:
                return None
            configuration = decision.configuration
            choice = lane.choices.get(id(configuration))
            return self._add(lane, configuration) if choice is None else choice
        except Exception as error:  # A function of the caller's may raise anything.
            self._say(f"the problem of a launch could not be decided ({type(error).__name__}: {error}); check dims")
            return None

    def decision(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Optional[wavetune.Decision]:
        """Returns the decision behind a launch, for people and tests; None where no table can be asked."""
        lane = self._single or self._find_lane(args, kwargs)
        problem = None if lane is None else lane.read(args, kwargs)
        return None if lane is None or problem is None else lane.resolve(**problem)

    def choices(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Choice]:
        """Returns what launches like this one can get: of the table that decides, and of one that is staged."""
        lane = self._single or self._find_lane(args, kwargs)
        if lane is None:
            return []
        return [self._choice(configuration) for configuration in _answers(lane.tuner)]

    def declare_prepared(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Says that all of choices() is compiled: a staged table may take over."""
        lane = self._single or self._find_lane(args, kwargs)
        if lane is not None:
            lane.tuner.set_prepared(_answers(lane.tuner))

    def refresh(self) -> None:
        """Asks for the tables again at the next launch, after what was wrong has been mended."""
        with self._lock:
            self._lanes.clear()
            self._single = None
            self.reason = None

    def _find_lane(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Optional[_Lane]:
        specialisation = self.options.specialisation
        if callable(specialisation):
            try:
                specialisation = specialisation(named_arguments(self.names, args, kwargs))
            except Exception as error:
                self._say(f"specialisation() raised {type(error).__name__}: {error}")
                return None
            if specialisation is None:
                return None
        if not isinstance(specialisation, (str, type(None))):
            self._say(f"specialisation is {specialisation!r}, which is no name")
            return None
        if specialisation not in self._lanes:
            with self._lock:
                if specialisation not in self._lanes:
                    self._lanes[specialisation] = self._open(specialisation)
        lane = self._lanes[specialisation]
        if not self._by_launch:
            self._single = lane
        return lane

    def _open(self, specialisation: Optional[str]) -> Optional[_Lane]:
        try:
            check_triton()
            tuner = self._tuner(specialisation)
            check_table(tuner, self.options.any_triton)
            names = [dimension.name for dimension in tuner.dimensions]
            lane = _Lane(tuner, reader_of(self.options.dims, self.names, names))
            for configuration in _answers(tuner):
                self._add(lane, configuration)
            return lane
        except Error as error:
            self._say(str(error))
        except Exception as error:  # Triton's, or the driver's: whatever it is, the engine goes on.
            self._say(f"{type(error).__name__}: {error}")
        return None

    def _tuner(self, specialisation: Optional[str]) -> wavetune.Tuner:
        if not isinstance(self.options.tuned, str):
            return self.options.tuned
        if self._client is None:
            self._client = shared_client()
        return self._client.tuner(
            self.options.tuned,
            device=self.options.device,
            specialisation=specialisation,
            prepares_on_demand=not self.options.precompiles,
        )

    def _add(self, lane: _Lane, configuration: Mapping[str, int]) -> Choice:
        choice = lane.choices[id(configuration)] = self._choice(configuration)
        return choice

    def _choice(self, configuration: Mapping[str, int]) -> Choice:
        keywords = dict(self.options.constants)
        renamed = self.options.parameters
        for parameter, value in configuration.items():
            name = renamed.get(parameter, parameter)
            if name != "maxnreg" or value > 0:  # 0: no limit, which to Triton is no such option.
                keywords[name] = value
        self._check_keywords(keywords)
        return Choice(configuration, keywords, self.make(keywords), next(_numbers))

    def _check_keywords(self, keywords: Mapping[str, Any]) -> None:
        unknown = [name for name in keywords if name not in self.names and name not in OPTIONS]
        if unknown:
            raise InvalidArgumentError(
                f"the table decides {', '.join(unknown)}, which the kernel does not take (it takes "
                f"{', '.join(self.names)}); rename with parameters={{table's name: kernel's name}}"
            )
        missing = [name for name in self.tuning if name not in keywords]
        if missing:
            raise InvalidArgumentError(
                f"the table does not decide {', '.join(missing)}, of which the kernel's configurations have several "
                f"values; give one with constants={{{missing[0]!r}: ...}}"
            )

    def _say(self, what: str) -> None:
        """Warns, the first time only; nothing is decided any more than before."""
        if self.reason is None:
            self.reason = what
            warnings.warn(
                f"wavetune does not decide for {self.label}: {what}. It is launched as if it were not attached.",
                FallbackWarning,
                stacklevel=2,
            )


def _answers(tuner: wavetune.Tuner) -> list[Mapping[str, int]]:
    staged = tuner.staged
    own = list(tuner.configurations)
    return own + [more for more in (staged.configurations if staged else ()) if more not in own]


_clients: list[wavetune.Client] = []
_clients_lock = threading.Lock()


def shared_client() -> wavetune.Client:
    """Returns the process's client of the environment's daemon (WAVETUNE_ENDPOINT and so on), for all kernels."""
    with _clients_lock:
        if not _clients:
            _clients.append(wavetune.connect())
        return _clients[0]


def triton_version() -> str:
    """Returns the version of Triton that is installed; empty for none."""
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        try:
            import triton

            return getattr(triton, "__version__", "")
        except ImportError:
            return ""


def check_triton() -> None:
    """Raises InvalidArgumentError for a Triton that is missing or too old; warns of one that nobody has tried."""
    version = triton_version()
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None:
        raise InvalidArgumentError("triton is not installed; pip install 'triton>=3.6'")
    own = (int(numbers[1]), int(numbers[2]))
    if own < OLDEST_TRITON:
        raise InvalidArgumentError(f"triton is {version}; wavetune.triton needs 3.6 or newer")
    if own > NEWEST_TRITON and not _warned_of_newer:
        _warned_of_newer.append(version)
        warnings.warn(
            f"triton {version} is newer than those that wavetune.triton was tried with "
            f"(up to {'.'.join(map(str, NEWEST_TRITON))}); if launches fail, detach and tell us",
            FallbackWarning,
            stacklevel=2,
        )


_warned_of_newer: list[str] = []


def check_table(tuner: wavetune.Tuner, any_triton: bool) -> None:
    """Raises InvalidArgumentError where a table is none for this GPU or this Triton; the message says what to do."""
    if not tuner.digest:
        raise InvalidArgumentError(
            f'there is no table of "{tuner.kernel}" yet: wavetune reprofile --kernel {tuner.kernel}, or start the daemon'
        )
    _check_device(tuner)
    if not any_triton:
        check_compiler(tuner, "pass any_triton=True")


def check_compiler(tuner: wavetune.Tuner, otherwise: str) -> None:
    """Raises InvalidArgumentError where a table was measured with another Triton than is installed, or without one.

    otherwise: what else to do than to profile again. A table that does not say its compiler is taken at its word.
    """
    if not tuner.compiler:
        return
    found = re.match(r"Triton ([^\s,;]+)", tuner.compiler)
    if found is None:
        raise InvalidArgumentError(
            f'the table of "{tuner.kernel}" was measured with {tuner.compiler}, not with Triton: it is of another kernel'
        )
    own = triton_version()
    if found[1] != own:
        raise InvalidArgumentError(
            f'the table of "{tuner.kernel}" was measured with Triton {found[1]}, installed is {own or "none"}: profile '
            f"again with this one (wavetune reprofile), or {otherwise}"
        )


def silicon_facts(silicon_key: str) -> dict[str, str]:
    """Returns what the key of a class of devices says: "backend", "arch", "mp", "memory_mib", and so on."""
    return dict(part.split("=", 1) for part in silicon_key.split(";") if "=" in part)


def _check_device(tuner: wavetune.Tuner) -> None:
    from triton.runtime import driver

    facts = silicon_facts(tuner.silicon_key)
    target = driver.active.get_current_target()
    backend = facts.get("backend", "")
    architecture = re.sub(r"\D", "", facts.get("arch", ""))
    if backend != target.backend or architecture != str(target.arch):
        raise InvalidArgumentError(
            f'the table of "{tuner.kernel}" is for {tuner.silicon_key}, this GPU is {target.backend} sm_{target.arch}: '
            "profile it here (wavetune reprofile), or name this GPU's table with device="
        )
    processors = _multiprocessors(driver)
    if processors and facts.get("mp", str(processors)) != str(processors):
        raise InvalidArgumentError(
            f'the table of "{tuner.kernel}" is for {facts["mp"]} multiprocessors, this GPU has {processors}: profile it '
            "here (wavetune reprofile), or name this GPU's table with device="
        )


def _multiprocessors(driver: Any) -> int:
    """Returns the current device's multiprocessors, 0 where the driver does not say."""
    try:
        properties = driver.active.utils.get_device_properties(driver.active.get_current_device())
        return int(properties.get("multiprocessor_count", 0))
    except (AttributeError, KeyError, TypeError):
        return 0
