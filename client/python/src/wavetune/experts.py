"""What engines launch for a layer of experts, decided with a table: shared by `wavetune export` and the plugins.

A layer is two launches, gate_up and down. Both read rows in an order that is made once, for one row tile, so engines take
one configuration for both, or two that agree on BLOCK_SIZE_M. Token counts alone are known before a launch: slots are
those of an expected routing, unless somebody knows the routing.

What an engine would launch by itself is the floor: it stays wherever the table does not predict a gain over it that is
beyond the error bound, or cannot predict it.
"""

from __future__ import annotations

import functools
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

import wavetune
from wavetune.records import ExpertLayer, ServedExperts

Config = Mapping[str, Any]

# The parameters of the engines' kernel, as their files name them.
PARAMETERS = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
# And one that SGLang's kernel has: true in its files, or not there.
USE_TMA = "USE_TMA"
# What engines take where nothing is said, and what says nothing.
_UNSAID = {"num_warps": 4, "num_stages": 3, USE_TMA: 0}
_NEUTRAL = {"SPLIT_K": 1, "num_ctas": 1, USE_TMA: False}
# As triton_fused_moe names them.
NAMES = ServedExperts("tokens", "n", "k", "top_k", "gate_up", "down", ("vllm", "sglang"))
# Up to here every token count has an entry in a file, so that a person who reads it, or an engine that looks for exact
# counts, finds those of decoding.
EVERY_TOKEN_COUNT = 64


class Choice(NamedTuple):
    """What a layer launches at a number of tokens."""

    gate_up: Config
    down: Config
    decisions: tuple[wavetune.Decision, ...]  # Of both; none where the engine's own cannot be predicted.
    kept: bool  # It is what the engine launches by itself.


class Own(NamedTuple):
    """What an engine launches by itself."""

    gate_up: Config
    down: Config
    sglangs_rule: bool = False  # One of SGLang's two, which are hardly ever the best.

    def predictable(self, parameters: Sequence[str] = PARAMETERS) -> Optional[dict[str, int]]:
        """Returns the one configuration in the words of a table with these parameters; None where it is two, or has what
        the table does not know."""
        gate_up = in_words_of(parameters, self.gate_up)
        return gate_up if self.down is self.gate_up or gate_up == in_words_of(parameters, self.down) else None


def in_words_of(parameters: Sequence[str], config: Config) -> Optional[dict[str, int]]:
    """Returns what an entry of an engine's file launches, in the words of a table; None where it has what the table does
    not know."""
    named = {name: config.get(name, _UNSAID.get(name)) for name in parameters}
    if type(named.get(USE_TMA)) is bool:
        named[USE_TMA] = int(named[USE_TMA])
    for name, value in config.items():
        if name not in named and _NEUTRAL.get(name, ...) != value:
            return None
    return named if {*map(type, named.values())} <= {int} else None


def _in_words_of_engines(configuration: Mapping[str, int]) -> Config:
    config: dict[str, Any] = dict(configuration)
    if config.pop(USE_TMA, 0):
        config[USE_TMA] = True
    return config


@functools.lru_cache(maxsize=1024)
def expected_routing(
    experts: int, top_k: int, popularity: Union[str, tuple[int, ...]] = "drawn"
) -> wavetune.ExpectedRouting:
    """Returns the one of a layer; popularity: "drawn", "even", or counts of each expert of the model."""
    return wavetune.ExpectedRouting(experts, top_k, popularity)


class ExpertTuner:
    """A table as what decides for layers of experts. From any thread."""

    def __init__(self, gate_up: wavetune.Tuner, down: wavetune.Tuner, names: ServedExperts = NAMES) -> None:
        """The tuners are those of the two specialisations that `names` has."""
        self.tuner = gate_up
        self.names = names
        portfolios = ({_key(each) for each in tuner.configurations} for tuner in (gate_up, down))
        self._predicted = set.intersection(*portfolios)

    def choose(
        self, layer: ExpertLayer, slots: Sequence[int], own: Optional[Own] = None, apart: bool = False
    ) -> Choice:
        """Returns what a layer launches for the slots of its local experts: what the table decides, or `own` where that
        is not shown to be slower. apart: the launches agree on the row tile alone, else on everything."""
        floor = None if own is None else own.predictable(self.tuner.parameters)
        if own is not None and (floor is None or _key(floor) not in self._predicted):
            if not own.sglangs_rule:
                return Choice(own.gate_up, own.down, (), True)
            floor = None  # A table that has dropped it beats it.
        asked = problems(self.names, layer, slots)
        both = self.tuner.resolve_together(asked, incumbent=floor)
        if own is not None and (both[0].source is wavetune.Source.DEFAULT or both[0].configuration == floor):
            return Choice(own.gate_up, own.down, both, True)
        if apart:  # Where even one configuration for both is faster than the engine's own.
            both = self.tuner.resolve_together(asked, shared=["BLOCK_SIZE_M"])
        gate_up, down = (_in_words_of_engines(decision.configuration) for decision in both)
        return Choice(gate_up, down, both, False)


def _key(configuration: Config) -> frozenset[tuple[str, int]]:
    return frozenset(configuration.items())


def problems(names: ServedExperts, layer: ExpertLayer, slots: Sequence[int]) -> list[tuple[str, dict[str, Any]]]:
    """Returns the problems of both launches."""
    width = (2 if layer.gated else 1) * layer.intermediate
    launches = ((names.gate_up, width, layer.hidden), (names.down, layer.hidden, layer.intermediate))
    both: list[tuple[str, dict[str, Any]]] = [
        (name, {names.tokens: slots, names.n: n, names.k: k}) for name, n, k in launches
    ]
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
