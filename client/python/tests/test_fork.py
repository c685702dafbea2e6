"""Forked processes: they decide with what they have, connect anew and end."""

import multiprocessing
import subprocess
import sys

import pytest
import tables

import wavetune

PROBLEM = {"m": 11, "n": 24, "k": 8}
PATIENCE_S = 60

context = multiprocessing.get_context("fork")


def in_a_child(function):
    """Returns what a child process puts into the queue that it is given; it must end by itself."""
    results = context.SimpleQueue()
    process = context.Process(target=function, args=(results,))
    process.start()
    process.join(PATIENCE_S)
    if process.exitcode is None:
        process.kill()
        pytest.fail("the child hangs")
    assert process.exitcode == 0
    return results.get()


@pytest.fixture
def asked(tmp_path):
    """A client that has used its connection, and its tuner: nobody answers, the cache does."""
    tables.add_to_cache(tmp_path / "cache", "gemm")
    client = wavetune.connect(f"unix:{tmp_path}/nobody.sock", cache_dir=tmp_path / "cache", timeout_s=1)
    return client, client.tuner(tables.KERNEL)


def test_a_child_decides_with_the_tuner_of_its_parent(asked):
    client, tuner = asked
    expected = tuner.resolve(**PROBLEM)
    configuration = in_a_child(lambda results: results.put(dict(tuner.resolve(**PROBLEM).configuration)))
    assert configuration == dict(expected.configuration)
    assert client.tuner(tables.KERNEL).resolve(**PROBLEM) == expected


def test_a_child_makes_tuners_with_the_client_of_its_parent(asked):
    client, _ = asked

    def ask(results):
        origin = client.tuner(tables.KERNEL).origin
        results.put((origin is wavetune.Origin.CACHE, client.watching, client.last_problem))

    from_cache, watching, problem = in_a_child(ask)
    assert from_cache and not watching
    assert "forked" in problem


def test_a_child_connects_anew(asked, tmp_path):
    def connect(results):
        own = wavetune.connect(f"unix:{tmp_path}/nobody.sock", cache_dir=tmp_path / "cache", timeout_s=1)
        results.put(own.tuner(tables.KERNEL).digest)

    assert in_a_child(connect) == tables.digest("gemm")


PROGRAM = """
import os, signal, sys
import wavetune
client = wavetune.connect(sys.argv[1], cache_dir=sys.argv[2], timeout_s=1)
tuner = client.tuner(sys.argv[3])
child = os.fork()
if child == 0:
    signal.alarm(30)
    tuner.resolve(m=11, n=24, k=8)
    sys.exit(0)  # The interpreter takes client and tuner down.
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_plain_exit_in_a_child_ends(tmp_path):
    tables.add_to_cache(tmp_path / "cache", "gemm")
    arguments = [f"unix:{tmp_path}/nobody.sock", str(tmp_path / "cache"), tables.KERNEL]
    subprocess.run([sys.executable, "-c", PROGRAM, *arguments], check=True, timeout=PATIENCE_S)
