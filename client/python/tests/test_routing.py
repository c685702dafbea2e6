"""The expected routing of experts, and what engines launch by themselves."""

import pytest

import wavetune


def test_slots_are_those_of_every_other_process():
    # model/kernel/expected_routing_test.cc has the same numbers.
    assert wavetune.ExpectedRouting(8, 2).slots(100) == [7, 28, 5, 18, 53, 11, 15, 63]
    assert wavetune.ExpectedRouting(8, 2).slots(9000, 3) == [1045, 2604, 415]
    assert wavetune.ExpectedRouting(4, 2, "even").slots(3) == [2, 2, 1, 1]


def test_a_histogram_is_drawn_from():
    slots = wavetune.ExpectedRouting(4, 1, [1, 10**9, 1, 5 * 10**8]).slots(3000)
    assert sum(slots) == 3000
    assert sorted(slots)[-1] > 1800 > sorted(slots)[-2] > 800


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((8, 9), "takes 9 of 8 experts"),
        ((8, 2, "uneven"), '"uneven" is no routing'),
        ((8, 2, [1, 2, 3]), "counts of 3 experts, the layer has 8"),
        ((3, 2, [0, 0, 0]), "zeros alone"),
        ((3, 2, [1, -1, 0]), "a count of -1"),
    ],
)
def test_what_is_no_routing_is_refused(arguments, says):
    with pytest.raises(wavetune.InvalidArgumentError, match=says):
        wavetune.ExpectedRouting(*arguments)


def test_rules_are_the_engines():
    assert wavetune.engine_rule("vllm", 4096, 128) == {
        "BLOCK_SIZE_M": 128,
        "BLOCK_SIZE_N": 128,
        "BLOCK_SIZE_K": 64,
        "GROUP_SIZE_M": 1,
        "num_warps": 8,
        "num_stages": 3,
    }
    assert wavetune.engine_rule("sglang", 4096, 128)["BLOCK_SIZE_K"] == 32
    with pytest.raises(wavetune.InvalidArgumentError, match="vllm, sglang"):
        wavetune.engine_rule("another", 1, 8)
