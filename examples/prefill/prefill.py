#!/usr/bin/env python3
"""A prefill, really run: time to first token and time per decoded token under different ways to choose configurations.

    prefill.py shapes                                    # what is launched, and the rules' choices: no GPU, no torch
    prefill.py compile --arch 90                         # fills Triton's cache in processes: no GPU
    prefill.py check                                     # all policies compute the same: a small model, or the real one's layers
    prefill.py tune --results tuned.json                 # times every configuration at every problem: the rivals' work
    prefill.py launches --tuned tuned.json --tables tables/    # what the policies' launches take, by what `tune` timed
    prefill.py measure --tuned tuned.json --tables tables/ --results run.json
    prefill.py report run*.json

README.md beside this file says how the policies choose and what is measured.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional, Sequence

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import policies  # noqa: E402
import spaces  # noqa: E402
from models import BATCHES, MODELS, TOKENS, Launch, Model, launches  # noqa: E402
from policies import POLICIES, Choice, Configuration, shared_groups, text_of  # noqa: E402

KERNELS = HERE.parents[1] / "kernels"
IDLE_S = 0.03
DEVICE = "cuda"
TUNED_KERNELS = ("triton_gemm", "triton_fused_moe", "triton_attention")
POINTS = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)


def passes_of(arguments: argparse.Namespace) -> list[tuple[Model, int, int, str]]:
    return [
        (MODELS[model], tokens, batch, phase)
        for model in arguments.models
        for batch in arguments.batches
        for tokens in arguments.tokens
        for phase in arguments.phases
    ]


def space_of(launch: Launch, most: int) -> list[Configuration]:
    return spaces.configurations(KERNELS / launch.kernel, launch.specialisation, launch.problem, most)


def tuned_of(launches_here: Sequence[Launch], dense: str, attention: str) -> list[Launch]:
    """The launches that are Triton's in a variant."""
    return [
        launch
        for launch in launches_here
        if not (launch.kernel == "triton_gemm" and dense != "triton")
        and not (launch.kernel == "triton_attention" and attention != "triton")
    ]


# shapes


def shapes(arguments: argparse.Namespace) -> None:
    client = client_of(arguments) if arguments.tables else None
    for model, tokens, batch, phase in passes_of(arguments):
        own = launches(model, tokens, batch, phase)
        print(f"{model.name} {phase}, {batch} x {tokens} tokens")
        choices = {
            "old": policies.engine_defaults(own, model, modern=False),
            "modern": policies.engine_defaults(own, model, modern=True),
        }
        if client is not None:
            choices["decided"] = policies.decided(own, client)[0]
        for launch in own:
            print(f"  {launch.name:10} x{launch.times:<3} {launch.key}")
            for policy, choice in choices.items():
                print(f"    {policy:8} {text_of(choice[launch.name])}")


# compile


def compile_command(arguments: argparse.Namespace) -> None:
    import compile_ahead

    wanted: list[tuple[Launch, Configuration]] = []
    for model, tokens, batch, phase in passes_of(arguments):
        own = launches(model, tokens, batch, phase)
        for choice in (policies.engine_defaults(own, model, modern) for modern in (False, True)):
            wanted += [(launch, choice[launch.name]) for launch in own]
        if arguments.space:
            wanted += [(launch, configuration) for launch in own for configuration in space_of(launch, arguments.most)]
    jobs = compile_ahead.jobs_of(wanted)
    print(f"{len(jobs)} kernels for sm_{arguments.arch}", flush=True)
    failed, seconds = compile_ahead.compile_all(jobs, arguments.arch, arguments.processes)
    for (launch, configuration), reason in zip(jobs, failed):
        if reason:
            print(f"  {launch.kernel} {text_of(configuration)}: {reason}")
    print(f"compiled in {seconds:.1f} s, {sum(map(bool, failed))} failed")
    save(arguments.results, {"compile_s": round(seconds, 1), "kernels": len(jobs), "failed": sum(map(bool, failed))})
    if arguments.pack:
        cache = Path(os.environ.get("TRITON_CACHE_DIR", str(Path.home() / ".triton" / "cache")))
        size = compile_ahead.pack(cache, arguments.pack)
        print(f"{arguments.pack}: {size / 2**20:.1f} MiB; unpack it into TRITON_CACHE_DIR")


# check


def check(arguments: argparse.Namespace) -> None:
    """Compares all policies' logits with torch's own products and attention, in layers of a small or the real model."""
    import torch
    from forward import Pass, Weights

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        if os.environ.get("TRITON_INTERPRET") != "1":
            raise SystemExit("there is no GPU: set TRITON_INTERPRET=1, Triton then interprets the kernels")
        # What mends bfloat16 in Triton's interpreter.
        sys.path.insert(0, str(HERE.parents[1] / "tests" / "triton"))
        import launch  # noqa: F401
    worst = 0.0
    for model, tokens, batch, phase in passes_of(arguments):
        weights = Weights(model, min(2, model.layers), device)
        own = Pass(weights, tokens, batch, phase, device, layers=2)
        choices = rule_choices(own, model)
        if arguments.tables:
            choices["decided"] = policies.decided(list(own.launches.values()), client_of(arguments))[0]
        reference = reference_logits(own)
        for policy, choice in choices.items():
            own.reserve(choice)
            own.run(choice)
            difference = float((own.logits.float() - reference).abs().max() / reference.abs().max())
            worst = max(worst, difference)
            print(f"{model.name} {phase} {batch}x{tokens} {policy}: largest relative difference {difference:.2e}", flush=True)
    if not worst < arguments.tolerance:
        raise SystemExit(f"results differ by {worst:.2e}, allowed is {arguments.tolerance:g}")


def rule_choices(own: Any, model: Model) -> dict[str, Choice]:
    """The engines' rules, cut to what a small model takes."""
    here = list(own.launches.values())
    choices = {name: policies.engine_defaults(here, model, name == "modern") for name in ("old", "modern")}
    if model.name.startswith("tiny"):
        for choice in choices.values():
            for configuration in choice.values():
                for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "BLOCK_Q", "BLOCK_KV", "BLOCK_SIZE_N", "BLOCK_SIZE_K"):
                    if name in configuration:
                        configuration[name] = min(configuration[name], 32)
    return choices


def reference_logits(own: Any) -> Any:
    """The pass in torch, fp32 arithmetic on the same weights, with activations rounded to bf16 as the launches do."""
    import torch

    model, weights = own.model, own.weights
    rounded = lambda tensor: tensor.to(torch.bfloat16).float()  # noqa: E731
    norm = lambda x: rounded(x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6))  # noqa: E731
    x = own.input.float()
    keys, values = own.keys.float(), own.values.float()
    half = model.head_dim // 2
    cosines, sines = own.cosines[own.first :], own.sines[own.first :]

    def turned(heads: Any) -> Any:
        low, high = heads[..., :half], heads[..., half:]
        return rounded(torch.cat([low * cosines - high * sines, high * cosines + low * sines], -1))

    for layer in range(own.layers):
        own_weights = {name: value.float() for name, value in weights.layers[layer % weights.distinct].items()}
        qkv = rounded(norm(x) @ own_weights["qkv"].t()).view(own.batch, own.seq, -1, model.head_dim).transpose(1, 2)
        q = turned(qkv[:, : model.heads])
        keys, values = keys.clone(), values.clone()
        keys[:, :, own.first :] = turned(qkv[:, model.heads : model.heads + model.kv_heads])
        values[:, :, own.first :] = qkv[:, model.heads + model.kv_heads :]
        causal = own.phase == "prefill"
        attended = torch.nn.functional.scaled_dot_product_attention(q, keys, values, is_causal=causal, enable_gqa=True)
        merged = rounded(attended).transpose(1, 2).reshape(own.rows, -1)
        x = rounded(x + rounded(merged @ own_weights["o"].t()))
        normed = norm(x)
        x = rounded(x + feed_forward(own, own_weights, normed, rounded))
    last = norm(x).view(own.batch, own.seq, -1)[:, -1]
    return last @ weights.head.float().t()


def feed_forward(own: Any, weights: dict[str, Any], normed: Any, rounded: Any) -> Any:
    import torch

    model = own.model
    if not model.experts:
        left, right = rounded(normed @ weights["gate_up"].t()).chunk(2, -1)
        return rounded(rounded(torch.nn.functional.silu(left) * right) @ weights["down"].t())
    expert = torch.tensor(own.routing.expert_of, device=normed.device)
    slots = normed.repeat_interleave(model.top_k, 0)
    out = torch.zeros(len(slots), model.hidden, device=normed.device)
    for e in range(model.experts):
        mine = expert == e
        left, right = rounded(slots[mine] @ weights["gate_up"][e].t()).chunk(2, -1)
        gated = rounded(torch.nn.functional.silu(left) * right)
        out[mine] = rounded(gated @ weights["down"][e].t() / model.top_k)
    return rounded(out.view(-1, model.top_k, model.hidden).sum(1))


# tune


def tune(arguments: argparse.Namespace) -> None:
    import torch
    import tuning
    from forward import Pass, Weights

    results = load(arguments.results) or {"device": torch.cuda.get_device_name(), "times": {}, "spent": {}, "autotune": {}}
    check_device(results, arguments.results)
    stopwatch = tuning.Stopwatch(DEVICE)
    started = time.perf_counter()
    for model in (MODELS[name] for name in arguments.models):
        weights = Weights(model, 1, DEVICE)
        for _, tokens, batch, phase in [own for own in passes_of(arguments) if own[0] is model]:
            own = Pass(weights, tokens, batch, phase, DEVICE)
            for group in shared_groups([launch for launch in own.tuned() if launch.kernel in arguments.kernels]):
                if time.perf_counter() - started > arguments.seconds:
                    print("out of time: run it again with the same --results, it goes on")
                    return
                for launch in group:
                    if launch.key in results["times"]:
                        continue
                    configurations = space_of(launch, arguments.most)
                    times, loaded_s, measured_s = tuning.exhaustive(own, launch, configurations, stopwatch)
                    results["times"][launch.key] = times
                    results["spent"][launch.key] = {"load_s": round(loaded_s, 2), "measure_s": round(measured_s, 2)}
                    best = min(times, key=times.get) if times else "nothing could be launched"
                    print(f"{launch.key}: {len(times)} of {len(configurations)}, best {best}", flush=True)
                key = group_key(group)
                if arguments.autotune and key not in results["autotune"]:
                    configuration, seconds = tuning.autotune(own, group)
                    results["autotune"][key] = {"configuration": text_of(configuration), "seconds": round(seconds, 2)}
                save(arguments.results, results)
        del weights
        torch.cuda.empty_cache()


# launches


def launches_command(arguments: argparse.Namespace) -> None:
    """Compares what the policies' launches take, by what `tune` timed; a MoE layer's two products together. No GPU."""
    tuned = load(arguments.tuned)
    if tuned is None:
        raise SystemExit("give what `tune` wrote with --tuned")
    records = []
    for model, tokens, batch, phase in passes_of(arguments):
        own = SimpleNamespace(model=model, batch=batch, phase=phase, rows=batch * tokens if phase == "prefill" else batch)
        here = [launch for launch in launches(model, tokens, batch, phase) if launch.key in tuned["times"]]
        own.tuned, own.launches = (lambda here=here: here), {launch.name: launch for launch in here}
        choices, _ = all_choices(own, arguments, tuned)
        for group in shared_groups(here):
            taken = {policy: group_us(group, choice, tuned["times"]) for policy, choice in choices.items()}
            place = {"model": model.name, "phase": phase, "batch": batch, "tokens": tokens}
            records.append({**place, "launches": " + ".join(launch.name for launch in group), "us": taken})
    save(arguments.results, {"device": tuned["device"], "launches": records})
    print("| model | phase | batch | tokens | launches | best, us | " + " | ".join(arguments.policies) + " |")
    print("|---" * (6 + len(arguments.policies)) + "|")
    for record in records:
        *place, taken = record.values()
        best = taken.get("exhaustive") or min(filter(None, taken.values()), default=0.0)
        cells = [f"{us / best:.3f}" if (us := taken.get(policy)) else "" for policy in arguments.policies]
        print("| " + " | ".join([*map(str, place), f"{best:.1f}" if best else "", *cells]) + " |")


def group_us(group: Sequence[Launch], choice: Choice, times: Any) -> Optional[float]:
    """Microseconds of launches with their configurations; nothing where one of these was not timed."""
    taken = [times[launch.key].get(text_of(choice[launch.name])) for launch in group]
    return None if None in taken else round(sum(taken), 2)


def group_key(group: Sequence[Launch]) -> str:
    return " + ".join(launch.key for launch in group)


def check_device(results: dict[str, Any], file: Path) -> None:
    import torch

    if results["device"] != torch.cuda.get_device_name():
        raise SystemExit(f"{file} is of {results['device']}, this is {torch.cuda.get_device_name()}: tune again")


# measure


def measure(arguments: argparse.Namespace) -> None:
    import torch
    import triton
    from forward import Pass, Weights, fitting_layers

    tuned = load(arguments.tuned) if arguments.tuned else None
    if tuned is not None:
        check_device(tuned, arguments.tuned)
    results: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "host": platform.node() and platform.machine(),
        "dense": arguments.dense,
        "attention": arguments.attention,
        "idle_s": IDLE_S,
        "rounds": arguments.rounds,
        "profile_s": arguments.profile_s,
        "passes": [],
    }
    started = time.perf_counter()
    for name in arguments.models:
        model = MODELS[name]
        distinct = arguments.layers or fitting_layers(model, DEVICE)
        weights = Weights(model, distinct, DEVICE)
        print(f"{model.name}: {model.layers} layers, weights of {distinct}", flush=True)
        for _, tokens, batch, phase in [own for own in passes_of(arguments) if own[0] is model]:
            if time.perf_counter() - started > arguments.seconds:
                print(f"out of time before {model.name} {phase} {batch}x{tokens}")
                break
            own = Pass(weights, tokens, batch, phase, DEVICE, arguments.dense, arguments.attention)
            choices, notes = all_choices(own, arguments, tuned)
            record = measured_pass(own, choices, arguments.rounds)
            record.update(model=model.name, tokens=tokens, batch=batch, phase=phase, distinct_layers=distinct, notes=notes)
            record["layers"] = model.layers
            results["passes"].append(record)
            save(arguments.results, results)
            show(record)
            del own
            torch.cuda.empty_cache()
        del weights
        torch.cuda.empty_cache()


def all_choices(own: Any, arguments: argparse.Namespace, tuned: Any) -> tuple[dict[str, Choice], dict[str, Any]]:
    """Returns each policy's configurations, and what is to be said of them: times spent, sources, why one is missing."""
    model, here = own.model, own.tuned()
    choices: dict[str, Choice] = {}
    notes: dict[str, Any] = {}
    for policy in arguments.policies:
        try:
            choices[policy], notes[policy] = choice_of(policy, own, here, model, arguments, tuned)
        except Exception as error:  # One policy that cannot be had is said, and the others are measured.
            notes[policy] = {"missing": f"{type(error).__name__}: {error}"}
            print(f"  {policy}: {notes[policy]['missing']}", flush=True)
    return choices, notes


def choice_of(
    policy: str, own: Any, here: Sequence[Launch], model: Model, arguments: argparse.Namespace, tuned: Any
) -> tuple[Choice, dict[str, Any]]:
    if policy in ("old", "modern"):
        return policies.engine_defaults(here, model, policy == "modern"), {"tuning_s": 0.0}
    if policy == "file":
        if arguments.moe_file is None:
            raise ValueError("give an engine's file with --moe-file")
        return policies.of_file(here, model, json.loads(arguments.moe_file.read_text())), {"tuning_s": 0.0}
    if policy == "decided":
        return policies.decided(here, client_of(arguments))
    if tuned is None:
        raise ValueError("give what `tune` wrote with --tuned")
    if policy == "autotune":
        choice, seconds = {}, 0.0
        for group in shared_groups(here):
            best = tuned["autotune"][group_key(group)]
            seconds += best["seconds"]
            choice.update({launch.name: policies.configuration_of(best["configuration"]) for launch in group})
        return choice, {"tuning_s": round(seconds, 2)}
    if policy == "exhaustive":
        return policies.exhaustive(here, tuned["times"]), {"tuning_s": spent(here, tuned)}
    of_tokens, points = points_of(own)
    choice = policies.nearest_measured(here, tuned["times"], of_tokens, points)
    seconds = sum(spent(of_tokens(point), tuned) for point in points if known(point, of_tokens, tuned))
    return choice, {"tuning_s": round(seconds, 2)}


def points_of(own: Any) -> tuple[Any, list[int]]:
    """The powers of two at which files are tuned, and the launches of a pass with so many tokens (rows of all prompts)."""
    if own.phase == "decode":
        # Rows are the prompts, powers of two themselves; the keys' number is of the attention alone, which has no file.
        return (lambda rows: list(own.launches.values())), [own.rows]
    batch = own.batch
    return (
        lambda rows: launches(own.model, rows // batch, batch, "prefill"),
        [point for point in POINTS if POINTS[0] * batch <= point <= TOKENS[-1] * batch],
    )


def known(point: int, of_tokens: Any, tuned: Any) -> bool:
    return all(launch.key in tuned["times"] for launch in of_tokens(point))


def spent(here: Sequence[Launch], tuned: Any) -> float:
    """Seconds of loading and timing all configurations of these problems, compiling not counted."""
    own = [tuned["spent"].get(launch.key, {"load_s": 0.0, "measure_s": 0.0}) for launch in here]
    return round(sum(each["load_s"] + each["measure_s"] for each in own), 2)


def measured_pass(own: Any, choices: dict[str, Choice], rounds: int) -> dict[str, Any]:
    """Returns milliseconds of the pass by policy: one CUDA graph each, replayed in turns, the GPU idle before each."""
    import torch

    for choice in choices.values():
        own.reserve(choice)
    graphs: dict[str, Any] = {}
    pool = torch.cuda.graph_pool_handle()
    by_policy = {}
    for policy, choice in choices.items():
        same = json.dumps(choice, sort_keys=True)
        if same not in graphs:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                own.run(choice)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                own.run(choice)
            graphs[same] = graph
        by_policy[policy] = graphs[same]
    times: dict[str, list[float]] = {policy: [] for policy in choices}
    logits: dict[str, Any] = {}
    names = list(choices)
    for turn in range(rounds + 1):
        for policy in names[turn % len(names) :] + names[: turn % len(names)]:
            time.sleep(IDLE_S)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            by_policy[policy].replay()
            end.record()
            torch.cuda.synchronize()
            if turn:  # The first turn warms up, and shows that all compute the same.
                times[policy].append(begin.elapsed_time(end))
            else:
                logits[policy] = own.logits.float().clone()
    return {
        "ms": {policy: summary(own_ms) for policy, own_ms in times.items()},
        "differences": differences(logits),
        "configurations": {
            policy: {name: text_of(configuration) for name, configuration in choice.items()}
            for policy, choice in choices.items()
        },
    }


def differences(logits: dict[str, Any]) -> dict[str, float]:
    """How far each policy's results are from the first one's, relative to the largest."""
    first = next(iter(logits.values()), None)
    return {
        policy: float(((own - first).abs().max() / first.abs().max()).item()) for policy, own in logits.items()
    }


def summary(values: Sequence[float]) -> dict[str, float]:
    quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return {
        "median": round(statistics.median(values), 4),
        "low": round(quartiles[0], 4),
        "high": round(quartiles[2], 4),
        "least": round(min(values), 4),
    }


def show(record: dict[str, Any]) -> None:
    print(f"{record['model']} {record['phase']} {record['batch']}x{record['tokens']}", flush=True)
    base = record["ms"].get("exhaustive") or min(record["ms"].values(), key=lambda own: own["median"])
    for policy, own in record["ms"].items():
        print(
            f"  {policy:11} {own['median']:9.3f} ms ({own['low']:.3f}-{own['high']:.3f})"
            f"  {own['median'] / base['median']:.3f}  off by {record['differences'][policy]:.1e}",
            flush=True,
        )


# report


def report(arguments: argparse.Namespace) -> None:
    """Prints tables of what `measure` wrote: milliseconds of the exhaustive best, the others relative to it."""
    missing = [str(file) for file in arguments.files if not file.exists()]
    if missing:
        raise SystemExit(f"there is no {', '.join(missing)}")
    runs = [load(file) for file in arguments.files]
    for run in runs:
        print(f"\n{run['device']}, torch {run['torch']}, Triton {run['triton']}; dense {run['dense']}, attention "
              f"{run['attention']}; {run['rounds']} rounds, {run['idle_s'] * 1000:.0f} ms idle before each\n")  # fmt: skip
        names = [name for name in POLICIES if any(name in own["ms"] for own in run["passes"])]
        print("| model | phase | batch | tokens | best, ms | " + " | ".join(names) + " |")
        print("|---" * (5 + len(names)) + "|")
        for own in run["passes"]:
            base = own["ms"].get("exhaustive") or min(own["ms"].values(), key=lambda each: each["median"])
            cells = [
                f"{own['ms'][name]['median'] / base['median']:.3f}" if name in own["ms"] else "" for name in names
            ]
            print(f"| {own['model']} | {own['phase']} | {own['batch']} | {own['tokens']} | {base['median']:.2f} | "
                  + " | ".join(cells) + " |")  # fmt: skip
        print("\nSeconds spent tuning, one pass's problems:\n")
        print("| model | phase | batch | tokens | " + " | ".join(names) + " |")
        print("|---" * (4 + len(names)) + "|")
        for own in run["passes"]:
            cells = [tuning_text(own["notes"].get(name, {}), run) for name in names]
            print(f"| {own['model']} | {own['phase']} | {own['batch']} | {own['tokens']} | " + " | ".join(cells) + " |")


def tuning_text(note: dict[str, Any], run: dict[str, Any]) -> str:
    if "decide_us" in note:
        profiled = f"{run['profile_s']:g} s once, " if run.get("profile_s") else ""
        return f"{profiled}{note['decide_us']:.0f} µs"
    return note.get("missing", "") or f"{note.get('tuning_s', 0.0):g}"


# common


@functools.lru_cache(maxsize=None)
def connected(tables: Optional[Path]) -> Any:
    import wavetune

    return wavetune.connect(mode="offline", table_file=tables, cache_dir=None) if tables else wavetune.connect()


def client_of(arguments: argparse.Namespace) -> Any:
    """Returns the process's client. Errors: ImportError without the package, and wavetune's."""
    return connected(arguments.tables)


def load(file: Optional[Path]) -> Any:
    return json.loads(file.read_text()) if file is not None and file.exists() else None


def save(file: Optional[Path], content: Any) -> None:
    if file is None:
        return
    staged = file.with_suffix(".new")
    staged.write_text(json.dumps(content, indent=1) + "\n")
    staged.replace(file)


def parser_of() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name: str, run: Any, models: Sequence[str], tokens: Sequence[int]) -> argparse.ArgumentParser:
        own = commands.add_parser(name, help=(run.__doc__ or "").split("\n")[0] or None)
        own.set_defaults(run=run)
        own.add_argument("--models", nargs="+", default=list(models), choices=list(MODELS))
        own.add_argument("--tokens", nargs="+", type=int, default=list(tokens))
        own.add_argument("--batches", nargs="+", type=int, default=[1])
        own.add_argument("--phases", nargs="+", default=["prefill", "decode"], choices=["prefill", "decode"])
        own.add_argument("--tables", type=Path, help="a table's file or a folder of them; else the node's daemon")
        own.add_argument("--most", type=int, default=0, help="configurations of a kernel, if it has more (0: all)")
        own.add_argument("--results", type=Path, help="the file to write")
        own.add_argument("--seconds", type=float, default=450, help="begin nothing new after so long")
        return own

    real = ["qwen3-30b-a3b", "llama-3-8b"]
    add("shapes", shapes, real, TOKENS)
    own = add("compile", compile_command, real, TOKENS)
    own.add_argument("--arch", type=int, default=90, help="compute capability, as 90")
    own.add_argument("--processes", type=int, default=0, help="0: as many as there are processors")
    own.add_argument("--space", action="store_true", help="all configurations, not the engines' rules alone")
    own.add_argument("--pack", type=Path, help="write the cache into this .tar.gz, without what only people read")
    own = add("check", check, ["tiny-moe", "tiny-dense"], [24])
    own.add_argument("--tolerance", type=float, default=0.03)
    own = add("tune", tune, real, TOKENS)
    own.add_argument("--no-autotune", dest="autotune", action="store_false", help="the exhaustive rival alone")
    own.add_argument("--kernels", nargs="+", default=TUNED_KERNELS, choices=TUNED_KERNELS, help="time these alone")

    def add_rivals(own: argparse.ArgumentParser) -> None:
        own.add_argument("--tuned", type=Path, help="what `tune` wrote")
        own.add_argument("--moe-file", type=Path, help="an engine's configuration file, for the policy `file`")
        own.add_argument("--policies", nargs="+", default=list(POLICIES), choices=list(POLICIES))

    add_rivals(add("launches", launches_command, real, TOKENS))
    own = add("measure", measure, real, TOKENS)
    add_rivals(own)
    own.add_argument("--dense", default="triton", choices=["triton", "cublas"])
    own.add_argument("--attention", default="triton", choices=["triton", "cudnn"])
    own.add_argument("--layers", type=int, default=0, help="layers of which weights are held (0: as many as fit)")
    own.add_argument("--rounds", type=int, default=15)
    own.add_argument("--profile-s", type=float, help="seconds that profiling the tables took, for the report")
    own = commands.add_parser("report", help="tables of what `measure` wrote")
    own.set_defaults(run=report)
    own.add_argument("files", nargs="+", type=Path)
    return parser


def main(given: Optional[Sequence[str]] = None) -> None:
    arguments = parser_of().parse_args(given)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
