"""What is no problem of the kernel: the exception, and that its message names the wrong and the right."""

import numpy
import pytest

import wavetune

ALL = r'its dimensions are "m", "n", "k"$'


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ({"m": 1, "n": 2}, r'^kernel "random": missing dimension "k"; ' + ALL),
        ({}, r'missing dimensions "m", "n", "k"; ' + ALL),
        ({"m": 1, "n": 2, "k": 3, "batch": 4}, r'unknown dimension "batch"; ' + ALL),
        ({"m": 1, "n": 2, "K": 3}, r'unknown dimension "K", missing dimension "k"; ' + ALL),
        ({"a": 1, "b": 2, "k": 3}, r'unknown dimensions "a", "b", missing dimensions "m", "n"; ' + ALL),
        ({"m": 1, "n": 2, "\udc80": 3}, r'unknown dimension one that is no text, missing dimension "k"; ' + ALL),
        ({"m": -1, "n": 2, "k": 3}, r'^kernel "random": dimension "m" is -1; give 1 or more$'),
        ({"m": 1, "n": 0, "k": 3}, r'dimension "n" is 0; give 1 or more$'),
        ({"m": 1, "n": -(2**40), "k": 3}, r'dimension "n" is -1099511627776; give 1 or more$'),
        ({"m": 1, "n": 2, "k": 2**63}, r'dimension "k" is too large'),
        ({"m": 1, "n": 2, "k": -(2**100)}, r'dimension "k" is negative'),
    ],
)
def test_wrong_names_and_extents_are_value_errors_with_the_right_names(gemm, problem, message):
    with pytest.raises(ValueError, match=message):
        gemm.resolve(**problem)
    with pytest.raises(ValueError, match=message):
        gemm.explain(**problem)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.0, "takes one integer, not float"),
        ("1", "takes one integer, not str"),
        (None, "takes one integer, not NoneType"),
        (True, "takes one integer, not bool"),
        ([1], "takes one integer, not list"),
        (numpy.float64(1), "takes one integer, not numpy.float64"),
    ],
)
def test_extents_that_are_no_integers_are_type_errors(gemm, value, message):
    with pytest.raises(TypeError, match=rf'^kernel "random": dimension "n" {message}$'):
        gemm.resolve(m=1, n=value, k=3)


def test_extents_are_given_by_name(gemm):
    with pytest.raises(TypeError, match='^kernel "random": dimensions are given by name; they are "m", "n", "k"$'):
        gemm.resolve(1, 2, 3)


def test_an_exception_of_an_extent_comes_through(gemm):
    class Broken:
        def __index__(self):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="^mine$"):
        gemm.resolve(m=Broken(), n=1, k=1)


@pytest.mark.parametrize(
    ("extents", "error", "message"),
    [
        ([], ValueError, "is empty: give at least one extent"),
        (numpy.array([], dtype=numpy.int64), ValueError, "is empty: give at least one extent"),
        ([1, -2], ValueError, "is -2; give 0 or more"),
        (numpy.array([1, -2]), ValueError, "is -2; give 0 or more"),
        (numpy.array([1, -2], dtype=numpy.int16), ValueError, "is -2; give 0 or more"),
        (numpy.array([2**63], dtype=numpy.uint64), ValueError, "has an element that is too large"),
        ([2**64], ValueError, "is too large"),
        (numpy.ones((2, 2), dtype=numpy.int64), ValueError, "takes an array of one dimension, not 2"),
        (numpy.ones(2), TypeError, 'takes an array of integers, not of format "d"'),
        ([1.5], TypeError, "takes integers, not float"),
        (7, TypeError, "is repeated: it takes a sequence of integers, not int"),
        (None, TypeError, "is repeated: it takes a sequence of integers, not NoneType"),
        ("12", TypeError, "is repeated: it takes a sequence of integers, not str"),
        (b"12", TypeError, "is repeated: it takes a sequence of integers, not bytes"),
        ({1, 2}, TypeError, "is repeated: it takes a sequence of integers, not set"),
    ],
)
def test_faults_of_a_repeated_dimension_say_what_it_takes(grouped, extents, error, message):
    with pytest.raises(error, match=f'^kernel "random": dimension "m" {message}'):
        grouped.resolve(m=extents, n=64, k=64)


def test_an_expert_without_tokens_is_no_fault(grouped):
    assert grouped.resolve(m=[0, 5], n=64, k=64).configuration
    assert grouped.resolve(m=numpy.array([0, 5]), n=64, k=64).configuration


def test_a_tuner_that_nobody_made_is_refused(gemm):
    for make in (wavetune.Tuner, wavetune.Client):
        with pytest.raises(TypeError):
            make()
    empty = wavetune.Tuner.__new__(wavetune.Tuner)
    with pytest.raises(TypeError, match="Client.tuner"):
        empty.resolve(m=1, n=2, k=3)
    with pytest.raises(TypeError):
        wavetune.Tuner.resolve(gemm.dimensions, m=1, n=2, k=3)
