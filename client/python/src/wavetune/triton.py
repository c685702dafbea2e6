"""Decisions for Triton kernels: those that somebody else wrote, and one's own.

    import wavetune.triton

    # An engine's kernel, @triton.autotune'd, unmodified. From here on its launches ask the table; no benchmarking.
    wavetune.triton.attach(engine.matmul_kernel, tuned="triton_gemm", dims={"M": "m", "N": "n", "K": "k"})

    # One's own.
    @wavetune.triton.tuned("triton_gemm", dims={"m": "m", "n": "n", "k": "k"}, default={"BLOCK_M": 128, ...})
    @triton.jit
    def gemm(a, b, c, m, n, k, BLOCK_M: tl.constexpr, ...): ...

    gemm[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]),)](a, b, c, m, n, k)

Whatever is amiss (no daemon, no table, a table of another GPU or another Triton, arguments that do not fit) is said once,
as a wavetune.FallbackWarning, and then the kernel is launched as if it were not attached, or with the declared default.
Nothing here imports torch. Deciding allocates no device memory and calls nothing of CUDA: once a configuration is
compiled (precompile()), launches may be captured in a CUDA graph.

Thread safety: as Triton's launches.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import types
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Optional, Sequence, Union

import wavetune
from wavetune.errors import FallbackWarning, InvalidArgumentError
from wavetune.triton_decider import OPTIONS, CannotLaunchError, Choice, Decider, Options, check_triton
from wavetune.triton_launch import constexprs_of, launcher_of
from wavetune.triton_problem import Arguments, Dimensions, balanced, integer_arguments, named_arguments

if TYPE_CHECKING:
    import triton as _triton

__all__ = ["Attachment", "TunedKernel", "attach", "balanced", "tuned"]

# One value of each class that Triton compiles separately: 1 becomes a constant, multiples of 16 are known to be such.
_INTEGER_CLASSES = (1, 16, 17)


class _Precompiling:
    """What Attachment and TunedKernel have in common: the decision behind a launch, and compiling ahead of time."""

    _decider: Decider
    _default: Optional[Choice]  # What is launched where the table does not decide; None: the kernel sees to that.

    @property
    def reason(self) -> Optional[str]:
        """Why the table does not decide, as was warned of; None where it does, or nothing was launched yet."""
        return self._decider.reason

    def decision(self, *args: Any, **kwargs: Any) -> Optional[wavetune.Decision]:
        """Returns the decision of a launch with these arguments; None where there is no table to ask. Launches nothing."""
        return self._decider.decision(args, kwargs)

    def refresh(self) -> None:
        """Asks for the table again at the next launch: after the daemon was started or the kernel was profiled."""
        self._decider.refresh()

    def precompile(self, *args: Any, vary: Sequence[str] = (), **kwargs: Any) -> int:
        """Compiles and loads all that the table can answer for launches like this one; returns how many kernels.

        Arguments are those of a launch without its grid; nothing is launched. For a tensor a dtype will do where it is
        aligned to 16 bytes, as those of allocators are. vary: whole-number arguments that differ from launch to launch,
        as the number of tokens: Triton compiles 1, multiples of 16 and the rest separately, so each is compiled in turn.
        Compiles in as many threads as there are processors. A configuration that does not compile or fit is warned of, and
        such launches are not decided; the declared default is compiled in its place.

        With precompiles=True a newer table waits until this was called again for its configurations.
        """
        unknown = [name for name in vary if name not in self._decider.names]
        if unknown:
            raise InvalidArgumentError(f"vary names {', '.join(unknown)}, no argument of {self._decider.label}")
        choices = self._decider.choices(args, kwargs)
        variants = list(self._variants(args, kwargs, vary))
        loaded, failed = self._load(choices, variants)
        if failed and self._default is not None:
            loaded += self._load([self._default], variants)[0]
        self._decider.declare_prepared(args, kwargs)
        return len({id(kernel) for kernel in loaded})

    def _load(
        self, choices: Sequence[Choice], variants: Sequence[tuple[list[Any], dict[str, Any]]]
    ) -> tuple[list[Any], bool]:
        """Returns the compiled kernels of choices, loaded; and whether one had to be taken out."""
        started, compiled, loaded, failed = [], [], [], False
        with _compiling_in_parallel():
            for choice in choices:
                for args, kwargs in variants:
                    started.append((choice, args, kwargs, *_errors_kept(self._warm_up, choice, args, kwargs)))
            # Before the end of the compiling, which takes what failed away.
            for choice, args, kwargs, kernel, error in started:
                if error is None:
                    kernel, error = _errors_kept(_compiled, kernel)
                compiled.append((choice, args, kwargs, kernel, error))
        # After it: a warning is not safe beside threads that compile.
        for choice, args, kwargs, kernel, error in compiled:
            if error is None:
                kernel, error = _errors_kept(_loaded, kernel)
            if error is None and kernel is not None:
                loaded.append(kernel)
            elif error is not None:
                if not self._decider.take_out(choice, args, kwargs, error):
                    raise error
                failed = True
        return loaded, failed

    def _variants(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], vary: Sequence[str]
    ) -> Iterator[tuple[list[Any], dict[str, Any]]]:
        named = named_arguments(self._decider.names, args, kwargs)
        integers = integer_arguments(named)
        names = [name for name in vary if name in integers]
        for values in itertools.product(_INTEGER_CLASSES, repeat=len(names)):
            own_args, own_kwargs = list(args), dict(kwargs)
            for name, value in zip(names, values):
                position = self._decider.names.index(name)
                if position < len(own_args):
                    own_args[position] = value
                else:
                    own_kwargs[name] = value
            yield own_args, own_kwargs

    def _warm_up(self, choice: Choice, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        raise NotImplementedError


class Attachment(_Precompiling):
    """A kernel of somebody else's that a table decides for; from attach()."""

    def __init__(self, autotuner: Any, kernel: Any, options: Options, default: Optional[Mapping[str, Any]]) -> None:
        self.kernel = kernel
        self._autotuner = autotuner
        self._hook_of = _hooks_of(autotuner.configs)
        tuning, settled = _of_configs(autotuner.configs)
        own = {**settled, **options.constants}
        self._decider = Decider(
            _label(autotuner),
            autotuner.arg_names,
            options._replace(constants=own),
            make=self._config,
            tuning=[name for name in tuning if name not in OPTIONS],
            constexprs=constexprs_of(autotuner),
        )
        self._default = None if default is None else self._decider.choice_of({**own, **default})
        if self._default is not None and self._default.why_not is not None:
            raise InvalidArgumentError(f"default: {self._default.why_not}")
        self._original = autotuner.run
        autotuner.run = self._run
        autotuner._wavetune = self

    def detach(self) -> None:
        """Lets the kernel tune itself again. Does nothing where that is done already."""
        if getattr(self._autotuner, "_wavetune", None) is self:
            del self._autotuner.run
            del self._autotuner._wavetune

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        # In place of Autotuner.run: it computes a key and looks it up, which costs more than a decision, and tunes what
        # is new. As there: the chosen configuration's hook, then the function with its keywords.
        choice = self._decider.choose(args, kwargs)
        while True:
            if choice is None:
                choice = self._default
                if choice is None or self._decider.has_failed(choice, args, kwargs):
                    return self._original(*args, **kwargs)
            own, keywords = choice.made
            autotuner = self._autotuner
            autotuner.best_config = own
            if own.pre_hook is not None:
                own.pre_hook({**dict(zip(autotuner.arg_names, args)), **kwargs, **keywords})
            try:
                return autotuner.fn.run(*args, **kwargs, **keywords)
            except Exception as error:
                if not self._decider.take_out(choice, args, kwargs, error):
                    raise
            choice = None

    def _warm_up(self, choice: Choice, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        own, keywords = choice.made
        if own.pre_hook is not None:
            with contextlib.suppress(AttributeError):  # Of a type in place of a tensor.
                own.pre_hook({**dict(zip(self._autotuner.arg_names, args)), **kwargs, **keywords})
        return self._autotuner.fn.warmup(*args, grid=(1,), **kwargs, **keywords)

    def _config(self, keywords: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        import triton

        arguments = {name: value for name, value in keywords.items() if name not in OPTIONS}
        options = {name: value for name, value in keywords.items() if name in OPTIONS}
        config = triton.Config(arguments, **options)
        keywords = config.all_kwargs()
        config.pre_hook = self._hook_of(keywords)
        return config, keywords


def attach(
    kernel: Any,
    tuned: Union[str, wavetune.Tuner],
    dims: Dimensions = None,
    *,
    specialisation: Union[str, Callable[[Arguments], Optional[str]], None] = None,
    default: Optional[Mapping[str, Any]] = None,
    parameters: Optional[Mapping[str, str]] = None,
    constants: Optional[Mapping[str, Any]] = None,
    client: Optional[wavetune.Client] = None,
    device: Optional[str] = None,
    precompiles: bool = False,
    any_triton: bool = False,
    strict: bool = False,
) -> Optional[Attachment]:
    """Lets a table decide for a kernel that somebody else wrote with @triton.autotune, which stays as it is.

    kernel: the object that is launched, `kernel[grid](...)`: an Autotuner, or heuristics around one.
    tuned: the name of the kernel in WaveTune whose table decides, or a Tuner.
    dims: which arguments of the kernel are which dimensions, {"M": "m"}; or a function of the launch's arguments by name
        that returns the extents by dimension, or None for launches that the kernel is to tune itself. None: arguments
        called as the dimensions are.
    specialisation: where the table's kernel has several: its name, or a function of the arguments that returns it.
    default: the configuration for launches that the table does not decide, {"BLOCK_M": 64, "num_warps": 4, ...}. None:
        the kernel tunes itself then, as ever.
    parameters: the table's names of parameters to the kernel's, where they differ; constants: configuration arguments
        that the table does not decide. Those of which all of the kernel's configurations agree are taken from them.
    client: None: one that all kernels of the process share (WAVETUNE_ENDPOINT and so on). device: where several tables
        fit. precompiles: the program calls precompile(), so that a newer table waits for it.
    any_triton: also with a table that was measured with another version of Triton.
    strict: raise InvalidArgumentError where the kernel cannot be attached, rather than warn and return None.

    The table is asked for at the first launch, not here. Attaching again replaces the earlier attachment.
    """
    try:
        check_triton()
        autotuner = _autotuner_in(kernel)
    except InvalidArgumentError as error:
        if strict:
            raise
        warnings.warn(f"wavetune is not attached: {error}", FallbackWarning, stacklevel=2)
        return None
    earlier = getattr(autotuner, "_wavetune", None)
    if earlier is not None:
        warnings.warn(
            f"wavetune was attached to {_label(autotuner)} already; what was said last counts", FallbackWarning, 2
        )
        earlier.detach()
    options = Options(
        tuned, dims, specialisation, parameters or {}, constants or {}, client, device, precompiles, any_triton
    )
    try:
        return Attachment(autotuner, kernel, options, default)
    except InvalidArgumentError as error:
        if strict:
            raise
        warnings.warn(f"wavetune is not attached: {error}", FallbackWarning, stacklevel=2)
        return None


def _autotuner_in(kernel: Any) -> Any:
    from triton.runtime.autotuner import Autotuner

    own = kernel
    while own is not None and not isinstance(own, Autotuner):
        own = getattr(own, "fn", None)
    if own is None:
        raise InvalidArgumentError(
            f"{_label(kernel)} has no @triton.autotune to decide in place of; decorate one's own kernels with "
            "@wavetune.triton.tuned(...)"
        )
    return own


def _hooks_of(configs: Sequence[Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Returns what says the pre_hook of a configuration with these keywords of a launch: all of the kernel's have the same,
    or else it is that of the kernel's own configuration that has them. Raises CannotLaunchError where that is none: what a
    hook does (zeros that sums are added to) is a part of the launch.
    """
    first = configs[0].pre_hook if configs else None
    if all(_do_alike(first, config.pre_hook) for config in configs):
        return lambda keywords: first
    known = [(config.all_kwargs(), config.pre_hook) for config in configs]

    def hook_of(keywords: Mapping[str, Any]) -> Any:
        for own, hook in known:
            if own == keywords:
                return hook
        text = " ".join(f"{name}={value}" for name, value in keywords.items())
        raise CannotLaunchError(
            f"the kernel's configurations have pre_hooks of their own, and the table's {text} is none of them: nobody says "
            "which hook it needs. Give all of them the same hook, or add this configuration to the kernel's"
        )

    return hook_of


def _do_alike(one: Any, other: Any) -> bool:
    """Whether two hooks do the same: also functions that were made anew for each configuration, with the same code and
    values."""
    if one is other:
        return True
    if isinstance(one, functools.partial) and isinstance(other, functools.partial):
        parts = [(own.func, own.args, own.keywords) for own in (one, other)]
        return _do_alike(parts[0][0], parts[1][0]) and _are_equal(parts[0][1:], parts[1][1:])
    if not (isinstance(one, types.FunctionType) and isinstance(other, types.FunctionType)):
        return isinstance(one, types.MethodType) and one == other
    return one.__globals__ is other.__globals__ and _are_equal(
        *((own.__code__, own.__defaults__, own.__kwdefaults__, _enclosed(own)) for own in (one, other))
    )


def _enclosed(function: types.FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or ()]


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # Values that cannot be compared, or an empty cell.
        return False


def _of_configs(configs: Sequence[Any]) -> tuple[list[str], dict[str, Any]]:
    """Returns the names of the arguments in which an Autotuner's configurations differ, and the values of the others."""
    names = dict.fromkeys(name for config in configs for name in config.kwargs)
    tuning, settled = [], {}
    for name in names:
        values = [config.kwargs.get(name) for config in configs]
        if all(value == values[0] for value in values):
            settled[name] = values[0]
        else:
            tuning.append(name)
    return tuning, settled


def _label(kernel: Any) -> str:
    own = kernel
    while own is not None:
        name = getattr(own, "__name__", None)
        if name:
            return str(name)
        own = getattr(own, "base_fn", None) or getattr(own, "fn", None)
    return repr(kernel)


def tuned(
    tuned: Union[str, wavetune.Tuner],
    dims: Dimensions = None,
    *,
    default: Mapping[str, Any],
    specialisation: Union[str, Callable[[Arguments], Optional[str]], None] = None,
    parameters: Optional[Mapping[str, str]] = None,
    constants: Optional[Mapping[str, Any]] = None,
    client: Optional[wavetune.Client] = None,
    device: Optional[str] = None,
    precompiles: bool = False,
    any_triton: bool = False,
) -> Callable[[Any], TunedKernel]:
    """Decorates a @triton.jit function of one's own: each launch gets the configuration that the table decides.

    default: the configuration where the table does not decide (no table, another GPU, a problem that the kernel was not
        declared for): a value for each constexpr argument that the table would give, and options of Triton.
    The others: as attach().

    Raises InvalidArgumentError where dims or default name what the function does not take, or triton is not there.
    """
    options = Options(
        tuned, dims, specialisation, parameters or {}, constants or {}, client, device, precompiles, any_triton
    )
    return lambda function: _tuned_kernel_class()(function, options, default)


class TunedKernel(_Precompiling):
    """A kernel of one's own that a table decides for; from tuned(). Launched as a kernel of Triton: `kernel[grid](...)`."""

    _default: Choice

    def __init__(self, function: Any, options: Options, default: Mapping[str, Any]) -> None:
        check_triton()
        self.fn = function
        self.arg_names = list(getattr(function, "arg_names", ()))
        if not self.arg_names:
            raise InvalidArgumentError(f"{function!r} is no @triton.jit function: put @triton.jit below @tuned")
        functools.update_wrapper(self, function, updated=())  # Its attributes are Triton's own.
        self.__name__ = _label(function)
        self._decider = Decider(self.__name__, self.arg_names, options, constexprs=constexprs_of(function))
        self._default = self._decider.choice_of({**options.constants, **default})
        _check_names("default", self._default.keywords, [*self.arg_names, *OPTIONS])
        if isinstance(options.dims, Mapping):
            _check_names("dims", options.dims, self.arg_names)
        self._launch = launcher_of(function)

    def __repr__(self) -> str:
        return f"<wavetune.triton.TunedKernel of {self.fn!r}>"

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(self._launched, grid)

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """As JITFunction.run: launches, or with warmup compiles what this launch would get."""
        if not warmup:
            return self._launched(grid, *args, **kwargs)
        choice = self._decider.choose(args, kwargs)
        if choice is not None:
            kernel, error = _errors_kept(self._warm_up, choice, args, kwargs, grid)
            if error is None:
                return kernel
            if not self._decider.take_out(choice, args, kwargs, error):
                raise error
        return self._warm_up(self._default, args, kwargs, grid)

    def _launched(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        decided = self._decider.choose(args, kwargs)
        while True:
            choice = decided or self._default
            try:
                return self._launch(choice.number, choice.keywords, grid, args, kwargs)
            except TypeError:
                twice = sorted(choice.keywords.keys() & kwargs.keys())
                if not twice:
                    raise
                break
            except Exception as error:
                if decided is None or not self._decider.take_out(decided, args, kwargs, error):
                    raise
            decided = None
        raise InvalidArgumentError(
            f"{self.__name__}: {', '.join(twice)} is given, and decided by WaveTune: leave it out of the launch, or launch "
            f"{self.__name__}.fn"
        )

    def _warm_up(
        self, choice: Choice, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any = (1,)
    ) -> Any:
        return self.fn.warmup(*args, grid=grid, **kwargs, **choice.keywords)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{self.__name__} is launched with a grid: {self.__name__}[grid](...)")


@functools.lru_cache(maxsize=None)
def _tuned_kernel_class() -> type[TunedKernel]:
    """Returns TunedKernel as Triton's own kernels are, for what looks whether something is one: triton is imported late."""
    from triton.runtime.jit import KernelInterface

    return type("TunedKernel", (TunedKernel, KernelInterface), {"__module__": __name__})


def _check_names(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InvalidArgumentError(f"{what} names {', '.join(unknown)}; the function takes {', '.join(known)}")


@contextlib.contextmanager
def _compiling_in_parallel() -> Iterator[None]:
    """Lets warm-ups inside of it compile in threads, where this Triton can; all are done at its end."""
    try:
        from triton.runtime._async_compile import AsyncCompileMode, active_mode
    except ImportError:
        yield
        return
    if active_mode.get() is not None:  # The caller's own.
        yield
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool, AsyncCompileMode(pool, ignore_errors=True):
        yield  # Who asks for a kernel inside hears of its error.


def _errors_kept(call: Callable[..., Any], *args: Any) -> tuple[Any, Optional[Exception]]:
    """Returns what a call returned, or what it raised."""
    try:
        return call(*args), None
    except Exception as error:
        return None, error


def _compiled(kernel: Any) -> Any:
    """Returns a kernel that is compiled, of one that a thread compiles. Errors: Triton's."""
    return kernel.result() if kernel is not None and hasattr(kernel, "result") else kernel


def _loaded(kernel: Any) -> Any:
    """Returns a compiled kernel whose module is on the GPU: a first launch would load it, in 6 ms and more."""
    load = getattr(kernel, "_init_handles", None)
    if load is not None:
        load()
    return kernel
