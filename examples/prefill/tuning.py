"""What the rivals spend time on: timing configurations on the GPU, exhaustively or as @triton.autotune does.

A time is the median of a few launches, each after 256 MiB were written, so that operands come cold; the GPU is never idle
between them, so that launching costs nothing. All configurations take turns.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, Mapping, Sequence

import torch
import triton
import tuned_kernels
from forward import Pass
from models import Launch
from policies import Configuration, text_of

FAILED = 1e9  # Microseconds of a configuration that cannot be launched.


class Stopwatch:
    """Times launches behind a write that empties the cache."""

    def __init__(self, device: str) -> None:
        self._flush = torch.empty(256 << 20, dtype=torch.int8, device=device)

    def times_us(self, calls: Sequence[Any]) -> list[float]:
        """Returns microseconds of one launch of each."""
        marks = []
        for call in calls:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            self._flush.zero_()
            begin.record()
            call.launch()
            end.record()
            marks.append((begin, end))
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) * 1000 for begin, end in marks]


def exhaustive(
    own: Pass, launch: Launch, configurations: Sequence[Configuration], stopwatch: Stopwatch, limit_s: float = 60.0
) -> tuple[dict[str, float], float, float]:
    """Returns microseconds by configuration, seconds spent loading compiled kernels, and seconds spent measuring.

    Three turns of all, then ten of the eight best. What does not launch (shared memory, registers) has no time.
    """
    started = time.perf_counter()
    ready = []
    for configuration in configurations:
        try:
            own.reserve({launch.name: configuration})
            call = own.call(launch.name, configuration)
            call.launch()
            torch.cuda.synchronize()
            ready.append(configuration)
        except Exception as error:  # Triton's, one for each reason.
            if "illegal" in str(error) or "unspecified launch failure" in str(error):
                raise
    loaded_s = time.perf_counter() - started
    started = time.perf_counter()
    calls = [own.call(launch.name, configuration) for configuration in ready]
    taken: list[list[float]] = [[] for _ in ready]
    for turn in range(3):
        if turn and time.perf_counter() - started > limit_s:
            break
        for place, own_us in enumerate(stopwatch.times_us(calls)):
            taken[place].append(own_us)
    best = sorted(range(len(ready)), key=lambda place: statistics.median(taken[place]))[:8]
    for turn in range(10):
        order = best[turn % len(best) :] + best[: turn % len(best)]
        for place, own_us in zip(order, stopwatch.times_us([calls[place] for place in order])):
            taken[place].append(own_us)
    times = {text_of(c): round(statistics.median(own_us), 3) for c, own_us in zip(ready, taken)}
    return times, loaded_s, time.perf_counter() - started


# What an engine's author writes above a kernel: lists as those of Triton's tutorials.
GEMM_LIST = [
    (128, 256, 64, 8, 3), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4),
    (64, 128, 32, 4, 4), (128, 64, 64, 4, 4), (64, 64, 32, 2, 5), (32, 64, 32, 2, 5), (16, 64, 128, 4, 4),
]  # fmt: skip
MOE_LIST = [
    (16, 64, 64, 1, 4, 4), (16, 128, 64, 1, 4, 3), (32, 64, 64, 8, 4, 3), (64, 64, 32, 8, 4, 3),
    (64, 128, 64, 8, 4, 3), (128, 64, 64, 8, 4, 3), (128, 128, 64, 8, 8, 3), (128, 256, 64, 8, 8, 3),
]  # fmt: skip
ATTENTION_LIST = [
    (q, kv, stages, warps) for q in (64, 128) for kv in (32, 64, 128) for stages in (2, 3, 4) for warps in (4, 8)
]


def autotune_configurations(launch: Launch) -> list[Configuration]:
    if launch.kernel == "triton_gemm":
        names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
        return [{**dict(zip(names, own)), "SPLIT_K": 1, "GROUP_M": 8} for own in GEMM_LIST]
    if launch.kernel == "triton_fused_moe":
        moe_names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
        return [dict(zip(moe_names, own)) for own in MOE_LIST]
    if launch.specialisation.startswith("decode"):
        return [
            {"BLOCK_Q": 16, "BLOCK_KV": kv, "SPLIT_KV": split, "num_warps": 4, "num_stages": 2}
            for kv in (64, 128)
            for split in (1, 4, 16)
        ]
    attention_names = ("BLOCK_Q", "BLOCK_KV", "num_stages", "num_warps")
    return [{**dict(zip(attention_names, own)), "SPLIT_KV": 1} for own in ATTENTION_LIST]


def autotune(own: Pass, group: Sequence[Launch]) -> tuple[Configuration, float]:
    """Returns what @triton.autotune chooses for a launch, or for a MoE layer's two, and the seconds that it took.

    One launch goes through a real Autotuner. Of two that share a configuration each is timed with Triton's do_bench, as
    an Autotuner would, and the sum counts: an engine that tunes its MoE layer does that.
    """
    started = time.perf_counter()
    configurations = autotune_configurations(group[0])
    for launch in group:
        for configuration in configurations:
            own.reserve({launch.name: configuration})
    if len(group) == 1:
        return _autotuner(own, group[0], configurations), time.perf_counter() - started
    sums = []
    for configuration in configurations:
        try:
            sums.append(sum(triton.testing.do_bench(own.call(each.name, configuration).launch) for each in group))
        except Exception:  # As the Autotuner: what does not launch is not chosen.
            sums.append(FAILED)
    return configurations[sums.index(min(sums))], time.perf_counter() - started


def _autotuner(own: Pass, launch: Launch, configurations: Sequence[Configuration]) -> Configuration:
    call = own.call(launch.name, configurations[0])
    constants = {name: value for name, value in call.keywords.items() if name not in configurations[0]}
    configs = []
    for configuration in configurations:
        options = {name: configuration[name] for name in tuned_kernels.OPTIONS if name in configuration}
        arguments = {name: value for name, value in configuration.items() if name not in options}
        configs.append(triton.Config(arguments, **options))
    names = [name for name, value in zip(call.function.arg_names, call.args) if isinstance(value, int)]
    tuner = triton.autotune(configs=configs, key=names)(call.function)

    def grid(meta: Mapping[str, Any]) -> tuple[int]:
        chosen = {name: meta[name] for name in configurations[0] if name in meta}
        return own.call(launch.name, {**configurations[0], **chosen}).grid

    tuner[grid](*call.args, **constants)
    best = tuner.best_config
    return {**best.kwargs, "num_warps": best.num_warps, "num_stages": best.num_stages}
