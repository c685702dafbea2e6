"""Which configuration each launch of a pass gets, by policy. Pure but for decided(), which asks a wavetune.Client.

Engines' rules are written from what they do (vLLM's and SGLang's defaults of fused MoE, Triton's tutorials); a MoE
layer's two products share one configuration, since the routing is aligned to its BLOCK_SIZE_M.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Mapping, Optional, Sequence

from models import Launch, Model

Configuration = dict[str, int]
Choice = dict[str, Configuration]  # By a launch's name.
# Times of each configuration, by a launch's key.
Measured = Mapping[str, Mapping[str, float]]

POLICIES = ("old", "modern", "file", "nearest", "autotune", "decided", "exhaustive")


def text_of(configuration: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(configuration.items()))


def configuration_of(text: str) -> Configuration:
    return {name: int(value) for name, value in (part.split("=") for part in text.split())}


def gemm_default(launch: Launch) -> Configuration:
    tile = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "SPLIT_K": 1, "GROUP_M": 8}
    return {**tile, "num_warps": 8, "num_stages": 3}


def moe_old(tokens: int, experts: int) -> Configuration:
    """SGLang's without a file, and vLLM's of before."""
    if tokens <= experts:
        tile = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 1}
    else:
        tile = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8}
    return {**tile, "num_warps": 4, "num_stages": 3}


def moe_ladder(tokens: int, experts: int) -> Configuration:
    """vLLM's of 2026, bf16."""
    return {
        "BLOCK_SIZE_M": 16 if tokens <= 32 else 32 if tokens <= 96 else 64 if tokens <= 512 else 128,
        "BLOCK_SIZE_N": 64 if tokens <= 64 else 128,
        "BLOCK_SIZE_K": 128 if tokens <= 64 else 64,
        "GROUP_SIZE_M": 16 if tokens // experts > 128 else 1,
        "num_warps": 4 if tokens <= 128 else 8,
        "num_stages": 4 if tokens <= 32 else 3,
    }


def attention_rule(launch: Launch, modern: bool) -> Configuration:
    if launch.specialisation.startswith("decode"):
        # Engines split the keys by a rule of thumb; one split where many heads fill the device already.
        heads = launch.problem["batch"] * launch.problem["kv_heads"]
        splits = 8 if heads <= 32 else 1
        return {"BLOCK_Q": 16, "BLOCK_KV": 64, "SPLIT_KV": splits, "num_warps": 4, "num_stages": 3 if not modern else 2}
    tile = {"BLOCK_Q": 128, "BLOCK_KV": 64, "SPLIT_KV": 1}
    return {**tile, "num_warps": 8, "num_stages": 1} if modern else {**tile, "num_warps": 4, "num_stages": 3}


def engine_defaults(passes: Sequence[Launch], model: Model, modern: bool) -> Choice:
    moe = moe_ladder if modern else moe_old
    return {
        launch.name: gemm_default(launch)
        if launch.kernel == "triton_gemm"
        else attention_rule(launch, modern)
        if launch.kernel == "triton_attention"
        else moe(launch.tokens, model.experts)
        for launch in passes
    }


def nearest(keys: Sequence[int], tokens: int) -> int:
    """The key that an engine takes of its file: the nearest, of equals the one that stands first."""
    return min(keys, key=lambda key: abs(key - tokens))


def of_file(passes: Sequence[Launch], model: Model, file: Mapping[str, Mapping[str, int]]) -> Choice:
    """The modern defaults, and of a file of vLLM's or SGLang's the MoE layer's configuration."""
    rows = {int(key): dict(value) for key, value in file.items() if key != "triton_version"}
    choice = engine_defaults(passes, model, modern=True)
    for launch in passes:
        if launch.kernel == "triton_fused_moe":
            own = rows[nearest(list(rows), launch.tokens)]
            choice[launch.name] = {name: value for name, value in own.items() if name != "SPLIT_K"}
    return choice


def exhaustive(passes: Sequence[Launch], measured: Measured) -> Choice:
    """The fastest of what was measured at these problems; of a MoE layer the one configuration with the lowest sum.

    Errors: KeyError naming a launch that was not measured.
    """
    choice = {}
    for group in shared_groups(passes):
        times = [measured[launch.key] for launch in group]
        common = set.intersection(*(set(own) for own in times))
        if not common:
            raise KeyError(f"no configuration was measured for all of {[launch.key for launch in group]}")
        best = min(sorted(common), key=lambda text: sum(own[text] for own in times))
        choice.update({launch.name: configuration_of(best) for launch in group})
    return choice


def nearest_measured(
    passes: Sequence[Launch], measured: Measured, of_tokens: Callable[[int], Sequence[Launch]], points: Sequence[int]
) -> Choice:
    """As engines with files tuned at `points`: each launch gets the best of the point that is nearest to its tokens."""
    choice = {}
    for launch in passes:
        if launch.name == "head":  # One row for each prompt, whatever the tokens.
            choice.update(exhaustive([launch], measured))
            continue
        tuned = exhaustive(of_tokens(nearest(points, launch.tokens)), measured)
        choice[launch.name] = tuned[launch.name]
    return choice


def shared_groups(passes: Sequence[Launch]) -> list[list[Launch]]:
    """Launches that get one configuration, together."""
    moe = [launch for launch in passes if launch.kernel == "triton_fused_moe"]
    return [[launch] for launch in passes if launch not in moe] + ([moe] if moe else [])


def decided(passes: Sequence[Launch], client: Any, device: Optional[str] = None) -> tuple[Choice, dict[str, Any]]:
    """Returns what the tables decide, and how: sources, digests, microseconds of all decisions.

    Errors: wavetune's, where a kernel has no table.
    """
    choice: Choice = {}
    sources: dict[str, str] = {}
    digests: dict[str, str] = {}
    spent_us = 0.0
    for group in shared_groups(passes):
        first = group[0]
        tuner = client.tuner(first.kernel, specialisation=first.specialisation or None, device=device)
        problems = [(launch.specialisation, launch.problem) for launch in group]
        started = time.perf_counter()
        decisions = [tuner.resolve(**first.problem)] if len(group) == 1 else tuner.resolve_together(problems)
        spent_us += (time.perf_counter() - started) * 1e6
        for launch, decision in zip(group, decisions):
            choice[launch.name] = dict(decision.configuration)
            sources[launch.name] = decision.source.name
        digests[first.kernel] = tuner.digest
    return choice, {"sources": sources, "digests": digests, "decide_us": round(spent_us, 1)}
