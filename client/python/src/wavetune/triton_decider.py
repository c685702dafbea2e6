"""Which configuration a launch of a Triton kernel gets: the part that `attach` and `tuned` share.

A Decider belongs to one kernel. It asks for the table at the first launch, checks that it is one for this GPU, this
version of Triton and this kernel, and from then on each launch is one Tuner.resolve() and one look-up. Whatever does not
fit is said once, as a warning, and then decides nothing: the kernel is launched as if WaveTune were not there.
"""

from __future__ import annotations

import functools
import importlib.metadata
import itertools
import re
import sys
import threading
import warnings
from typing import Any, Callable, Container, Mapping, NamedTuple, Optional, Sequence, Union

import wavetune
from wavetune.errors import Error, FailedPreconditionError, FallbackWarning, InvalidArgumentError
from wavetune.triton_arguments import LaunchKinds, kind_of
from wavetune.triton_problem import Arguments, Dimensions, asker_of, named_arguments, reader_of

# Tried: 3.6.0, 3.7.1, 3.8.0, 3.9.0. Earlier ones have other launchers; of later ones nobody knows.
OLDEST_TRITON = (3, 6)
NEWEST_TRITON = (3, 9)

# Parameters that are options of Triton's compiler, not arguments of a kernel.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class Choice(NamedTuple):
    """What a launch gets for a configuration of the table."""

    keywords: dict[str, Any]  # Of the launch.
    made: Any  # What Decider.make returned.
    number: int  # Its own: no choice of the process with other keywords has it.
    why_not: Optional[str] = None  # Why no launch may get it.


class CannotLaunchError(Exception):
    """Why a configuration of the table cannot be launched, from Decider.make; the others may be."""


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
    """The decisions of one specialisation on one device: a tuner, and what its configurations mean for a launch."""

    def __init__(self, driver: Any, tuner: wavetune.Tuner, dims: Dimensions, names: Sequence[str]) -> None:
        dimensions = [dimension.name for dimension in tuner.dimensions]
        self.driver = driver  # Of Triton: another one may have another device of the same number.
        self.tuner = tuner
        self.read = reader_of(dims, names, dimensions)
        self.ask = asker_of(dims, names, dimensions, tuner.resolve)
        self.difference = _differences(tuner, names)
        self.choices: dict[int, Choice] = {}  # By the id of a configuration, which is kept.
        self.kept: list[Mapping[str, int]] = []


def _differences(tuner: wavetune.Tuner, names: Sequence[str]) -> Callable[..., Optional[str]]:
    """Returns what says how a launch differs from the table's measurements: nothing where nobody knows their arguments."""
    try:
        arguments = tuner.arguments
    except Error:  # A table from the cache, or from a file without its manifest.
        return lambda args, kwargs: None
    return LaunchKinds(arguments, names).difference


class Decider:
    """Decides for one kernel. May be used from any thread.

    label: the kernel's name, for messages; names: its arguments in order; make: makes of a configuration's keywords
    what its launches need, once for each, or raises CannotLaunchError; tuning: arguments that somebody must decide, as
    nobody else does; constexprs: arguments whose values are compiled in.
    """

    def __init__(
        self,
        label: str,
        names: Sequence[str],
        options: Options,
        make: Callable[[dict[str, Any]], Any] = lambda keywords: None,
        tuning: Sequence[str] = (),
        constexprs: Container[str] = (),
    ) -> None:
        from triton.runtime import driver

        self.label = label
        self.names = list(names)
        self.options = options
        self.make = make
        self.tuning = list(tuning)
        self._constexprs = constexprs
        self.reason: Optional[str] = None
        self._driver = driver
        self._lanes: dict[tuple[Optional[str], int], tuple[Any, Optional[_Lane]]] = {}
        self._single: dict[int, _Lane] = {}  # By device, where there is no choice of specialisations.
        self._by_launch = callable(options.specialisation)
        self._client = options.client
        self._lock = threading.Lock()
        self._choices: dict[Any, Choice] = {}  # By keywords.
        # What does not compile, or does not fit: numbers of choices, and those with the kinds of arguments.
        self._failed: set[int] = set()
        self._failures: set[tuple[int, Any]] = set()

    def choose(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Optional[Choice]:
        """Returns what the launch gets, or None where the table does not decide. Raises nothing."""
        try:
            active = self._driver.active
            lane = self._single.get(active.get_current_device())
            if lane is None or lane.driver is not active:
                lane = self._find_lane(args, kwargs)
                if lane is None:
                    return None
            difference = lane.difference(args, kwargs)
            if difference is not None:
                self._say(difference)
                return None
            decision = lane.ask(args, kwargs)
            if decision is None or decision.candidate is None:
                return None
            configuration = decision.configuration
            choice = lane.choices.get(id(configuration)) or self._add(lane, configuration)
        except Exception as error:  # A function of the caller's may raise anything.
            self._say(f"the problem of a launch could not be decided ({type(error).__name__}: {error}); check dims")
            return None
        if choice.why_not is not None:
            self._say(choice.why_not)
            return None
        return None if self._failed and self.has_failed(choice, args, kwargs) else choice

    def has_failed(self, choice: Choice, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether the choice was taken out for launches with such arguments."""
        return choice.number in self._failed and (choice.number, self._kinds(args, kwargs)) in self._failures

    def take_out(self, choice: Choice, args: Sequence[Any], kwargs: Mapping[str, Any], error: Exception) -> bool:
        """Returns whether an error of a launch says that its choice does not compile or fit; then warns, the first time,
        and no launch with such arguments gets it again. Other errors are the launch's own.
        """
        if not isinstance(error, _compilers_errors()) and type(error) not in (RuntimeError, AssertionError):
            return False
        self._failures.add((choice.number, self._kinds(args, kwargs)))
        self._failed.add(choice.number)
        text = str(error).strip().partition("\n")[0]
        self._say(
            f"with these arguments {_text(choice.keywords)} does not compile or fit ({type(error).__name__}: {text}); the "
            "table was measured for another kernel, or with other arguments. Launches that would get it are left alone"
        )
        return True

    def decision(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Optional[wavetune.Decision]:
        """Returns the decision behind a launch, for people and tests; None where no table can be asked."""
        lane = self._find_lane(args, kwargs)
        problem = None if lane is None else lane.read(args, kwargs)
        return None if lane is None or problem is None else lane.tuner.resolve(**problem)

    def choices(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Choice]:
        """Returns what launches like this one can get: of the table that decides, and of one that is staged."""
        lane = self._find_lane(args, kwargs)
        if lane is None:
            return []
        difference = lane.difference(args, kwargs)
        if difference is not None:
            self._say(difference)
            return []
        found = [self._choice(configuration) for configuration in _answers(lane.tuner)]
        return [choice for choice in found if choice.why_not is None]

    def declare_prepared(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Says that all of choices() is compiled: a staged table may take over."""
        lane = self._find_lane(args, kwargs)
        if lane is not None:
            lane.tuner.set_prepared(_answers(lane.tuner))

    def refresh(self) -> None:
        """Asks for the tables again at the next launch, after what was wrong has been mended."""
        with self._lock:
            self._lanes.clear()
            self._single.clear()
            self._failed.clear()
            self._failures.clear()
            self.reason = None

    def _kinds(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        named = sorted(named_arguments(self.names, args, kwargs).items())
        return tuple((name, kind_of(value, name in self._constexprs)) for name, value in named)

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
        try:
            active = self._driver.active
            device = active.get_current_device()
        except Exception as error:  # Triton's, or the driver's.
            self._say(f"{type(error).__name__}: {error}")
            return None
        found = self._lanes.get((specialisation, device))
        if found is None or found[0] is not active:
            with self._lock:
                found = self._lanes.get((specialisation, device))
                if found is None or found[0] is not active:
                    found = active, self._open(specialisation, active, device)
                    self._lanes[specialisation, device] = found
        lane = found[1]
        if not self._by_launch and lane is not None:
            self._single[device] = lane
        return lane

    def _open(self, specialisation: Optional[str], active: Any, device: int) -> Optional[_Lane]:
        try:
            check_triton()
            tuner = self._tuner(specialisation, device)
            check_table(tuner, self.options.any_triton)
            lane = _Lane(active, tuner, self.options.dims, self.names)
            for configuration in _answers(tuner):
                self._add(lane, configuration)
            return lane
        except Error as error:
            self._say(str(error))
        except Exception as error:  # Triton's, or the driver's: whatever it is, the engine goes on.
            self._say(f"{type(error).__name__}: {error}")
        return None

    def _tuner(self, specialisation: Optional[str], device: int) -> wavetune.Tuner:
        own = self.options
        if not isinstance(own.tuned, str):
            return own.tuned
        if self._client is None:
            self._client = shared_client()
        tuner = functools.partial(
            self._client.tuner, own.tuned, specialisation=specialisation, prepares_on_demand=not own.precompiles
        )
        try:
            return tuner(device=own.device)
        except FailedPreconditionError:  # Several fit, as where the GPUs of the machine are of several classes.
            uuid = None if own.device else device_uuid(device)
            if uuid is None:
                raise
            return tuner(device=uuid)

    def _add(self, lane: _Lane, configuration: Mapping[str, int]) -> Choice:
        lane.kept.append(configuration)
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
        return self.choice_of(keywords)

    def choice_of(self, keywords: dict[str, Any]) -> Choice:
        """Returns the choice of a configuration with these keywords of a launch."""
        key = tuple(sorted((name, repr(value)) for name, value in keywords.items()))
        choice = self._choices.get(key)
        if choice is None:
            try:
                choice = Choice(keywords, self.make(keywords), next(_numbers))
            except CannotLaunchError as why:
                choice = Choice(keywords, None, next(_numbers), str(why))
            choice = self._choices.setdefault(key, choice)
        return choice

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


@functools.lru_cache(maxsize=None)
def _compilers_errors() -> tuple[type[Exception], ...]:
    """Returns what Triton raises for a configuration that it cannot compile, or that the device has no room for."""
    from triton.compiler.errors import CompilationError
    from triton.runtime import errors

    return (CompilationError, errors.OutOfResources, getattr(errors, "PTXASError", errors.OutOfResources))


def _text(keywords: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in keywords.items())


def _answers(tuner: wavetune.Tuner) -> list[wavetune.Configuration]:
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


def device_uuid(device: int) -> Optional[str]:
    """Returns the UUID of a device by number, as daemons know it; None where torch, which Triton uses, does not say."""
    torch = sys.modules.get("torch")
    try:
        return uuid_text(torch.cuda.get_device_properties(device)) if torch is not None else None
    except Exception:  # No such device, or another torch.
        return None


def uuid_text(properties: Any) -> Optional[str]:
    """Returns the UUID in what torch says of a device, as daemons know it; None where it says none."""
    uuid = str(getattr(properties, "uuid", ""))
    if not uuid:
        return None
    return uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"


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
