#!/usr/bin/env python3
"""What a decision costs from Python, next to calls that do nothing with the same keywords.

    client/python/benchmarks/resolve_benchmark.py                  # the golden GEMM table (12 candidates), no daemon
    client/python/benchmarks/resolve_benchmark.py --kernel gemm_bf16   # from the daemon or the cache, m, n and k

Rows: `empty` is a function in Python's own calling convention that looks at nothing, `empty_typed` one that nanobind
made and that converts its arguments; `Repeated` decides for one problem, `NewProblem` for 4,096 different ones in turn.
All take m, n and k. Times are nanoseconds a call: the median of rounds in which all rows take turns, so that a slow
moment of the machine meets them all, less the loop around the call. `ratio` is to `empty`.
"""

import argparse
import platform
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import tables  # noqa: E402

import wavetune  # noqa: E402
from wavetune import _native  # noqa: E402

PROBLEMS = 4096


def repeated(call, problems):
    """Returns the nanoseconds of len(problems) calls with one problem."""
    m, n, k = problems[0]
    started = time.perf_counter_ns()
    for _ in problems:
        call(m=m, n=n, k=k)
    return time.perf_counter_ns() - started


def varied(call, problems):
    """Returns the nanoseconds of one call for each problem."""
    started = time.perf_counter_ns()
    for m, n, k in problems:
        call(m=m, n=n, k=k)
    return time.perf_counter_ns() - started


def loop_only(_, problems):
    started = time.perf_counter_ns()
    for _ in problems:
        pass
    return time.perf_counter_ns() - started


def loop_varied_only(_, problems):
    started = time.perf_counter_ns()
    for m, n, k in problems:
        pass
    return time.perf_counter_ns() - started


def measure(rows, problems, rounds):
    times = {name: [] for name in rows}
    for _ in range(rounds):
        for name, (loop, call) in rows.items():
            times[name].append(loop(call, problems) / len(problems))
    return {name: statistics.median(values) for name, values in times.items()}


def golden_gemm(folder):
    tables.add_to_cache(Path(folder) / "cache", "gemm")
    client = wavetune.connect(f"unix:{folder}/nobody.sock", cache_dir=Path(folder) / "cache", timeout_s=1)
    return client.tuner(tables.KERNEL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", help="a kernel over m, n and k (default: a golden table)")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="that it runs, not how fast")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        tuner = wavetune.connect().tuner(arguments.kernel) if arguments.kernel else golden_gemm(folder)
    generator = random.Random(1)
    problems = [
        (generator.randint(1, 8192), 8 * generator.randint(8, 2048), 8 * generator.randint(8, 2048))
        for _ in range(PROBLEMS)
    ]
    rows = {
        "loop": (loop_only, None),
        "loop, varied": (loop_varied_only, None),
        "empty": (repeated, _native.empty),
        "empty, varied": (varied, _native.empty),
        "empty_typed": (repeated, _native.empty_typed),
        "empty_typed, varied": (varied, _native.empty_typed),
        "Repeated": (repeated, tuner.resolve),
        "NewProblem": (varied, tuner.resolve),
    }
    times = measure(rows, problems, 2 if arguments.quick else arguments.rounds)

    print(f"Python {platform.python_version()}, {platform.machine()}; {tuner!r}")
    print(f"{'row':22}{'ns':>8}{'ratio':>8}{'to typed':>10}")
    for name in list(rows)[2:]:
        mode = ", varied" if "varied" in name or name == "NewProblem" else ""
        own = times[name] - times["loop" + mode]
        empty = times["empty" + mode] - times["loop" + mode]
        typed = times["empty_typed" + mode] - times["loop" + mode]
        print(f"{name:22}{own:8.1f}{own / empty:8.2f}{own / typed:10.2f}")


if __name__ == "__main__":
    main()
