#!/usr/bin/env python3
"""What the plugin costs vLLM: loading it, and a configuration of experts, next to what vLLM's own function takes.

    client/python/benchmarks/vllm_plugin_benchmark.py --vllm FOLDER      # an unpacked wheel; needs Triton, and no GPU

`load` is the entry point in a new process, less the start of Python: of ten processes. A configuration is asked of vLLM's
own `try_get_optimal_moe_config` for Qwen3-30B-A3B, without the plugin and with it (the shipped table of the H100): at
token counts that were asked before, and at ones that were not, but whose configuration is compiled. Medians of calls.
"""

import argparse
import logging
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "engines"))

import real_engines  # noqa: E402

import wavetune  # noqa: E402
import wavetune.vllm  # noqa: E402
from wavetune import engine_kernel  # noqa: E402

LOAD = """
import sys, time
started, used = time.perf_counter(), time.process_time()
import wavetune.vllm
wavetune.vllm.register()
print(time.perf_counter() - started, time.process_time() - used, wavetune.vllm._hook is not None, any(name.split(".")[0] == "vllm" for name in sys.modules))
"""


def load_seconds(vllm):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(vllm), os.environ.get("PYTHONPATH", "")])}
    run = [sys.executable, "-c", LOAD]
    seconds = []
    for _ in range(10):
        said = subprocess.run(run, env=environment, check=True, capture_output=True, text=True).stdout.split()
        assert said[2:] == ["True", "False"], "it was not installed, or imported vLLM"
        seconds.append((float(said[0]), float(said[1])))
    return zip(*seconds)


def microseconds(ask, counts):
    """Returns that of each call."""
    result = []
    for tokens in counts:
        started = time.perf_counter_ns()
        ask(tokens)
        result.append((time.perf_counter_ns() - started) / 1e3)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--vllm", type=Path, required=True)
    vllm = parser.parse_args().vllm.resolve()
    loads, used = load_seconds(vllm)
    logging.disable(logging.WARNING)
    real_engines.without_torch()
    engine_kernel.compile_without_gpu(real_engines.ARCHITECTURE)
    module = real_engines.Vllm(vllm).module
    layer = real_engines.layer_of(real_engines.LAYERS["Qwen3-30B-A3B"])
    w1, w2 = real_engines.shapes(layer)

    def ask(tokens):
        return module.try_get_optimal_moe_config(w1, w2, layer.top_k, None, tokens)

    asked, others = range(1, 4001, 3), range(2, 4001, 3)
    rows = {}
    microseconds(ask, asked)
    rows["vLLM itself"] = microseconds(ask, asked)
    table = str(real_engines.KERNEL / "tables" / "h100.table")
    client = wavetune.connect(mode="offline", cache_dir=None, table_file=table, pin="")
    assert wavetune.vllm.install(client), "the plugin was not installed"
    microseconds(ask, asked)  # Compiles.
    rows["plugin, another count"] = microseconds(ask, others)
    rows["plugin, again"] = microseconds(ask, asked)
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} CPUs")
    print(
        f"load: {statistics.median(loads):.3f} s (least {min(loads):.3f}, most {max(loads):.3f}), "
        f"{statistics.median(used):.3f} s of a processor"
    )
    for name, times in rows.items():
        print(f"{name}: {statistics.median(times):.1f} us")


if __name__ == "__main__":
    main()
