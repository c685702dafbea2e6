"""Launching a @triton.jit function again: what Triton looks up for each launch, looked up once.

Of a launch through `kernel[grid](...)` most of the host's time goes into merging keywords, binding them, and writing all
options into a string that is a key. A KnownLaunches keeps the compiled kernel by what it really depends on (the device,
the configuration, how Triton specialises each argument, constexpr keywords) and hands it its arguments as Triton would.
The kernels are those that JITFunction.run() compiled and returned; nothing here compiles.

Not looked at again for a launch that is known: Triton's knobs, and globals that a kernel used when it was compiled.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Mapping, Optional, Sequence


class KnownLaunches:
    """The launches of one function. Make one with of(), which says None for functions it does not know how to launch."""

    def __init__(self, function: Any, runtime: Sequence[Any], constant: Sequence[Any], specialise: Any) -> None:
        self._function = function
        self._count = len(runtime)
        self._names = [parameter.name for parameter in runtime]
        self._constants = [(parameter.name, parameter.default) for parameter in constant]
        self._constant_names = {parameter.name for parameter in constant}
        self._is_const = [parameter.is_const for parameter in runtime]
        self._by_value = [not parameter.do_not_specialize for parameter in runtime]
        self._by_alignment = [not parameter.do_not_specialize_on_alignment for parameter in runtime]
        self._specialise = specialise
        self._backends: dict[Any, Any] = {}
        self._kernels: dict[Any, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {}
        from triton.runtime import driver

        self._driver = driver

    @staticmethod
    def of(function: Any) -> Optional[KnownLaunches]:
        """Returns the launches of a JITFunction whose constexprs come after its other arguments; else None."""
        try:
            from triton._C.libtriton import native_specialize_impl
            from triton.runtime.jit import JITFunction
        except ImportError:
            return None
        if not isinstance(function, JITFunction):
            return None
        runtime = [parameter for parameter in function.params if not parameter.is_constexpr]
        constant = [parameter for parameter in function.params if parameter.is_constexpr]
        if [parameter.name for parameter in function.params] != [p.name for p in (*runtime, *constant)]:
            return None
        return KnownLaunches(function, runtime, constant, native_specialize_impl)

    def launch(
        self, configuration: Any, keywords: Mapping[str, Any], grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Launches as function[grid](*args, **kwargs, **keywords) would, and returns the compiled kernel.

        configuration: hashable, tells the keywords of this function apart. Errors: Triton's.
        """
        if len(args) != self._count or self._function.pre_run_hooks:
            return self._launch_anew(grid, args, kwargs, keywords)
        active = self._driver.active
        device = active.get_current_device()
        backend = self._backends.get(device)
        if backend is None:
            backend = self._backends[device] = self._function.device_caches[device][3]
        key: tuple[Any, ...] = (
            configuration,
            device,
            *map(
                self._specialise,
                itertools.repeat(backend),
                args,
                self._is_const,
                self._by_value,
                self._by_alignment,
            ),
        )
        if kwargs:
            key = (*key, *kwargs.items())
        try:
            known = self._kernels.get(key)
        except TypeError:  # An argument that cannot be looked up.
            return self._launch_anew(grid, args, kwargs, keywords)
        if known is None:
            return self._learn(key, grid, args, kwargs, keywords)
        kernel, constants, meta = known
        if callable(grid):
            grid = grid(dict(zip(self._names, args), **meta))
        if len(grid) < 3:
            grid = (*grid, 1, 1)[:3]
        kernel[grid](*args, *constants, stream=active.get_current_stream(device))
        return kernel

    def _learn(
        self, key: Any, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any], keywords: Mapping[str, Any]
    ) -> Any:
        kernel = self._launch_anew(grid, args, kwargs, keywords)
        given = {**kwargs, **keywords}
        # Runtime arguments by name, and options, change more than the constexprs: Triton sees to those.
        if kernel is not None and kwargs.keys() <= self._constant_names:
            meta = {name: given.get(name, default) for name, default in self._constants}
            self._kernels[key] = (kernel, tuple(meta.values()), meta)
        return kernel

    def _launch_anew(self, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any], keywords: Mapping[str, Any]) -> Any:
        return self._function.run(*args, grid=grid, warmup=False, **kwargs, **keywords)


def constexprs_of(function: Any) -> frozenset[str]:
    """Returns the names of the arguments whose values Triton compiles in, of a function of its or one around it."""
    while function is not None and not hasattr(function, "params"):
        function = getattr(function, "fn", None)
    return frozenset(parameter.name for parameter in getattr(function, "params", ()) if parameter.is_constexpr)


Launcher = Callable[[Any, Mapping[str, Any], Any, Sequence[Any], Mapping[str, Any]], Any]


def launcher_of(function: Any) -> Launcher:
    """Returns what launches a function: through its known launches, or else as Triton does."""
    known = KnownLaunches.of(function)
    if known is not None:
        return known.launch
    run = function.run
    return lambda configuration, keywords, grid, args, kwargs: run(
        *args, grid=grid, warmup=False, **kwargs, **keywords
    )
