"""What engines launch for a layer of experts, decided with a table: shared by `wavetune export` and the plugins.

A layer is two launches, gate_up and down. Both read rows in an order that is made once, for one row tile, so engines take
one configuration for both, or two that agree on BLOCK_SIZE_M. Token counts alone are known before a launch: slots are
those of an expected routing, unless somebody knows the routing.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple, Optional, Sequence

import wavetune
from wavetune.records import ExpertLayer, ServedExperts
from wavetune.triton_problem import balanced

Config = Mapping[str, Any]

# The parameters of the engines' kernel, as their files name them.
PARAMETERS = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
# As triton_fused_moe names them.
NAMES = ServedExperts("tokens", "n", "k", "top_k", "gate_up", "down", ("vllm", "sglang"))
# Up to here every token count has an entry in a file, so that a person who reads it, or an engine that looks for exact
# counts, finds those of decoding.
EVERY_TOKEN_COUNT = 64


class Decided(NamedTuple):
    """What a layer launches at a number of tokens."""

    gate_up: wavetune.Decision
    down: wavetune.Decision


def balanced_slots(tokens: int, top_k: int, experts: int, local: int) -> list[int]:
    """Returns the slots of the first `local` of `experts` experts where each of `tokens` goes to `top_k` of them, evenly:
    they differ by at most one, the larger first."""
    return balanced(tokens * top_k, experts)[:local]


def decide(
    tuner: wavetune.Tuner,
    names: ServedExperts,
    layer: ExpertLayer,
    slots: Sequence[int],
    shared: Optional[Iterable[str]] = None,
) -> Decided:
    """Returns what a layer launches for the slots of its local experts. The launches agree on `shared` (None: on all)."""
    return Decided(*tuner.resolve_together(problems(names, layer, slots), shared=shared))


def problems(names: ServedExperts, layer: ExpertLayer, slots: Sequence[int]) -> list[tuple[str, dict[str, Any]]]:
    """Returns the problems of both launches."""
    width = (2 if layer.gated else 1) * layer.intermediate
    launches = ((names.gate_up, width, layer.hidden), (names.down, layer.hidden, layer.intermediate))
    both = [(name, {names.tokens: slots, names.n: n, names.k: k}) for name, n, k in launches]
    if names.top_k is not None:
        for _, problem in both:
            problem[names.top_k] = layer.top_k
    return both


def key_tokens(choices: Sequence[Any]) -> list[int]:
    """Returns the token counts that a file needs, for its reader to choose at every count what was decided there:
    choices[i] at i + 1 tokens.

    Engines take the entry whose count is nearest, of two the one that stands first. So a run of counts with one choice is
    given by its first and its last: what lies between is nearest to one of them, whatever stands outside.
    """
    last = len(choices) - 1
    return [
        i + 1
        for i, choice in enumerate(choices)
        if i < EVERY_TOKEN_COUNT or i == last or choice != choices[i - 1] or choice != choices[i + 1]
    ]
