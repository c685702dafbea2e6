"""A driver of Triton's that has no GPU: kernels are compiled for it as for an H100, and launches are written down.

For tests and for the host's part of benchmarks. What it does not show: whether a kernel runs, and what a launch costs
beyond Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from triton.backends.compiler import GPUTarget
from triton.runtime import driver


class Launch(NamedTuple):
    """A launch that was asked for: the configuration shows in the constexprs and the metadata."""

    kernel: str
    grid: tuple[int, int, int]
    constants: dict[str, Any]
    num_warps: int
    num_stages: int


class Array:
    """As much of a tensor as a launch looks at."""

    def __init__(self, dtype: str = "bfloat16", address: int = 1 << 20, strides: tuple[int, ...] = ()) -> None:
        self.dtype = f"torch.{dtype}"
        self._address = address
        self._strides = strides

    def is_contiguous(self) -> bool:
        return not self._strides

    def stride(self) -> tuple[int, ...]:
        return self._strides

    def data_ptr(self) -> int:
        return self._address

    def element_size(self) -> int:
        return 2


class Launcher:
    """What Triton makes for each compiled kernel, in place of a launcher of CUDA's."""

    def __init__(self, source: Any, metadata: Any) -> None:
        names = source.fn.arg_names
        self._constants = {names[path[0]]: value for path, value in source.constants.items()}
        self._metadata = metadata

    def __call__(self, x: int, y: int, z: int, *rest: Any) -> None:
        driver.active.note(self._metadata, (x, y, z), self._constants)


class QuietLauncher(Launcher):
    """Writes nothing down: for measuring what comes before."""

    def __call__(self, x: int, y: int, z: int, *rest: Any) -> None:
        pass


class Utils:
    """The driver's functions that Triton calls when it loads a kernel."""

    def __init__(self) -> None:
        self.devices: dict[int, tuple[int, int]] = {}
        self.loaded = 0
        self.most_threads = 1024

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": 232448, "multiprocessor_count": self.devices[device][1], "warpSize": 32}

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[Any, ...]:
        self.loaded += 1
        return (object(), object(), 32, 0, self.most_threads)

    def unload_module(self, module: Any) -> None:
        pass


class StubDriver:
    def __init__(self, arch: int = 90, multiprocessors: int = 132, launcher: type[Launcher] = Launcher) -> None:
        self.utils = Utils()
        self.launcher_cls = launcher
        self.launches: list[Launch] = []
        self.benchmarks = 0
        self.devices = {0: (arch, multiprocessors)}  # Architecture and multiprocessors by number.
        self.current = 0
        self.utils.devices = self.devices

    def note(self, metadata: Any, grid: tuple[int, int, int], constants: dict[str, Any]) -> None:
        self.launches.append(Launch(metadata.name, grid, constants, metadata.num_warps, metadata.num_stages))

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.devices[self.current][0], 32)

    def get_current_device(self) -> int:
        return self.current

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_benchmarker(self) -> Any:
        def benchmark(call: Any, quantiles: Any) -> list[float]:
            self.benchmarks += 1
            call()
            return [1.0, 1.0, 1.0]

        return benchmark
