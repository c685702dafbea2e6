"""One user holds as many watches as it gets: others watch all the same, and what it took is given back."""

import os
import pathlib
import subprocess
import sys

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, memory_mib, proto, wait_until  # pylint: disable=wrong-import-position

CONNECTIONS = 60
WATCHES_OF_EACH = 120  # A connection has 128 calls at once.
MOST_OF_USER = 2048  # docs/limits.md
MOST_MIB = 192  # The unit's limit is 512.
OTHER, THIRD = 65534, 65533

# Holds what it gets until its input ends.
ATTACK = """
import collections, grpc, sys, threading, time
connections, watches = int(sys.argv[2]), int(sys.argv[3])
channels, calls, ended = [], [], []
for _ in range(connections):
    channel = grpc.insecure_channel(sys.argv[1], [("grpc.use_local_subchannel_pool", 1)])
    channels.append(channel)
    watch = channel.unary_stream("/wavetune.v1.TableService/WatchTables", request_serializer=None,
                                 response_deserializer=None)
    for _ in range(watches):
        calls.append(watch(b""))
        # False: it has ended already.
        if not calls[-1].add_callback(lambda call=calls[-1]: ended.append(call)):
            ended.append(calls[-1])
before = -1
while len(ended) != before or before < 0:
    before = len(ended)
    time.sleep(2)
print(len(calls) - len(ended), flush=True)
print(sorted({call.code().name + ": " + call.details() for call in list(ended)}), flush=True)
sys.stdin.read()
for channel in channels:
    channel.close()
"""

# Watches and asks as anybody does.
READER = """
import grpc, sys
with grpc.insecure_channel(sys.argv[1]) as channel:
    watch = channel.unary_stream("/wavetune.v1.TableService/WatchTables", request_serializer=None,
                                 response_deserializer=None)(b"", timeout=20)
    next(watch)
    channel.unary_unary("/wavetune.v1.StatusService/GetStatus", request_serializer=None,
                        response_deserializer=None)(b"", timeout=20)
    watch.cancel()
"""


def as_user(user, program, *arguments):
    """The options of a Python program that runs as another user."""
    return {"args": [sys.executable, "-c", program, *map(str, arguments)], "user": user, "group": user,
            "extra_groups": [], "cwd": "/", "text": True}


def scenario():
    if os.geteuid() != 0:
        print("skipped: only root can be another user", flush=True)
        return
    with Node() as node:
        node.start_daemon()
        before = memory_mib(node.daemon.pid)
        with subprocess.Popen(**as_user(OTHER, ATTACK, node.socket(), CONNECTIONS, WATCHES_OF_EACH),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as attack:
            held = int(attack.stdout.readline())
            told = attack.stdout.readline().strip()
            during = memory_mib(node.daemon.pid)
            print(f"note: {before:.0f} MiB before, {during:.0f} beside {held} watches", flush=True)
            check(held == MOST_OF_USER, f"of {CONNECTIONS * WATCHES_OF_EACH} watches one user holds {held}")
            check("RESOURCE_EXHAUSTED: this user has too many streams" in told, f"the others are told why: {told}")
            check(during < MOST_MIB, f"they take less than {MOST_MIB} MiB")
            check(node.json("status").get("watchers") == held, "status answers")
            with grpc.insecure_channel(node.socket()) as channel:
                watch = proto("table_service_pb2_grpc").TableServiceStub(channel).WatchTables(
                    proto("table_service_pb2").WatchTablesRequest(), timeout=20)
                next(watch)
                watch.cancel()
            print("ok: root watches all the same", flush=True)
            reader = subprocess.run(**as_user(THIRD, READER, node.socket()), capture_output=True, check=False)
            check(reader.returncode == 0, f"a third user watches all the same {reader.stderr.strip()[-300:]}")
            attack.stdin.close()
            attack.wait(60)
        wait_until(lambda: node.json("status").get("watchers") == 0, 30, "no watcher is left")
        wait_until(lambda: memory_mib(node.daemon.pid) < before + 16, 75, "memory is given back")
        print(f"ok: {memory_mib(node.daemon.pid):.0f} MiB once they have ended", flush=True)


main(scenario)
