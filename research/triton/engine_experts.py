#!/usr/bin/env python3
"""Measures configurations on vLLM's and SGLang's own fused_moe_kernel, out of unpacked wheels: rules, files, all candidates.

    engine_experts.py --vllm DIR --sglang DIR --policy decided=FOLDER --out times.jsonl    # needs a GPU
    engine_experts.py --summary times.jsonl                # with --policy also what other files of vLLM's form would do

A time is that of gate_up and down together, without the activation between them, in one CUDA graph that goes through
several routings; weights are cold, as an expert's are larger than what the L2 cache keeps of the routing before. All
candidates of triton_fused_moe's manifest and what each policy says run a few times; the best of them and the policies run
again, in turns, and have the medians that are written. What SGLang's kernel runs is the policies alone.

Policies are vLLM's rule ("rule"), SGLang's likewise, the file that the engine ships for the layer ("shipped"), and each
folder of --policy, read by the engine's own reader: VLLM_TUNED_CONFIG_FOLDER, and SGLANG_MOE_CONFIG_DIR where it has
"configs". Points are ordered by how much they say, each is written when it is measured, and the next is not begun after
--seconds. Kernels are compiled by other processes ahead, without the GPU.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import importlib
import importlib.util
import json
import logging
import math
import multiprocessing
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, NamedTuple, Optional

NAMES = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages", "USE_TMA")
# Of the GPU: sm_90, Hopper.
ARCHITECTURE = 90
# What Triton takes where a rule says nothing.
UNSAID = {"num_warps": 4, "num_stages": 3, "USE_TMA": 0}
# The counts that say most come first.
TOKENS = (1500, 4096, 64, 700, 8192, 256, 3000, 16, 2048, 1, 1000, 6000, 4, 512)
ROUTINGS = ("random", "skewed")
# Below, SGLang's rule is not far from the best.
SGLANG_FROM = 700
# A candidate that takes longer than the best so far is not measured further.
HOPELESS = 1.6
# With --known: one that took longer in an earlier call is not measured at all.
NEAR = 1.25
FINALISTS = 6
ROUNDS = 11


class Model(NamedTuple):
    """The experts of one device."""

    experts: int
    intermediate: int
    hidden: int
    top_k: int


MODELS = {
    "Qwen3-30B-A3B": Model(128, 768, 2048, 8),
    "GLM-4.5-Air": Model(128, 1408, 4096, 8),
    "OLMoE": Model(64, 1024, 2048, 8),
    "gpt-oss-20b in bf16": Model(32, 2880, 2880, 4),
    "Mixtral-8x7B, TP 2": Model(8, 7168, 4096, 2),
}


class Choice(NamedTuple):
    """What is launched: values of NAMES for each product."""

    gate_up: tuple[int, ...]
    down: tuple[int, ...]


def values_of(config: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(config.get(name, UNSAID.get(name))) for name in NAMES)


def config_of(values: tuple[int, ...]) -> dict[str, int]:
    return {name: value for name, value in zip(NAMES, values) if name != "USE_TMA"}


def engine_kernel() -> Any:
    """Returns the package's module of that name, without the package, which need not be installed."""
    name = "engine_kernel"
    if name not in sys.modules:
        file = Path(__file__).resolve().parents[2] / "client" / "python" / "src" / "wavetune" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, file)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def both(config: dict[str, Any]) -> Choice:
    return Choice(values_of(config), values_of(config))


def log(*what: Any) -> None:
    print(f"[{time.perf_counter() - log.began:6.1f}]", *what, flush=True)


log.began = time.perf_counter()


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def nearest(entries: dict[int, Any], tokens: int) -> Any:
    return entries[min(entries, key=lambda count: abs(count - tokens))]


class Vllm:
    """vLLM's kernel, rule and reader."""

    name = "vllm"

    def __init__(self, root: Path, device_name: str) -> None:
        read = ("vllm.envs", "vllm.utils.math_utils", "vllm.utils.platform_utils")
        self.module = engine_kernel().load("vllm", root, ARCHITECTURE, read, device_name)

    def policies(self, model: Model, tokens: int, folders: dict[str, Path]) -> dict[str, Choice]:
        m = self.module
        rule = m.get_default_config(tokens, model.experts, model.intermediate, model.hidden, model.top_k, None)
        found = {"rule": both(rule)}
        shipped = self._read(model, None)
        if shipped:
            found["shipped"] = both(nearest(shipped, tokens))
        for name, folder in folders.items():
            if (folder / m.get_config_file_name(model.experts, model.intermediate, None)).exists():
                found[name] = both(nearest(self._read(model, folder), tokens))
        return found

    def _read(self, model: Model, folder: Optional[Path]) -> Optional[dict[int, Any]]:
        os.environ.pop("VLLM_TUNED_CONFIG_FOLDER", None)
        if folder is not None:
            os.environ["VLLM_TUNED_CONFIG_FOLDER"] = str(folder)
        self.module.get_moe_configs.cache_clear()
        return self.module.get_moe_configs(model.experts, model.intermediate, None)

    def one_block_a_slot(self, layer: Layer) -> bool:
        """Whether the engine spares itself the sorting."""
        return layer.slots * 4 <= layer.model.experts

    def sorted_length(self, slots: int, experts: int, rows: int) -> int:
        longest = slots + experts * (rows - 1)
        return min(slots * rows, longest) if slots < experts else longest

    def program(self, layer: Layer, choice: Choice) -> tuple[Any, ...]:
        """What makes two launches one program of Triton's."""
        rows, slots, experts = choice.gate_up[0], layer.slots, layer.model.experts
        single = self.one_block_a_slot(layer)
        length = slots * rows if single else self.sorted_length(slots, experts, rows)
        launched = [length if single or own >= rows else min(length, slots * rows) for own in (layer.tokens, slots)]
        return (layer.model.top_k, single, slots % 16 == 0, *(blocks % 16 == 0 for blocks in launched))

    def launch(self, layer: Layer, choice: Choice, number: int) -> None:
        order = layer.order(self, number, choice.gate_up[0])
        common = dict.fromkeys(
            ("use_fp8_w8a8", "use_int8_w8a8", "use_int8_w8a16", "use_int4_w4a16", "per_channel_quant"), False
        )
        common["compute_type"] = layer.triton_type
        run = self.module.invoke_fused_moe_triton_kernel
        model, weights = layer.model, layer.weights_of_slots
        run(
            layer.x, layer.w1, layer.c1[: layer.slots].view(layer.tokens, model.top_k, -1), None, None, None, *order,
            False, model.top_k, config_of(choice.gate_up), **common,
        )  # fmt: skip
        run(
            layer.y[: layer.slots], layer.w2, layer.c2.view(layer.tokens, model.top_k, -1), None, None, weights, *order,
            True, 1, config_of(choice.down), **common,
        )  # fmt: skip


class Sglang:
    """SGLang's kernel, rule and reader."""

    name = "sglang"

    def __init__(self, root: Path, device_name: str) -> None:
        reader = "sglang.srt.layers.moe.moe_runner.triton_utils.fused_moe_triton_config"
        self.module = engine_kernel().load("sglang", root, ARCHITECTURE, (reader,), device_name)
        self.reader = importlib.import_module(reader)
        logging.disable(logging.WARNING)  # A line for every file that is read.

    def policies(self, model: Model, tokens: int, folders: dict[str, Path]) -> dict[str, Choice]:
        rule = self.reader.get_default_config(
            tokens, model.experts, model.intermediate, model.hidden, model.top_k, None, False
        )
        found = {"rule": both(rule)}
        for name, folder in {"shipped": None, **folders}.items():
            if folder is None or (folder / "configs").is_dir():
                read = self._read(model, tokens, folder)
                if read is not None:
                    found[name] = read
        return found

    def _read(self, model: Model, tokens: int, folder: Optional[Path]) -> Optional[Choice]:
        os.environ.pop("SGLANG_MOE_CONFIG_DIR", None)
        if folder is not None:
            os.environ["SGLANG_MOE_CONFIG_DIR"] = str(folder)
        self.reader.get_moe_configs.cache_clear()
        if not self.reader.get_moe_configs(model.experts, model.intermediate, None):
            return None
        up, (down, _) = self.reader.try_get_optimal_moe_config(
            (model.experts, 2 * model.intermediate, model.hidden),
            (model.experts, model.hidden, model.intermediate),
            model.top_k, None, tokens, return_down_config=True,
        )  # fmt: skip
        return Choice(values_of(up), values_of(down or up))

    def one_block_a_slot(self, layer: Layer) -> bool:
        return False

    def sorted_length(self, slots: int, experts: int, rows: int) -> int:
        longest = slots * rows if slots < experts + 1 else slots + (experts + 1) * (rows - 1)
        return ceil_div(longest, 4) * 4

    def program(self, layer: Layer, choice: Choice) -> tuple[Any, ...]:
        model, slots = layer.model, layer.slots
        length = self.sorted_length(slots, model.experts, choice.gate_up[0])
        even = model.hidden % choice.gate_up[2] == 0, model.intermediate % choice.down[2] == 0
        return (model.top_k, length % 16 == 0, slots % 16 == 0, layer.tokens <= 512, slots <= 512, *even)

    def launch(self, layer: Layer, choice: Choice, number: int) -> None:
        order = layer.order(self, number, choice.gate_up[0])
        common: dict[str, Any] = dict.fromkeys(
            ("use_fp8_w8a8", "use_int8_w8a8", "use_int8_w8a16", "use_int4_w4a16", "per_channel_quant"), False
        )
        common.update(compute_type=layer.triton_type, block_shape=None, filter_expert=True)
        run = self.module.invoke_fused_moe_kernel
        model, weights, routing = layer.model, layer.weights_of_slots, layer.routings[number]
        # Where down reads through descriptors, gate_up leaves its rows as they are sorted, with their padding.
        up_tma, down_tma = bool(choice.gate_up[-1]), bool(choice.down[-1])
        rows = layer.slots
        if down_tma:
            rows += min(layer.slots, model.experts + 1) * (choice.gate_up[0] - 1)
        run(
            layer.x, layer.w1, None, layer.c1[:rows], None, None, None, weights, routing, *order,
            False, model.top_k, config_of(choice.gate_up), c_sorted=down_tma, b_use_tma=up_tma, **common,
        )  # fmt: skip
        run(
            layer.y[:rows], layer.w2, None, layer.c2.view(layer.tokens, model.top_k, -1), None, None, None, weights, routing,
            *order, True, 1, config_of(choice.down), a_use_tma=down_tma, b_use_tma=down_tma, router_topk=model.top_k,
            **common,
        )  # fmt: skip


class Layer:
    """A model's experts with the buffers of one number of tokens, and routings. On the device "meta" there is nothing in them."""

    def __init__(self, model: Model, tokens: int, routing: str, device: str, weights: Any = None) -> None:
        import torch
        import triton.language

        self.model, self.tokens, self.slots, self.device = model, tokens, tokens * model.top_k, device
        self.triton_type = triton.language.bfloat16
        experts, intermediate, hidden, top_k = model
        self.w1, self.w2 = weights or make_weights(model, device)

        def buffer(*extents: int) -> Any:
            made = torch.empty(*extents, dtype=torch.bfloat16, device=device)
            return made if device == "meta" else made.normal_()

        # With what sorting pads, for the launches that leave their rows sorted.
        padded = self.slots + min(self.slots, experts + 1) * 255
        self.x, self.y = buffer(tokens, hidden), buffer(padded, intermediate)
        self.c1, self.c2 = buffer(padded, 2 * intermediate), buffer(self.slots, hidden)
        self.weights_of_slots = torch.ones(tokens, top_k, dtype=torch.float32, device=device)
        # As many as it takes for one graph to be long enough to be timed, and for none to be special.
        count = 8 if tokens <= 4 else 4 if tokens <= 64 else 2
        if device == "meta":
            self.routings = [torch.empty(tokens, top_k, dtype=torch.int32, device=device)]
        else:
            self.weights_of_slots.uniform_(0.5, 1.0)
            seed = 1_000_003 * tokens + experts
            generator = torch.Generator(device=device).manual_seed(seed)
            self.routings = [draw(model, tokens, routing, generator, device) for _ in range(count)]
        self._orders: dict[Any, Any] = {}

    def order(self, engine: Any, number: int, rows: int) -> tuple[Any, Any, Any]:
        """What the engine's moe_align_block_size gives: sorted slots, the expert of each block, and how long that is."""
        import torch

        key = engine.name, number, rows
        if key not in self._orders:
            ids = self.routings[number]
            if engine.one_block_a_slot(self):
                total = torch.full((1,), self.slots * rows, dtype=torch.int32, device=self.device)
                self._orders[key] = (None, ids.view(-1), total)
            else:
                length = engine.sorted_length(self.slots, self.model.experts, rows)
                self._orders[key] = sort_slots(ids, self.model.experts, rows, length)
        return self._orders[key]

    def error(self, engine: Any, choice: Choice) -> float:
        """Returns the relative error of some slots' results, against sums in fp32."""
        import torch

        self.c1.zero_()
        self.c2.zero_()
        engine.launch(self, choice, 0)
        torch.cuda.synchronize()
        ids = self.routings[0].view(-1).tolist()
        place = list(range(self.slots))
        if choice.down[-1]:
            in_order = self.order(engine, 0, choice.gate_up[0])[0].tolist()
            place = {slot: at for at, slot in enumerate(in_order)}
        slots = range(0, self.slots, max(1, self.slots // 24))
        worst = 0.0
        for down in (False, True):
            got, expected = [], []
            for slot in slots:
                expert = ids[slot]
                if down:
                    got.append(self.c2[slot])
                    weight = self.weights_of_slots.view(-1)[slot]
                    expected.append(self.w2[expert].float() @ self.y[place[slot]].float() * weight)
                else:
                    got.append(self.c1[place[slot]])
                    expected.append(self.w1[expert].float() @ self.x[slot // self.model.top_k].float())
            theirs, ours = torch.stack(got).float(), torch.stack(expected)
            error = float((theirs - ours).norm() / ours.norm())
            worst = max(worst, error if math.isfinite(error) else math.inf)
        return worst


def make_weights(model: Model, device: str) -> tuple[Any, Any]:
    import torch

    shapes = (model.experts, 2 * model.intermediate, model.hidden), (model.experts, model.hidden, model.intermediate)
    made = tuple(torch.empty(*shape, dtype=torch.bfloat16, device=device) for shape in shapes)
    return made if device == "meta" else tuple(own.normal_(0, 0.05) for own in made)


def draw(model: Model, tokens: int, routing: str, generator: Any, device: str) -> Any:
    """Draws the experts of each token without replacement: all alike, or by a popularity that is log-normal, sigma 1."""
    import torch

    popularity = torch.zeros(model.experts, device=device)
    if routing == "skewed":
        popularity = torch.randn(model.experts, device=device, generator=generator)
    uniform = torch.rand(tokens, model.experts, device=device, generator=generator).clamp_(1e-9, 1 - 1e-7)
    keys = popularity - (-uniform.log()).log()
    return keys.topk(model.top_k, dim=1).indices.to(torch.int32).contiguous()


def sort_slots(ids: Any, experts: int, rows: int, length: int) -> tuple[Any, Any, Any]:
    import torch

    device, slots = ids.device, ids.numel()
    blocks = ceil_div(length, rows)
    if device.type == "meta":
        return tuple(torch.empty(extent, dtype=torch.int32, device=device) for extent in (length, blocks, 1))
    flat = ids.view(-1).long()
    counts = torch.bincount(flat, minlength=experts)
    padded = (counts + rows - 1) // rows * rows
    begins = padded.cumsum(0) - padded
    by_expert = torch.argsort(flat, stable=True)
    of = flat[by_expert]
    rank = torch.arange(slots, device=device) - (counts.cumsum(0) - counts)[of]
    total = int(padded.sum())
    sorted_slots = torch.full((max(length, total),), slots, dtype=torch.int32, device=device)
    sorted_slots[begins[of] + rank] = by_expert.to(torch.int32)
    of_blocks = torch.zeros(max(blocks, total // rows), dtype=torch.int32, device=device)
    of_blocks[: total // rows] = torch.repeat_interleave(torch.arange(experts, device=device), padded // rows).to(torch.int32)
    return (
        sorted_slots[:length].contiguous(),
        of_blocks[:blocks].contiguous(),
        torch.tensor([total], dtype=torch.int32, device=device),
    )


def candidates(model: Model, tokens: int) -> list[Choice]:
    """Returns the manifest's configurations, without row tiles that cannot be good where experts have so many slots."""
    import compiling

    slots = tokens * model.top_k
    each = slots / min(model.experts, slots)
    low, high = (16, 16) if each <= 1 else (16, 64) if each <= 6 else (16, 256) if each <= 64 else (32, 256)
    low = 64 if each >= 192 else low
    space = compiling.manifest_of("triton_fused_moe").space("gate_up")
    return [both(own) for own in space if low <= own["BLOCK_SIZE_M"] <= high]


def near_the_best(files: list[Path]) -> dict[tuple[str, str, int], list[Choice]]:
    """Returns the candidates that were not far from the best before: in all of the files together, by point."""
    found: dict[tuple[str, str, int], list[Choice]] = collections.defaultdict(list)
    for file in files:
        for own in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            if own["engine"] == "vllm":
                fastest = min(time_us for _, time_us in own["first"])
                near = [Choice(*map(tuple, choice)) for choice, time_us in own["first"] if time_us <= NEAR * fastest]
                found[own["model"], own["routing"], own["tokens"]] += near
    return found


@dataclass
class Point:
    """What is measured together."""

    engine: str
    model: str
    routing: str
    tokens: int


def points_of(options: argparse.Namespace, engines: Iterable[str]) -> list[Point]:
    tokens = [count for count in TOKENS if not options.tokens or count in options.tokens]
    tokens += [count for count in options.tokens or () if count not in TOKENS]
    found = []
    for count in tokens:
        for model in options.models:
            for routing in options.routings:
                found += [Point(engine, model, routing, count) for engine in engines]
    return sorted(found, key=lambda point: point.engine == "sglang" and point.tokens < SGLANG_FROM)


# Compiling ahead.

_engines: dict[str, Any] = {}


def open_engines(options: argparse.Namespace) -> dict[str, Any]:
    import torch  # Before the engines, which take a stand-in for it where it is not imported.

    assert torch.__version__
    roots = {Vllm: options.vllm, Sglang: options.sglang}
    return {kind.name: kind(root, options.device_name) for kind, root in roots.items() if root is not None}


def begin_worker(options: argparse.Namespace) -> None:
    engine_kernel().compile_without_gpu(ARCHITECTURE)
    _engines.update(open_engines(options))
    for engine in _engines.values():
        engine.module.fused_moe_kernel = engine_kernel().CompiledOnly(engine.module.fused_moe_kernel)
    if "sglang" in _engines:
        _engines["sglang"].module._set_triton_tma_allocator = lambda: None


def compile_some(engine: str, model: str, tokens: int, choices: list[Choice]) -> dict[Choice, str]:
    """Returns those that do not compile, and why."""
    layer = Layer(MODELS[model], tokens, "", "meta")
    bad = {}
    for choice in choices:
        try:
            _engines[engine].launch(layer, choice, 0)
        except Exception as error:  # Whatever Triton makes of it.
            bad[choice] = f"{type(error).__name__}: {error}"[:200]
    return bad


class Ahead:
    """Compiles the programs of points in their order, each once."""

    def __init__(self, pool: Any, engines: dict[str, Any]) -> None:
        self._pool, self._engines = pool, engines
        self._known: dict[Any, Any] = {}

    def add(self, point: Point, choices: list[Choice]) -> None:
        layer = Layer(MODELS[point.model], point.tokens, "", "meta")
        new = []
        for choice in choices:
            key = self._key(layer, point.engine, choice)
            if key not in self._known:
                self._known[key] = None
                new.append((key, choice))
        for at in range(0, len(new), 4):
            some = new[at : at + 4]
            job = self._pool.submit(compile_some, point.engine, point.model, point.tokens, [own for _, own in some])
            self._known.update({key: job for key, _ in some})

    def wait(self, point: Point, choices: list[Choice]) -> dict[Choice, str]:
        """Returns those of the point's that do not compile."""
        layer = Layer(MODELS[point.model], point.tokens, "", "meta")
        bad = {}
        for choice in choices:
            failed = self._known[self._key(layer, point.engine, choice)].result()
            if choice in failed:
                bad[choice] = failed[choice]
        return bad

    def programs(self) -> int:
        return len(self._known)

    def _key(self, layer: Layer, engine: str, choice: Choice) -> Any:
        return engine, choice, self._engines[engine].program(layer, choice)


# Measuring.


class Stopwatch:
    """Times CUDA graphs."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._stream = torch.cuda.Stream()

    def graph(self, run: Callable[[int], None], count: int) -> Any:
        """Returns a graph of run(0), …: without torch.cuda.graph's collections of garbage, which would take most of the time."""
        torch = self._torch
        run(0)  # Loads the program.
        torch.cuda.synchronize()
        made = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self._stream):
            made.capture_begin()
            try:
                for number in range(count):
                    run(number)
            finally:
                made.capture_end()
        return made

    def time_us(self, graph: Any) -> float:
        torch = self._torch
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3


def measure(engine: Any, layer: Layer, policies: dict[str, Choice], choices: list[Choice], watch: Stopwatch) -> dict[str, Any]:
    """Returns the times of all choices, and the medians of the best and of the policies."""
    count = len(layer.routings)
    first: dict[Choice, float] = {}
    graphs: dict[Choice, Any] = {}
    failed: dict[Choice, str] = {}
    best = math.inf

    def graph_of(choice: Choice) -> Any:
        for number in range(count):  # What sorts slots cannot be captured.
            layer.order(engine, number, choice.gate_up[0])
        return watch.graph(lambda number: engine.launch(layer, choice, number), count)

    def time_us(choice: Choice, about_us: float) -> float:
        if layer.tokens >= 512:  # So that the GPU's power does not limit its clock, which what came before would decide.
            time.sleep(min(0.008, max(0.001, 4e-6 * about_us)))
        return watch.time_us(graphs[choice])

    for choice in choices:
        try:
            graphs[choice] = graph_of(choice)
        except Exception as error:  # The device may lack what it takes.
            failed[choice] = f"{type(error).__name__}: {error}"[:200]
            continue
        times = [watch.time_us(graphs[choice])]  # With its upload.
        for _ in range(3):
            times.append(time_us(choice, times[-1]))
            if min(times[1:]) > HOPELESS * best:
                break
        first[choice] = statistics.median(times[1:])
        best = min(best, first[choice])
        if first[choice] > 1.1 * best and choice not in policies.values():
            del graphs[choice]
    if not first:
        raise RuntimeError(f"nothing ran: {next(iter(failed.values()), 'there is nothing to run')}")
    order = sorted(first, key=first.__getitem__)
    finalists = list(dict.fromkeys([*order[:FINALISTS], *(own for own in policies.values() if own in first)]))
    graphs.update({choice: graph_of(choice) for choice in finalists if choice not in graphs})
    times_of = collections.defaultdict(list)
    for turn in range(ROUNDS):
        for choice in finalists if turn % 2 else finalists[::-1]:
            times_of[choice].append(time_us(choice, first[choice]))
    medians = {choice: statistics.median(times) / count for choice, times in times_of.items()}
    winner = min(medians, key=medians.__getitem__)
    errors = {choice: layer.error(engine, choice) for choice in {winner, *policies.values()} if choice in first}
    return {
        "best": winner,
        "best_us": medians[winner],
        "policies": {name: {"choice": own, "us": medians.get(own)} for name, own in policies.items()},
        "error": max(errors.values()),
        "first": [[own, round(time_us / count, 3)] for own, time_us in first.items()],
        "failed": [[own, why] for own, why in failed.items()],
    }


def run(options: argparse.Namespace) -> None:
    engines = open_engines(options)
    points = points_of(options, engines)
    folders = dict(options.policy)
    near = near_the_best(options.known)
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(options.jobs, context, begin_worker, (options,))
    ahead = Ahead(pool, engines)
    asked = []
    for point in points:
        model = MODELS[point.model]
        policies = engines[point.engine].policies(model, point.tokens, folders)
        everything = list(policies.values())
        if point.engine == "vllm" and not options.policies_only:
            everything += near.get((point.model, point.routing, point.tokens), candidates(model, point.tokens))
        everything = list(dict.fromkeys(everything))
        ahead.add(point, everything)
        asked.append((point, policies, everything))
    log(f"{len(points)} points, {ahead.programs()} pairs of programs, {options.jobs} processes compile")
    try:
        if options.compile_only:
            bad: dict[str, str] = {}
            for point, _, everything in asked:
                bad.update({f"{point.engine} {own}": why for own, why in ahead.wait(point, everything).items()})
            log(f"compiled; {len(bad)} do not compile")
            for what, why in bad.items():
                print(f"  {what}: {why}")
        else:
            measure_all(options, engines, asked, ahead)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def measure_all(options: argparse.Namespace, engines: dict[str, Any], asked: list[Any], ahead: Ahead) -> None:
    import torch
    import triton

    facts = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton.__version__}
    watch = Stopwatch()
    weights: dict[str, Any] = {}
    with options.out.open("a", encoding="utf-8") as out:
        for number, (point, policies, everything) in enumerate(asked):
            if time.perf_counter() - log.began > options.seconds:
                log(f"{len(asked) - number} of {len(asked)} points are left out: the time is up")
                break
            bad = ahead.wait(point, everything)
            usable = [choice for choice in everything if choice not in bad]
            if point.model not in weights:
                weights[point.model] = make_weights(MODELS[point.model], "cuda")
            layer = Layer(MODELS[point.model], point.tokens, point.routing, "cuda", weights[point.model])
            try:
                found = measure(engines[point.engine], layer, policies, usable, watch)
            except RuntimeError as error:
                log(f"{point}: {error}")
                continue
            found["failed"] += [[choice, why] for choice, why in bad.items()]
            print(json.dumps({**facts, **vars(point), **found}), file=out, flush=True)
            shown = {name: f"{own['us'] / found['best_us']:.3f}" for name, own in found["policies"].items() if own["us"]}
            log(
                f"{point.engine} {point.model}, {point.routing}, {point.tokens}: {found['best_us']:.1f} us "
                f"{found['best'].gate_up[:6]}, {len(found['first'])} ran, {len(found['failed'])} did not; {shown}; "
                f"error {found['error']:.1e}"
            )


# What it comes to.


def mean(ratios: Iterable[float]) -> float:
    """Geometric."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs))


def percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def add_policies(own: dict[str, Any], folders: dict[str, Path]) -> None:
    """Adds what files would launch at a point where all candidates were measured: with the times of the first pass, if no others."""
    model = MODELS[own["model"]]
    device = "NVIDIA_H200" if "H200" in own["device"] else own["device"].replace(" ", "_")
    first = {Choice(*map(tuple, choice)): time_us for choice, time_us in own["first"]}
    best = first[Choice(*map(tuple, own["best"]))]
    for name, folder in folders.items():
        file = folder / f"E={model.experts},N={model.intermediate},device_name={device}.json"
        if file.exists():
            entries = {int(count): config for count, config in json.loads(file.read_text()).items()}
            choice = both(nearest(entries, own["tokens"]))
            if choice in first:
                own["policies"][name] = {"choice": choice, "us": first[choice] / best * own["best_us"]}


def summarise(files: list[Path], folders: dict[str, Path]) -> None:
    groups: dict[Any, dict[int, Any]] = collections.defaultdict(dict)
    worst_error = 0.0
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            own = json.loads(line)
            if folders and own["engine"] == "vllm":
                add_policies(own, folders)
            groups[own["engine"], own["model"], own["routing"], own["device"]][own["tokens"]] = own
            worst_error = max(worst_error, own["error"])
    for (engine, model, routing, device), points in groups.items():
        print(f"\n## {engine}: {model}, {routing}, {device}, {len(points)} counts\n")
        (summarise_vllm if engine == "vllm" else summarise_sglang)(dict(sorted(points.items())))
    print(f"\nLargest relative error of a result: {worst_error:.1e}")


def times_of(points: dict[int, Any], policy: str) -> dict[int, float]:
    """Returns the policy's times by count, "best" the best's."""
    if policy == "best":
        return {count: own["best_us"] for count, own in points.items()}
    return {count: own["policies"][policy]["us"] for count, own in points.items() if own["policies"].get(policy, {}).get("us")}


def compare(points: dict[int, Any], policy: str, other: str) -> dict[int, float]:
    """Returns by how much the policy is slower, by count."""
    ours, theirs = times_of(points, policy), times_of(points, other)
    return {count: ours[count] / theirs[count] for count in ours if count in theirs}


def said(ratios: dict[int, float]) -> str:
    if not ratios:
        return "| |"
    at = max(ratios, key=ratios.__getitem__)
    return f"{percent(mean(ratios.values()))} | {percent(ratios[at])} ({at})"


def names_of(points: dict[int, Any]) -> list[str]:
    return list(dict.fromkeys(name for own in points.values() for name in own["policies"]))


def summarise_vllm(points: dict[int, Any]) -> None:
    print("| policy | over the best, mean | worst | over the rule, mean | worst | over shipped, mean | worst | of the rule's loss won |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names_of(points):
        loss = compare(points, name, "best")
        if not loss:
            continue
        of_rule = mean(compare(points, "rule", "best")[count] for count in loss) - 1
        won = f"{100 * (1 - (mean(loss.values()) - 1) / of_rule):.0f} %" if of_rule > 0 else ""
        cells = " | ".join(said(compare(points, name, other)) for other in ("best", "rule", "shipped"))
        print(f"| {name} | {cells} | {won} |")
    print_counts(points, ["best"] + names_of(points))


def summarise_sglang(points: dict[int, Any]) -> None:
    high = {count: own for count, own in points.items() if count >= SGLANG_FROM}
    print(f"| policy | rule / policy from {SGLANG_FROM} tokens, mean | least | over shipped, mean | worst |")
    print("|---|---|---|---|---|")
    for name in names_of(points):
        gain = compare(high, "rule", name)
        if gain:
            at = min(gain, key=gain.__getitem__)
            shipped = said(compare(points, name, "shipped"))
            print(f"| {name} | {mean(gain.values()):.2f} | {gain[at]:.2f} ({at}) | {shipped} |")
    print_counts(points, names_of(points))


def print_counts(points: dict[int, Any], names: list[str]) -> None:
    print(f"\n| tokens | rule, µs | {' | '.join(f'{name} / rule' for name in names if name != 'rule')} |")
    print("|---|---|" + "---|" * (len(names) - 1))
    rule = times_of(points, "rule")
    for count in points:
        if count in rule:
            ratios = [compare(points, name, "rule").get(count) for name in names if name != "rule"]
            print(f"| {count} | {rule[count]:.1f} | {' | '.join(f'{own:.3f}' if own else '' for own in ratios)} |")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--vllm", type=Path, help="an unpacked wheel of vLLM")
    parser.add_argument("--sglang", type=Path, help="an unpacked wheel of SGLang")
    parser.add_argument("--policy", action="append", default=[], metavar="NAME=FOLDER", help="exported files")
    parser.add_argument("--known", type=Path, action="append", default=[], metavar="FILE", help="of an earlier call: only "
        "candidates that were near its best are measured again")  # fmt: skip
    parser.add_argument("--out", type=Path, help="times are added to this file, a line of JSON for a point")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no point later")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that compile")
    parser.add_argument("--models", type=lambda text: text.split(";"), default=list(MODELS), help="separated by ;")
    parser.add_argument("--routings", type=lambda text: text.split(","), default=list(ROUTINGS))
    parser.add_argument("--tokens", type=lambda text: [int(count) for count in text.split(",")])
    parser.add_argument("--policies-only", action="store_true", help="no candidates: the best is that of the policies")
    parser.add_argument("--compile-only", action="store_true", help="needs no GPU")
    parser.add_argument("--device-name", default="NVIDIA H100 80GB HBM3", help="where there is no GPU to ask")
    parser.add_argument("--summary", type=Path, nargs="+", metavar="FILE", help="prints what was measured")
    options = parser.parse_args(arguments)
    try:
        options.policy = [(name, Path(folder).resolve()) for name, folder in (own.split("=", 1) for own in options.policy)]
    except ValueError:
        parser.error("--policy takes NAME=FOLDER")
    missing = [str(folder) for _, folder in options.policy if not folder.is_dir()]
    if missing:
        parser.error(f"no such folder: {', '.join(missing)}")
    if options.summary:
        return options
    if options.vllm is None and options.sglang is None:
        parser.error("give --vllm, --sglang or both")
    if options.out is None and not options.compile_only:
        parser.error("give --out, or --compile-only")
    unknown = set(options.models) - set(MODELS)
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)}; there are {'; '.join(MODELS)}")
    if set(options.routings) - set(ROUTINGS):
        parser.error(f"routings are {' and '.join(ROUTINGS)}")
    return options


def main() -> None:
    options = parse(sys.argv[1:])
    if options.summary:
        summarise(options.summary, dict(options.policy))
        return
    if not options.compile_only:
        import torch

        if not torch.cuda.is_available():
            sys.exit("there is no GPU: --compile-only needs none")
        options.device_name = torch.cuda.get_device_name()
    run(options)


if __name__ == "__main__":
    main()
