#!/usr/bin/env python3
"""What a decision costs from Python, next to calls that do nothing with the same keywords.

    client/python/benchmarks/resolve_benchmark.py                      # a golden GEMM table (12 candidates), no daemon
    client/python/benchmarks/resolve_benchmark.py --table 16.table     # decision_benchmark's: tests/bench/bench_table.cc
    client/python/benchmarks/resolve_benchmark.py --kernel gemm_bf16   # from the daemon or the cache, m, n and k

Rows: `empty_typed` is an empty function with the keywords m, n and k that nanobind made, as it made the rest of the
extension: it converts them. `empty` is the least that any call costs: Python's own calling convention, looking at
nothing, whatever its keywords. `Repeated` decides for four problems in turn, `NewProblem` for 4,096. Times are
nanoseconds a call: the median of rounds in which all rows take turns, so that a slow moment of the machine meets them
all, less the loop around the call.
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


def calls(call, problems):
    """Returns the nanoseconds of one call for each problem."""
    started = time.perf_counter_ns()
    for m, n, k in problems:
        call(m=m, n=n, k=k)
    return time.perf_counter_ns() - started


def loop_only(_, problems):
    started = time.perf_counter_ns()
    for m, n, k in problems:
        pass
    return time.perf_counter_ns() - started


def measure(rows, rounds):
    times = {name: [] for name in rows}
    for _ in range(rounds):
        for name, (loop, call, problems) in rows.items():
            times[name].append(loop(call, problems) / len(problems))
    return {name: statistics.median(values) for name, values in times.items()}


def find_tuner(arguments):
    if arguments.kernel:
        return wavetune.connect().tuner(arguments.kernel)
    with tempfile.TemporaryDirectory() as folder:
        options = {"cache_dir": Path(folder) / "cache", "timeout_s": 1}
        if arguments.table:
            options |= {"mode": "offline", "table_file": arguments.table}
        else:
            tables.add_to_cache(Path(folder) / "cache", "gemm")
        return wavetune.connect(f"unix:{folder}/nobody.sock", **options).tuner(tables.KERNEL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", help="a kernel over m, n and k (default: a golden table)")
    parser.add_argument("--table", help="a table's payload")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="that it runs, not how fast")
    arguments = parser.parse_args()

    tuner = find_tuner(arguments)
    generator = random.Random(1)
    new = [
        (generator.randint(1, 8192), 128 * generator.randint(1, 128), 128 * generator.randint(1, 128))
        for _ in range(PROBLEMS)
    ]
    repeated = new[:4] * (PROBLEMS // 4)
    rows = {
        "loop": (loop_only, None, new),
        "empty": (calls, _native.empty, new),
        "empty_typed": (calls, _native.empty_typed, new),
        "Repeated": (calls, tuner.resolve, repeated),
        "NewProblem": (calls, tuner.resolve, new),
    }
    times = measure(rows, 2 if arguments.quick else arguments.rounds)

    print(f"Python {platform.python_version()}, {platform.machine()}; {tuner!r}")
    print(f"{'row':14}{'ns':>8}{'/ empty_typed':>16}{'/ empty':>10}")
    net = {name: time - times["loop"] for name, time in times.items() if name != "loop"}
    for name, own in net.items():
        print(f"{name:14}{own:8.1f}{own / net['empty_typed']:16.2f}{own / net['empty']:10.2f}")


if __name__ == "__main__":
    main()
