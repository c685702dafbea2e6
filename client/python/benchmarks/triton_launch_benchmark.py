#!/usr/bin/env python3
"""What a launch of a Triton kernel costs the host: as it is, with @tuned, attached, and with a warm @triton.autotune.

    client/python/benchmarks/triton_launch_benchmark.py --json launch.json     # on a GPU, with torch
    client/python/benchmarks/triton_launch_benchmark.py --stub                 # the host's part alone, without a GPU

The decisions are those of a golden table (12 configurations) as if it were measured on this GPU: what is timed is the
deciding, not whether it decides well. Rows, in microseconds a launch:

  compiled          CompiledKernel[grid](...): no specialisation, nothing looked up. Below what a launch can cost.
  bare              kernel[grid](..., **configuration): the configuration is known
  bare_lambda       the same with a function for the grid, as kernels whose tile is tuned need
  tuned             @wavetune.triton.tuned, the same function for the grid
  attached          an @triton.autotune'd kernel after wavetune.triton.attach
  autotune          the same kernel, tuned for these shapes before

Launches take four shapes in turn. All rows take turns in rounds, in an order that moves on each round; medians over the
rounds, and the spread between the quartiles. On a GPU the kernels are tiny, so that the queue never fills.

Then, on a GPU or a stub: the first launch of shapes that nobody launched before, with the portfolio compiled; on a GPU
the same inside of a CUDA graph capture, with results compared, and what autotune does there.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Callable

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))

import launch_kernels  # noqa: E402
import tables  # noqa: E402
import triton  # noqa: E402
from triton.runtime import driver  # noqa: E402

import wavetune  # noqa: E402
from wavetune.triton import attach, tuned  # noqa: E402

# Whole numbers of Triton's classes alike, so that one compiled kernel serves all shapes of a configuration.
WARM = [(16, 64, 64), (32, 128, 64), (64, 64, 128), (128, 128, 64)]
UNSEEN = [(16 * m, 64, 64) for m in range(9, 41)]
CAPTURED = [(16 * m, 64, 64) for m in range(41, 49)]
DIMS = {"M": "m", "N": "n", "K": "k"}
PARAMETERS = {"STAGES": "num_stages"}
OPTIONS = ("num_stages",)


class Stub:
    """Without a GPU: Triton compiles, and launches go nowhere."""

    captures = False
    # The thread's own time: it waits for nobody here, and other programs on the machine are not to count.
    now_ns = staticmethod(time.thread_time_ns)

    def __init__(self) -> None:
        import triton_stub

        self._array = triton_stub.Array
        driver.set_active(triton_stub.StubDriver(launcher=triton_stub.QuietLauncher))
        self.name = "none (stub driver)"

    def tensors(self, m: int, n: int, k: int) -> tuple[Any, Any, Any]:
        return self._array(), self._array(), self._array()

    def synchronize(self) -> None:
        pass


class Gpu:
    captures = True
    now_ns = staticmethod(time.perf_counter_ns)

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.name = torch.cuda.get_device_name()

    def tensors(self, m: int, n: int, k: int) -> tuple[Any, Any, Any]:
        new = lambda *shape: self.torch.randn(shape, device="cuda", dtype=self.torch.bfloat16)  # noqa: E731
        return new(m, k), new(k, n), new(m, n)

    def synchronize(self) -> None:
        self.torch.cuda.synchronize()


def silicon() -> str:
    """A key of this GPU with as many characters as the golden table's, so that its payload stays whole."""
    target = driver.active.get_current_target()
    processors = driver.active.utils.get_device_properties(0)["multiprocessor_count"]
    key = f"backend=cuda;arch=sm_{target.arch};mp={processors}"
    missing = len(tables.SILICON) - len(key)
    if missing < 0:
        raise SystemExit(f"the golden table cannot be renamed to {key}: too long")
    return key.replace(";mp", "a" * missing + ";mp") if missing <= 2 else key + ";" * missing


def golden_tuner(folder: Path) -> wavetune.Tuner:
    tables.add_variant_to_cache(folder / "cache", "gemm", silicon=silicon())
    client = wavetune.connect(f"unix:{folder}/nobody.sock", mode="offline", cache_dir=folder / "cache")
    return client.tuner(tables.KERNEL)


def configs_of(tuner: wavetune.Tuner) -> list[Any]:
    result = []
    for own in tuner.configurations:
        arguments = {name: value for name, value in own.items() if name != "STAGES"}
        result.append(triton.Config(arguments, num_stages=own["STAGES"]))
    return result


class Kernels:
    """One function, launched in each of the ways."""

    def __init__(self, tuner: wavetune.Tuner) -> None:
        new = lambda: triton.jit(launch_kernels.gemm)  # noqa: E731
        autotune = triton.autotune(configs=configs_of(tuner), key=["M", "N", "K"])
        default = {**{PARAMETERS.get(name, name): value for name, value in tuner.default_configuration.items()}}
        self.plain = new()
        self.tuned = tuned(tuner, DIMS, parameters=PARAMETERS, default=default)(new())
        self.autotuned = autotune(new())
        self.attached = autotune(new())
        self.handle = attach(self.attached, tuner, DIMS, parameters=PARAMETERS, strict=True)


def keywords(tuner: wavetune.Tuner, shape: tuple[int, int, int]) -> dict[str, int]:
    own = tuner.resolve(**dict(zip("mnk", shape))).configuration
    return {PARAMETERS.get(name, name): value for name, value in own.items()}


def launches(kernels: Kernels, tuner: wavetune.Tuner, device: Any) -> dict[str, list[Callable[[], Any]]]:
    """Returns, for each row, one launch of each of the warm shapes."""
    rows: dict[str, list[Callable[[], Any]]] = {}

    def add(name: str, launch: Callable[[], Any]) -> None:
        rows.setdefault(name, []).append(launch)

    for shape in WARM:
        arguments = (*device.tensors(*shape), *shape)
        own = keywords(tuner, shape)
        fixed = launch_kernels.grid({**own, "M": shape[0], "N": shape[1]})
        compiled = kernels.plain[fixed](*arguments, **own)
        constants = [own[name] for name in kernels.plain.arg_names[6:]]
        whole = (*fixed, 1, 1)[:3]
        grid = launch_kernels.grid
        add("compiled", lambda k=compiled, w=whole, a=(*arguments, *constants): k[w](*a))
        add("bare", lambda a=arguments, o=own, f=fixed: kernels.plain[f](*a, **o))
        add("bare_lambda", lambda a=arguments, o=own: kernels.plain[grid](*a, **o))
        add("tuned", lambda a=arguments: kernels.tuned[grid](*a))
        add("attached", lambda a=arguments: kernels.attached[grid](*a))
        add("autotune", lambda a=arguments: kernels.autotuned[grid](*a))
    return rows


def per_launch(rows: dict[str, list[Callable[[], Any]]], device: Any, rounds: int, repeats: int) -> dict[str, Any]:
    """Returns microseconds a launch by row: median over the rounds, and the quartiles."""
    for own in rows.values():
        for launch in own:
            launch()
    device.synchronize()
    names = list(rows)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            own = rows[name]
            started = device.now_ns()
            for _ in range(repeats):
                for launch in own:
                    launch()
            times[name].append((device.now_ns() - started) / (1000 * repeats * len(own)))
            device.synchronize()
    return {name: summary(values) for name, values in times.items()}


def summary(values: list[float]) -> dict[str, float]:
    quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return {
        "median": round(statistics.median(values), 3),
        "low": round(quartiles[0], 3),
        "high": round(quartiles[2], 3),
    }


def first_launches(kernels: Kernels, device: Any, shapes: list[tuple[int, int, int]], autotunes: int) -> dict[str, Any]:
    """Returns microseconds of the first launch of each shape, everything compiled before; of autotune a few."""
    result = {}
    for name, kernel, own in [
        ("tuned", kernels.tuned, shapes),
        ("attached", kernels.attached, shapes),
        ("autotune", kernels.autotuned, shapes[:autotunes]),
    ]:
        times = []
        for shape in own:
            arguments = (*device.tensors(*shape), *shape)
            device.synchronize()
            started = device.now_ns()
            kernel[launch_kernels.grid](*arguments)
            times.append((device.now_ns() - started) / 1000)
            device.synchronize()
        result[name] = {**summary(times), "worst": round(max(times), 1), "launches": len(times)}
    return result


def captures(kernels: Kernels, gpu: Gpu) -> dict[str, Any]:
    """Returns, for each way, what a capture with unseen shapes did: microseconds a launch, and the largest difference
    of the replay's results from torch's.
    """
    torch = gpu.torch
    result: dict[str, Any] = {}
    for name, kernel in [("tuned", kernels.tuned), ("attached", kernels.attached), ("autotune", kernels.autotuned)]:
        arguments = [(*gpu.tensors(*shape), *shape) for shape in CAPTURED]
        graph = torch.cuda.CUDAGraph()
        times: list[float] = []
        try:
            with torch.cuda.graph(graph):
                for own in arguments:
                    started = gpu.now_ns()
                    kernel[launch_kernels.grid](*own)
                    times.append((gpu.now_ns() - started) / 1000)
            graph.replay()
            gpu.synchronize()
            worst = max(relative_difference(torch, own) for own in arguments)
            result[name] = {**summary(times), "worst": round(max(times), 1), "largest_relative_difference": worst}
        except Exception as error:  # What autotune does here is a result.
            result[name] = {"failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
            if name != "autotune":
                raise
    return result


def relative_difference(torch: Any, arguments: tuple[Any, ...]) -> float:
    a, b, c = arguments[:3]
    expected = a.float() @ b.float()
    return float(((c.float() - expected).abs().max() / expected.abs().max()).item())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stub", action="store_true", help="without a GPU: the host's part alone")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=50, help="launches of each shape in a round")
    parser.add_argument("--quick", action="store_true", help="that it runs, not how fast")
    arguments = parser.parse_args()

    device = Stub() if arguments.stub else Gpu()
    warnings.simplefilter("error", wavetune.FallbackWarning)  # A figure of something that does not decide is none.
    with tempfile.TemporaryDirectory() as folder:
        tuner = golden_tuner(Path(folder))
        kernels = Kernels(tuner)
        example = (*device.tensors(*WARM[0]), *WARM[0])
        started = time.perf_counter()
        compiled = kernels.tuned.precompile(*example) + kernels.handle.precompile(*example)
        compile_s = time.perf_counter() - started
        rows = launches(kernels, tuner, device)
        rounds, repeats = (2, 2) if arguments.quick else (arguments.rounds, arguments.repeats)
        figures: dict[str, Any] = {
            "device": device.name,
            "host": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "triton": triton.__version__,
            "wavetune": wavetune.__version__,
            "configurations": len(tuner.configurations),
            "precompiled": compiled,
            "precompile_s": round(compile_s, 2),
            "launch_us": per_launch(rows, device, rounds, repeats),
            "first_launch_us": first_launches(kernels, device, UNSEEN, 1 if arguments.quick else 3),
        }
        if device.captures:
            figures["capture_us"] = captures(kernels, device)
    show(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def show(figures: dict[str, Any]) -> None:
    print(f"{figures['device']}; Triton {figures['triton']}, Python {figures['python']}")
    bare = figures["launch_us"]["bare_lambda"]["median"]
    print(f"{'a launch':16}{'us':>9}{'quartiles':>18}{'over bare_lambda':>18}")
    for name, own in figures["launch_us"].items():
        quartiles = f"{own['low']:.2f}-{own['high']:.2f}"
        print(f"{name:16}{own['median']:9.2f}{quartiles:>18}{own['median'] - bare:18.2f}")
    for title in ("first_launch_us", "capture_us"):
        for name, own in figures.get(title, {}).items():
            text = own.get("failed") or f"{own['median']:.1f} us, worst {own['worst']:.1f}"
            more = own.get("largest_relative_difference")
            print(f"{title[:-3]:16}{name:10} {text}" + ("" if more is None else f", off by {more:.1e}"))


if __name__ == "__main__":
    main()
