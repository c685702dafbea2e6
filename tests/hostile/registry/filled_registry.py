"""Somebody without a key fills a fleet's etcd: with huge entries, with small ones that are large in memory, with many."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from fleet import ENVIRONMENT, SILICON, Fleet, in_parallel  # pylint: disable=wrong-import-position
from node import check, main, proto, wait_until  # pylint: disable=wrong-import-position

KERNEL = "repeats"


def huge_heads(fleet):
    value = os.urandom(1400 << 10)
    return [lambda i=i: fleet.etcd.put(f"heads/{fleet.place}/x{i}", value) for i in range(120)]


def empty_failures(fleet):
    """3 bytes each, a hundred in memory."""
    messages = proto("fleet_pb2")

    def put(i):
        profile = messages.FleetProfile(format=1, id=f"{i:016x}", kernel=f"k{i}", fingerprint="0" * 64,
                                        silicon_key=SILICON, environment_key=ENVIRONMENT, node="evil")
        fleet.etcd.put(f"profiles/{fleet.place}/k{i}", profile.SerializeToString() + b"\x82\x01\x00" * 21000)
    return [lambda i=i: put(i) for i in range(250)]


def empty_tables(fleet):
    """2 bytes each, two hundred in memory."""
    messages = proto("fleet_pb2")

    def put(i, tables):
        node = messages.FleetNode(format=1, node=f"evil{i}")
        fleet.etcd.put(f"nodes/evil{i}", node.SerializeToString() + b"\x32\x00" * tables)
    return [lambda i=i: put(i, 700000 if i < 4 else 9000) for i in range(200)]


def many_heads(fleet):
    value = os.urandom(15 << 10)
    return [lambda i=i: fleet.etcd.put(f"heads/{fleet.place}/y{i}", value) for i in range(400)]


def scenario():
    with Fleet(2) as fleet:
        digest = fleet.serve(KERNEL)
        for fill, prefix in ((huge_heads, f"heads/{fleet.place}/x"), (empty_failures, f"profiles/{fleet.place}/k"),
                             (empty_tables, "nodes/evil"), (many_heads, f"heads/{fleet.place}/y")):
            when = f"beside {fill.__name__}"
            in_parallel(fill(fleet))
            for node in fleet.nodes:
                node.cli("fleet", "nodes", timeout=60)
                check(node.cli("fleet", "status").returncode == 0, f"fleet status answers {when}")
            fleet.check_all_serve(KERNEL, digest, when)
            fleet.restart(1)
            fleet.check_all_serve(KERNEL, digest, f"{when}, after a restart")
            fleet.etcd.delete(prefix)
            wait_until(lambda: all(fleet.registry_answers(i) for i in (0, 1)), 60, f"the registry answers after {when}")
        wait_until(lambda: fleet.nodes[0].json("fleet", "nodes").get("nodes") == 2, 90, "both nodes are seen")
        fleet.check_all_serve(KERNEL, digest, "at the end")


main(scenario)
