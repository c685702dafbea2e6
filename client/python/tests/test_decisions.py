"""Decisions, and what tuners tell of themselves."""

import concurrent.futures
import copy
import functools
import gc
import json
import multiprocessing
import pickle
import sys

import numpy
import pytest
import tables

import wavetune
from wavetune import Origin, Reason, Source


@pytest.mark.parametrize("name", tables.DIMENSIONS)
def test_decisions_are_bit_for_bit_those_of_every_other_client(golden, name):
    tuner = golden(name)
    compared = 0
    for problem, expected in tables.golden_decisions(name):
        decision = tuner.resolve(**problem)
        assert decision.source.name == expected["source"], problem
        assert decision.reason.name == expected["reason"], problem
        assert list(decision.configuration.values()) == [int(v) for v in expected["configuration"].split()], problem
        assert tables.bits(decision.latency_us) == expected["latency_bits"], problem
        assert decision.candidate == (None if expected["candidate"] == "255" else int(expected["candidate"]))
        compared += 1
    assert compared > 20


def test_keywords_may_come_in_any_order_and_from_a_mapping(gemm):
    expected = gemm.resolve(m=100, n=200, k=304)
    assert gemm.resolve(k=304, m=100, n=200) == expected
    # Made at run time: not the interned texts that the extension compares first.
    names = ["".join(["", name]) for name in "mnk"]
    assert gemm.resolve(**dict(zip(names, (100, 200, 304)))) == expected
    assert gemm.resolve(m=200, n=100, k=304) != expected


def test_a_decision_says_how_good_it_is(gemm):
    decision = gemm.resolve(m=14, n=1704, k=104)
    assert decision.source is Source.FITTED
    assert decision.reason is Reason.NONE
    assert decision.latency_us > 0
    assert decision.relative_bound > 0
    assert decision.origin is Origin.CACHE
    assert len(decision.digest_prefix) == 16
    assert gemm.digest.startswith(decision.digest_prefix)
    assert repr(decision).startswith("Decision({'BLOCK_A': ")


def test_a_problem_beyond_the_kernel_is_answered_with_the_default_and_the_reason(gemm):
    largest = {dimension.name: dimension.max for dimension in gemm.dimensions}["k"]
    decision = gemm.resolve(m=1, n=1, k=largest + 1)
    assert (decision.source, decision.reason) == (Source.DEFAULT, Reason.EXTENT_OUT_OF_RANGE)
    assert decision.configuration == gemm.default_configuration
    assert (decision.latency_us, decision.relative_bound, decision.candidate) == (0, 0, None)
    assert "reason=EXTENT_OUT_OF_RANGE" in repr(decision)


def test_a_candidate_after_the_default_has_its_own_configuration(golden):
    tuner = golden("overlapping_gemm")
    assert tuner.resolve(m=6960, n=1, k=1).reason is Reason.PRECONDITION_BROKEN
    decision = tuner.resolve(m=2874, n=472, k=448)
    assert list(decision.configuration.values()) == [16, 256, 48, 4, 2]
    assert decision.configuration != tuner.default_configuration


def test_a_configuration_is_a_read_only_dict_that_decisions_share(gemm):
    configuration = gemm.resolve(m=11, n=24, k=8).configuration
    assert isinstance(configuration, wavetune.Configuration)
    assert tuple(configuration) == gemm.parameters
    assert dict(**configuration) == dict(configuration) == configuration
    assert repr(configuration) == repr(dict(configuration))
    assert gemm.resolve(m=11, n=24, k=8).configuration is configuration
    for own in (gemm.default_configuration, *gemm.configurations, gemm.explain(m=11, n=24, k=8)[0].configuration):
        assert type(own) is wavetune.Configuration


@pytest.mark.parametrize(
    "change",
    [
        lambda own: own.update(STAGES=1),
        lambda own: own.setdefault("WARPS", 1),
        lambda own: own.pop("STAGES"),
        lambda own: own.popitem(),
        lambda own: own.clear(),
        lambda own: own.__setitem__("STAGES", 1),
        lambda own: own.__delitem__("STAGES"),
        lambda own: own.__ior__({"STAGES": 1}),
    ],
)
def test_a_configuration_cannot_be_changed_but_its_copy_can(gemm, change):
    configuration = gemm.resolve(m=11, n=24, k=8).configuration
    before = dict(configuration)
    with pytest.raises(TypeError, match=r"cannot be changed: dict\(configuration\) is a copy"):
        change(configuration)
    assert configuration == before
    change(dict(configuration))
    assert {**configuration, "STAGES": 9} == configuration | {"STAGES": 9} != configuration


def test_a_configuration_is_json_a_key_and_sent_to_another_process(gemm):
    configuration = gemm.resolve(m=11, n=24, k=8).configuration
    assert json.loads(json.dumps(configuration)) == configuration
    for again in (copy.copy, copy.deepcopy, lambda own: pickle.loads(pickle.dumps(own))):
        other = again(configuration)
        assert other == configuration and type(other) is wavetune.Configuration
        assert {configuration: "compiled"}[other] == "compiled"
    assert len(set(gemm.configurations)) == len(gemm.configurations)


def test_a_decision_cannot_be_changed_or_made_by_hand(gemm):
    decision = gemm.resolve(m=14, n=1704, k=104)
    with pytest.raises(AttributeError):
        decision.latency_us = 1.0
    with pytest.raises(TypeError):
        type(decision)()


def test_equal_decisions_hash_equally_so_that_they_may_be_keys(gemm):
    problems = [{"m": m, "n": 1704, "k": 104} for m in (14, 15, 200, 1 << 40)]
    decisions = [gemm.resolve(**problem) for problem in problems]
    assert [hash(gemm.resolve(**problem)) for problem in problems] == [hash(decision) for decision in decisions]
    distinct = [decision for i, decision in enumerate(decisions) if decision not in decisions[:i]]
    assert len(set(decisions)) == len(distinct) > 1

    @functools.lru_cache(maxsize=None)
    def compiled(decision):
        return object()

    assert compiled(decisions[0]) is compiled(gemm.resolve(**problems[0])) is not compiled(decisions[-1])


def decide_elsewhere(cache):
    client = wavetune.connect("unix:/nobody.sock", cache_dir=cache, timeout_s=1, watch=False)
    return client.tuner(tables.KERNEL).resolve(m=14, n=1704, k=104)


def test_a_process_of_a_pool_returns_the_same_decision(tmp_path):
    tables.add_to_cache(tmp_path, "gemm")
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(decide_elsewhere, tmp_path).result()
    here = decide_elsewhere(tmp_path)
    assert there == here and hash(there) == hash(here)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda decision: pickle.loads(pickle.dumps(decision))], ids=["copy", "deep", "pickle"]
)
def test_a_decision_can_be_copied_and_sent_to_another_process(gemm, again):
    for m in (14, 1 << 40):
        decision = gemm.resolve(m=m, n=1704, k=104)
        other = again(decision)
        assert other == decision and repr(other) == repr(decision) and hash(other) == hash(decision)
        assert json.loads(json.dumps(other.configuration)) == decision.configuration
        with pytest.raises(TypeError):
            other.configuration["STAGES"] = 1


def test_a_decision_outlives_its_tuner_and_client(client):
    decision = client.tuner(tables.KERNEL, digest=tables.digest("gemm")).resolve(m=11, n=24, k=8)
    gc.collect()
    assert decision.configuration["STAGES"] == 2


def test_deciding_leaks_nothing(gemm, grouped):
    problem = {"m": [1, 2, 3], "n": 64, "k": 64}
    array = numpy.array([1, 2, 3], dtype=numpy.int64)

    def decide():
        for _ in range(1000):
            gemm.resolve(m=100, n=200, k=304)
            grouped.resolve(**problem)
            grouped.resolve(m=array, n=64, k=64)
            try:
                gemm.resolve(m=100, n=200)
            except ValueError:
                pass
        gc.collect()

    decide()
    before = (sys.getallocatedblocks(), sys.getrefcount(array), sys.getrefcount(wavetune.Decision))
    decide()
    after = (sys.getallocatedblocks(), sys.getrefcount(array), sys.getrefcount(wavetune.Decision))
    assert after[1:] == before[1:]
    assert abs(after[0] - before[0]) < 200, "each kind of call ran 1,000 times"


def test_more_decisions_than_the_free_list_holds_live_at_once(gemm):
    decisions = [gemm.resolve(m=m, n=200, k=304) for m in range(1, 500)]
    assert len({id(decision) for decision in decisions}) == len(decisions)
    again = [gemm.resolve(m=m, n=200, k=304) for m in range(1, 500)]
    assert again == decisions


@pytest.mark.parametrize("kind", [list, tuple, numpy.array, range])
def test_a_repeated_dimension_takes_any_sequence(grouped, kind):
    extents = [5, 6, 7, 8]
    given = range(5, 9) if kind is range else kind(extents)
    assert grouped.resolve(m=given, n=64, k=64) == grouped.resolve(m=extents, n=64, k=64)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_a_repeated_dimension_takes_arrays_of_every_integer_type(grouped, dtype):
    array = numpy.array([5, 100, 0, 8] * 100, dtype=dtype)
    expected = grouped.resolve(m=array.tolist(), n=64, k=64)
    assert grouped.resolve(m=array, n=64, k=64) == expected
    assert grouped.resolve(m=array[::-1][::-1], n=64, k=64) == expected
    assert grouped.resolve(m=numpy.repeat(array, 2)[::2], n=64, k=64) == expected
    assert grouped.resolve(m=memoryview(array), n=64, k=64) == expected


def test_extents_may_be_any_integer(gemm, grouped):
    assert gemm.resolve(m=numpy.int32(100), n=numpy.uint8(200), k=numpy.int64(304)) == gemm.resolve(m=100, n=200, k=304)
    assert gemm.resolve(m=2**40, n=200, k=304).reason is Reason.EXTENT_OUT_OF_RANGE
    assert grouped.resolve(m=[numpy.int64(5), 6], n=64, k=64) == grouped.resolve(m=[5, 6], n=64, k=64)


def test_a_list_that_changes_while_it_is_read_does_no_harm(grouped):
    extents = [5]

    class Grows:
        def __index__(self):
            extents.clear()
            return 7

    extents.append(Grows())
    extents.extend([8] * 1000)
    assert grouped.resolve(m=extents, n=64, k=64) == grouped.resolve(m=[5, 7], n=64, k=64)


def test_a_tuner_tells_what_it_decides_among(gemm):
    assert gemm.kernel == tables.KERNEL
    assert [dimension.name for dimension in gemm.dimensions] == ["m", "n", "k"]
    assert all(1 == dimension.min < dimension.max and not dimension.repeated for dimension in gemm.dimensions)
    assert gemm.parameters == ("BLOCK_A", "BLOCK_B", "BLOCK_C", "STAGES", "VECTOR")
    assert gemm.default_configuration in gemm.configurations
    assert gemm.resolve(m=11, n=24, k=8).configuration in gemm.configurations
    assert gemm.digest == tables.digest("gemm")
    assert (gemm.origin, gemm.stale) == (Origin.CACHE, False)
    assert repr(gemm) == f'<wavetune.Tuner of "random", table {gemm.digest[:16]}>'


def test_an_explanation_lists_the_chosen_row_with_the_decision(gemm):
    decision = gemm.resolve(m=100, n=200, k=304)
    rows = gemm.explain(m=100, n=200, k=304)
    (chosen,) = [row for row in rows if row.chosen]
    assert chosen.configuration == decision.configuration
    assert chosen.latency_us == decision.latency_us
    assert [row.rank_us for row in rows if row.legal] == sorted(row.rank_us for row in rows if row.legal)
    assert not any(row.of_layer or row.kept_default for row in rows)
    assert gemm.explain(m=2**40, n=1, k=1) == []
