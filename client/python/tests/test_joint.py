"""Launches that agree on a configuration: Tuner.resolve_together."""

import csv
import struct

import pytest
import tables

import wavetune


def balanced(tokens, experts=128, top_k=8):
    slots, more = divmod(tokens * top_k, experts)
    return [slots + (expert < more) for expert in range(experts)]


def layer(tokens):
    slots = balanced(tokens)
    return [
        ("gate_up", dict(tokens=slots, n=1536, k=2048, top_k=8)),
        ("down", dict(tokens=slots, n=2048, k=768, top_k=8)),
    ]


@pytest.fixture(scope="module")
def tuner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("joint")
    client = wavetune.connect(
        mode=wavetune.Mode.OFFLINE, cache_dir=folder / "cache", table_file=tables.path("fused_moe")
    )
    return client.tuner("triton_fused_moe", specialisation="gate_up")


def golden():
    with open(tables.GOLDEN / "joint_decisions.csv", newline="") as lines:
        yield from csv.DictReader(lines)


def test_decisions_are_those_of_the_golden_file(tuner):
    count = 0
    for line in golden():
        shared = None if line["shared"] == "all" else ("BLOCK_SIZE_M",)
        decisions = tuner.resolve_together(layer(int(line["tokens"])), shared=shared)
        for decision, name in zip(decisions, ("gate_up", "down"), strict=True):
            assert " ".join(map(str, decision.configuration.values())) == line[name]
            assert struct.pack(">d", decision.latency_us).hex() == line[f"{name}_bits"]
        count += 1
    assert count > 50


def test_both_share_one_configuration_unless_told_otherwise(tuner):
    both = tuner.resolve_together(layer(700))
    assert both[0].configuration == both[1].configuration
    tile = tuner.resolve_together(layer(700), shared=["BLOCK_SIZE_M"])
    assert tile[0].configuration["BLOCK_SIZE_M"] == tile[1].configuration["BLOCK_SIZE_M"]
    assert tile[0].configuration != tile[1].configuration


def test_an_illegal_problem_makes_all_the_default(tuner):
    both = layer(700)
    both[1][1]["top_k"] = 65
    for decision in tuner.resolve_together(both):
        assert decision.reason is wavetune.Reason.EXTENT_OUT_OF_RANGE
        assert decision.configuration == tuner.default_configuration
    both[1] = ("sideways", both[0][1])
    for decision in tuner.resolve_together(both):
        assert decision.reason is wavetune.Reason.UNKNOWN_SPECIALISATION


@pytest.mark.parametrize(
    "problems, shared, error, what",
    [
        ([], None, ValueError, "1 to 4 problems"),
        (layer(1) * 3, None, ValueError, "not 6"),
        ([("gate_up",)], None, ValueError, "a pair"),
        ([("gate_up", dict(tokens=[1], n=1, k=1))], None, ValueError, 'missing dimension "top_k"'),
        ([("gate_up", {1: 2})], None, TypeError, "texts"),
        (layer(1), ["BLOCK_M"], ValueError, "BLOCK_SIZE_M, BLOCK_SIZE_N"),
        (layer(1), [], ValueError, "share no parameter"),
        (7, None, TypeError, "incompatible function arguments"),
    ],
)
def test_bad_input_says_what_is_wrong(tuner, problems, shared, error, what):
    with pytest.raises(error, match=what):
        tuner.resolve_together(problems, shared=shared)
